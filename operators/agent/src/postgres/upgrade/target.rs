//! The target server of a major upgrade: empty, or with a copy and its marker.

use std::time::Duration;

use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::inventory;
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE};
use crate::postgres::client::quote::{self, literal};
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::copy_marker::{CopyMarker, MARKER};
use crate::postgres::restore::load_snapshot;

/// What users created in a server, one message each.
const CREATED_BY_USERS: &str = "SELECT pg_catalog.to_json('the database ' || pg_catalog.quote_ident(datname)) \
FROM pg_catalog.pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1') UNION ALL \
SELECT pg_catalog.to_json('the role ' || pg_catalog.quote_ident(rolname)) FROM pg_catalog.pg_roles \
WHERE rolname !~ '^pg_' AND rolname <> current_user";

pub(crate) struct TargetServer<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    session: Session<'a>,
    pub(crate) version: String,
    pub(crate) identifier: String,
}

impl<'a> TargetServer<'a> {
    pub(crate) fn open(
        tools: &'a Tools,
        connection: &'a Connection,
        timeout: Duration,
    ) -> Result<Self, CommandFailure> {
        // In template1: of the databases that each server has, the copy replaces `postgres`.
        let mut session = Session::open_within(tools, connection, TEMPLATE, timeout).map_err(|failure| {
            CommandFailure::new(failure.reason(), format!("the target server: {}", failure.message()))
        })?;
        let (version, _, identifier) = inventory::server(&mut session)?;
        Ok(Self { tools, connection, session, version, identifier })
    }

    /// The marker of the finished copy in it.
    pub(crate) fn copy(&mut self) -> Result<Option<CopyMarker>, CommandFailure> {
        let marker = format!("coalesce(pg_catalog.pg_read_file({}, 0, 100000, true), '')", literal(MARKER));
        let marker = self.session.query_json::<String>(&format!("SELECT pg_catalog.to_json({marker})"))?.pop();
        let marker = marker.filter(|marker| !marker.is_empty());
        let unreadable = |error| {
            let message = format!("the marker of a copy in the target server cannot be read ({error})");
            CommandFailure::new(Reason::ForeignData, message)
        };
        marker.map(|marker| serde_json::from_str(&marker).map_err(unreadable)).transpose()
    }

    /// What users created in it, or what an unfinished copy left.
    pub(crate) fn used_by(&mut self) -> Result<Option<String>, CommandFailure> {
        if let Some(created) = self.session.query_json(CREATED_BY_USERS)?.into_iter().next() {
            return Ok(Some(created));
        }
        let empty = !self.has_maintenance()? || load_snapshot::is_empty(self.tools, self.connection, MAINTENANCE)?;
        Ok((!empty).then(|| format!("something in the database {}", quote::identifier(MAINTENANCE))))
    }

    fn has_maintenance(&mut self) -> Result<bool, CommandFailure> {
        let sql = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", literal(MAINTENANCE));
        Ok(!self.session.query(&sql)?.is_empty())
    }

    /// Drops the database `postgres`, which the copy replaces. DROP DATABASE first flushes all that the server has written to
    /// disk, which is fast before the copy, while clients still work.
    pub(crate) fn drop_maintenance_database(&mut self) -> Result<(), CommandFailure> {
        self.session.query(&format!("DROP DATABASE IF EXISTS {}", quote::identifier(MAINTENANCE))).map(|_| ())
    }

    /// How large its WAL may become before a checkpoint removes it. Without space for WAL, the server crashes, and its clients do
    /// not get the reason.
    pub(crate) fn log_bytes(&mut self) -> Result<u64, CommandFailure> {
        let sql = "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('max_wal_size'))";
        Ok(self.session.query_json(sql)?.pop().unwrap_or(0))
    }

    /// Makes the copy durable, and writes its marker.
    pub(crate) fn finish(&mut self, copy: &CopyMarker) -> Result<(), CommandFailure> {
        // WAL is written in order, so the flush of the last record flushes all.
        self.session.query("SET synchronous_commit = on")?;
        self.session.query("SELECT pg_catalog.pg_logical_emit_message(true, 'multi-operator', 'copied')")?;
        self.write_marker(copy)
    }

    /// Writes the marker of a durable copy.
    pub(crate) fn write_marker(&mut self, copy: &CopyMarker) -> Result<(), CommandFailure> {
        let marker =
            serde_json::to_string(copy).map_err(|error| CommandFailure::new(Reason::ToolFailed, error.to_string()))?;
        let path = "SELECT pg_catalog.to_json(pg_catalog.current_setting('data_directory') || '/' || $1)";
        let path: Option<String> = self.session.query_json(&path.replace("$1", &literal(MARKER)))?.pop();
        self.session.write_file(&path.unwrap_or_default(), &marker)
    }
}
