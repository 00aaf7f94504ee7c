//! The server that a major upgrade leads to: empty until a copy is in it, and then with a note of that copy.

use std::time::Duration;

use super::inventory;
use super::quote::{self, literal};
use super::refill;
use super::session::Session;
use super::standing::{MAINTENANCE, TEMPLATE};
use super::tools::{Connection, Tools};
use super::upgraded::{NOTE, Upgraded};
use crate::failure::{Failure, Reason};

/// What somebody made in a server, one line each, in words.
const MADE: &str = "SELECT pg_catalog.to_json('the database ' || pg_catalog.quote_ident(datname)) \
FROM pg_catalog.pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1') UNION ALL \
SELECT pg_catalog.to_json('the role ' || pg_catalog.quote_ident(rolname)) FROM pg_catalog.pg_roles \
WHERE rolname !~ '^pg_' AND rolname <> current_user";

pub(crate) struct Incoming<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    session: Session<'a>,
    pub(crate) version: String,
    pub(crate) identifier: String,
}

impl<'a> Incoming<'a> {
    pub(crate) fn open(tools: &'a Tools, connection: &'a Connection, patience: Duration) -> Result<Self, Failure> {
        // Of the databases that are there from the beginning, the copy replaces the one that clients are led to.
        let mut session = Session::open_within(tools, connection, TEMPLATE, patience)
            .map_err(|failure| Failure::new(failure.reason(), format!("the new server: {}", failure.message())))?;
        let (version, _, identifier) = inventory::server(&mut session)?;
        Ok(Self { tools, connection, session, version, identifier })
    }

    /// The finished copy that is in it.
    pub(crate) fn copy(&mut self) -> Result<Option<Upgraded>, Failure> {
        let note = format!("coalesce(pg_catalog.pg_read_file({}, 0, 100000, true), '')", literal(NOTE));
        let note = self.session.ask_json::<String>(&format!("SELECT pg_catalog.to_json({note})"))?.pop();
        let note = note.filter(|note| !note.is_empty());
        let unreadable = |error| {
            let sentence = format!("the note of a copy in the new server cannot be read ({error})");
            Failure::new(Reason::ForeignData, sentence)
        };
        note.map(|note| serde_json::from_str(&note).map_err(unreadable)).transpose()
    }

    /// What somebody made in it, or what a copy has left that came to no end.
    pub(crate) fn used_by(&mut self) -> Result<Option<String>, Failure> {
        if let Some(made) = self.session.ask_json(MADE)?.into_iter().next() {
            return Ok(Some(made));
        }
        let empty = !self.has_maintenance()? || refill::is_empty(self.tools, self.connection, MAINTENANCE)?;
        Ok((!empty).then(|| format!("something in the database {}", quote::identifier(MAINTENANCE))))
    }

    fn has_maintenance(&mut self) -> Result<bool, Failure> {
        let sql = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {}", literal(MAINTENANCE));
        Ok(!self.session.ask(&sql)?.is_empty())
    }

    /// To drop a database, a server brings all that it has written to the disk first: before much is written, and while
    /// nobody waits, that takes moments. The copy has another one of the name.
    pub(crate) fn make_way(&mut self) -> Result<(), Failure> {
        self.session.ask(&format!("DROP DATABASE IF EXISTS {}", quote::identifier(MAINTENANCE))).map(|_| ())
    }

    /// How large its log may become before a checkpoint lets go of it. A log that finds no room takes the server with it,
    /// and its clients are not told why.
    pub(crate) fn log_bytes(&mut self) -> Result<u64, Failure> {
        let sql = "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('max_wal_size'))";
        Ok(self.session.ask_json(sql)?.pop().unwrap_or(0))
    }

    /// Makes the copy last, and notes what it is.
    pub(crate) fn finish(&mut self, copy: &Upgraded) -> Result<(), Failure> {
        // Everything was written to the log in this order, so that what is flushed for the last of it is flushed for all.
        self.session.ask("SET synchronous_commit = on")?;
        self.session.ask("SELECT pg_catalog.pg_logical_emit_message(true, 'multi-operator', 'copied')")?;
        self.note(copy)
    }

    /// Notes what a copy is that lasts.
    pub(crate) fn note(&mut self, copy: &Upgraded) -> Result<(), Failure> {
        let note = serde_json::to_string(copy).map_err(|error| Failure::new(Reason::ToolFailed, error.to_string()))?;
        let path = "SELECT pg_catalog.to_json(pg_catalog.current_setting('data_directory') || '/' || $1)";
        let path: Option<String> = self.session.ask_json(&path.replace("$1", &literal(NOTE)))?.pop();
        self.session.write_file(&path.unwrap_or_default(), &note)
    }
}
