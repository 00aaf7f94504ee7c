//! The source server of a major upgrade: what cannot be copied from it, and how the agent blocks its clients.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::contents;
use crate::postgres::backup::gaps;
use crate::postgres::backup::inventory;
use crate::postgres::backup::locks;
use crate::postgres::client::databases;
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE};
use crate::postgres::client::quote;
use crate::postgres::client::quote::literal;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::client::version_number;
use crate::postgres::data_dir::closed;
use crate::postgres::data_dir::hba;
use crate::postgres::data_dir::read_only;

/// How long sessions may take to end, and the server to reload its rules. A client has 60 s for its password.
const SESSIONS_TIMEOUT: Duration = Duration::from_secs(75);

/// What a copy would lose: queries, each with its message.
const UNSUPPORTED: [(&str, &str); 3] = [
    (
        "SELECT pg_catalog.to_json(spcname::text) FROM pg_catalog.pg_tablespace WHERE spcname !~ '^pg_'",
        "there is a tablespace, which the operator's volumes do not support; move its contents, and drop it",
    ),
    (
        "SELECT pg_catalog.to_json(datname::text) FROM pg_catalog.pg_database WHERE NOT datallowconn AND datname <> 'template0'",
        "there is a database that accepts no connections, so it cannot be copied; allow connections to it, or drop it",
    ),
    (
        "SELECT pg_catalog.to_json(subname::text) FROM pg_catalog.pg_subscription WHERE subenabled",
        "there is a subscription, which writes even while clients are blocked; disable it",
    ),
];

/// Terminates sessions of clients, and of readers of the WAL: all that began before the rules applied, and later ones except
/// those of superusers, whom the rules admit. `$1` is the time from which on the rules applied.
const OTHER_SESSIONS: &str = "SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid)) FROM pg_catalog.pg_stat_activity a \
LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid WHERE a.backend_type IN ('client backend', 'walsender') \
AND a.pid <> pg_catalog.pg_backend_pid() AND (r.rolsuper IS NOT TRUE OR a.backend_start < $1)";

pub(crate) struct SourceServer<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    session: Session<'a>,
    pub(crate) version: String,
    pub(crate) identifier: String,
    /// Whether clients are, or may be, blocked.
    pub(crate) closed: bool,
}

impl<'a> SourceServer<'a> {
    pub(crate) fn open(
        tools: &'a Tools,
        connection: &'a Connection,
        timeout: Duration,
    ) -> Result<Self, CommandFailure> {
        let mut session = Session::open_within(tools, connection, MAINTENANCE, timeout)?;
        let (version, _, identifier) = inventory::server(&mut session)?;
        let mut source = Self { tools, connection, session, version, identifier, closed: false };
        source.closed = source.rejects_others()?;
        Ok(source)
    }

    pub(crate) fn major(&self) -> Option<u32> {
        version_number::major(&self.version)
    }

    /// All databases to copy, with the extensions in each. Users' templates are copied too.
    pub(crate) fn databases(&mut self) -> Result<Vec<(String, Vec<String>)>, CommandFailure> {
        let mut names = databases::all_open(&mut self.session)?;
        if contents::content(&mut Session::open(self.tools, self.connection, TEMPLATE)?, false)?.pristine {
            names.retain(|name| name != TEMPLATE);
        }
        let extensions = "SELECT pg_catalog.to_json(extname::text) FROM pg_catalog.pg_extension";
        let with = |name: String| {
            let found = Session::open(self.tools, self.connection, &name)?.query_json(extensions)?;
            Ok((name, found))
        };
        names.into_iter().map(with).collect()
    }

    pub(crate) fn bytes(&mut self) -> Result<u64, CommandFailure> {
        let sql =
            "SELECT pg_catalog.sum(pg_catalog.pg_database_size(oid)) FROM pg_catalog.pg_database WHERE datallowconn";
        Ok(self.session.query_json(sql)?.pop().unwrap_or(0))
    }

    /// Fails if a copy would lose something. Called before any client is blocked.
    pub(crate) fn refuse_what_would_be_lost(&mut self) -> Result<(), CommandFailure> {
        self.refuse_prepared()?;
        self.refuse_too_many_tables()?;
        for name in databases::all_open(&mut self.session)? {
            let mut session = Session::open(self.tools, self.connection, &name)?;
            if let Some(message) = gaps::not_loaded(&mut session, &name)?.pop() {
                return Err(CommandFailure::new(Reason::Unsupported, message));
            }
        }
        for (sql, message) in UNSUPPORTED {
            if let Some(name) = self.session.query_json::<String>(sql)?.first() {
                return Err(CommandFailure::new(
                    Reason::Unsupported,
                    format!("{}: {message}", quote::identifier(name)),
                ));
            }
        }
        Ok(())
    }

    /// What the new server will lack without loss of data: messages.
    pub(crate) fn not_covered(&mut self) -> Result<Vec<String>, CommandFailure> {
        let mut found = gaps::not_dumped(&mut self.session)?;
        for name in databases::all_open(&mut self.session)? {
            let mut session = Session::open(self.tools, self.connection, &name)?;
            found.extend(gaps::left_out(&mut session, &name)?);
            found.extend(gaps::remarks(&mut session, &name)?);
        }
        Ok(found)
    }

    /// The number of the next transaction that writes, after all earlier ones have ended: those that are open have lower numbers,
    /// and their writes are not visible yet.
    pub(crate) fn settled_transaction(&mut self) -> Result<u64, CommandFailure> {
        let writing = "SELECT pg_catalog.json_build_array(coalesce(usename::text, backend_type), pid) \
                       FROM pg_catalog.pg_stat_activity WHERE backend_xid IS NOT NULL \
                       AND backend_type <> 'autovacuum worker' AND pid <> pg_catalog.pg_backend_pid()";
        if let Some((role, process)) = self.session.query_json::<(String, u32)>(writing)?.first() {
            let message = format!(
                "a superuser writes to the source server while it is copied: {} has a transaction open in process {process}; \
                 end it",
                quote::identifier(role)
            );
            return Err(CommandFailure::new(Reason::CountMismatch, message));
        }
        self.refuse_prepared()?;
        self.next_transaction()
    }

    /// The number of the next transaction that writes.
    pub(crate) fn next_transaction(&mut self) -> Result<u64, CommandFailure> {
        let sql = "SELECT pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())";
        let number: Option<u64> = self.session.query_json(sql)?.pop();
        number.ok_or_else(|| CommandFailure::new(Reason::ToolFailed, "the source server reports no transaction number"))
    }

    /// Fails if a database has too many tables: pg_dump holds a lock on each of them until it exits.
    fn refuse_too_many_tables(&mut self) -> Result<(), CommandFailure> {
        for name in databases::all_open(&mut self.session)? {
            let mut session = Session::open(self.tools, self.connection, &name)?;
            if let Some(message) = locks::too_many_tables(&mut session, &name)? {
                return Err(CommandFailure::new(Reason::Unsupported, message));
            }
        }
        Ok(())
    }

    fn refuse_prepared(&mut self) -> Result<(), CommandFailure> {
        let sql = "SELECT pg_catalog.json_build_array(gid, database::text) FROM pg_catalog.pg_prepared_xacts";
        let found: Vec<(String, String)> = self.session.query_json(sql)?;
        let Some((gid, database)) = found.first() else { return Ok(()) };
        let message = format!(
            "{} transactions are prepared (one is {gid:?} in database {}): commit them or roll them back",
            found.len(),
            quote::identifier(database)
        );
        Err(CommandFailure::new(Reason::PreparedTransactions, message))
    }

    /// Since when clients are blocked for a copy, by the file of rules, which the server may not have applied.
    pub(crate) fn closed_since(&mut self) -> Result<Option<u64>, CommandFailure> {
        let sql = "SELECT pg_catalog.to_json(pg_catalog.pg_read_file(pg_catalog.current_setting('hba_file')))";
        let text: Option<String> = self.session.query_json(sql)?.pop();
        Ok(text.and_then(|text| hba::closed_since(&text, &self.connection.user)))
    }

    /// Blocks all but the superuser, whose sessions are read-only from then on, ends every other session, and returns the time of
    /// that. In this order: the operator reverts both when it admits clients again, so an open server is never read-only.
    ///
    /// COPY overwrites the file in place. If it is written only in part, pg-prepare takes it for closed or unknown by its first
    /// line, and unknown counts as closed. A running server keeps its earlier rules if a file has an error, and one that starts
    /// without pg-prepare gets a complete file from pg-run.
    pub(crate) fn close(&mut self) -> Result<u64, CommandFailure> {
        let since = match self.closed_since()? {
            Some(since) => since,
            None => self.write_rules()?,
        };
        // From here on, the rules may apply at any time.
        self.closed = true;
        self.session.query("SELECT pg_catalog.pg_reload_conf()")?;
        read_only::enable(self.tools, self.connection)?;
        self.end_others()?;
        self.refuse_prepared()?;
        Ok(since)
    }

    fn write_rules(&mut self) -> Result<u64, CommandFailure> {
        let since = now();
        let text = hba::closed_for_copy(&self.connection.user, since);
        let path =
            self.session.query_json::<String>("SELECT pg_catalog.to_json(pg_catalog.current_setting('hba_file'))")?;
        let path = path.first().map(String::as_str).unwrap_or_default();
        // Set it before the command: if that fails, or its answer is lost, the state of the file is unknown.
        self.closed = true;
        self.session.write_file(path, text.trim_end())?;
        let wrong = "SELECT pg_catalog.to_json(error) FROM pg_catalog.pg_hba_file_rules WHERE error IS NOT NULL";
        if let Some(error) = self.session.query_json::<String>(wrong)?.first() {
            return Err(CommandFailure::new(Reason::ToolFailed, format!("pg_hba.conf is invalid: {error}")));
        }
        match self.closed_since()? {
            Some(found) if found == since => Ok(since),
            _ => Err(CommandFailure::new(Reason::ToolFailed, format!("{path} differs from what the agent wrote"))),
        }
    }

    fn end_others(&mut self) -> Result<(), CommandFailure> {
        let end = Instant::now() + SESSIONS_TIMEOUT;
        let (mut held_from, mut coming) = (None, BTreeSet::new());
        loop {
            if held_from.is_none() && self.rejects_others()? {
                held_from = self.session.query_one("SELECT pg_catalog.clock_timestamp()")?;
                coming = self.starting_backends();
            }
            let before = held_from.as_deref().unwrap_or("infinity");
            let sql = OTHER_SESSIONS.replace("$1", &format!("{}::timestamptz", literal(before)));
            let others: u64 = self.session.query_json(&sql)?.pop().unwrap_or(0);
            // Only backends that started before the rules applied count. Sessions that began meanwhile end in the next round.
            let awaited = !coming.is_empty();
            if awaited {
                let now = self.starting_backends();
                coming.retain(|process| now.contains(process));
            }
            if held_from.is_some() && others == 0 && !awaited {
                return Ok(());
            }
            if Instant::now() > end {
                let message = match held_from {
                    Some(_) => {
                        format!("{others} other sessions did not end within {} s", SESSIONS_TIMEOUT.as_secs())
                    }
                    None => "the server still admits clients, although pg_hba.conf blocks them".into(),
                };
                return Err(CommandFailure::new(Reason::SessionsLeft, message));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn rejects_others(&self) -> Result<bool, CommandFailure> {
        closed::rejects_others(self.tools, self.connection)
    }

    fn starting_backends(&self) -> BTreeSet<u32> {
        closed::starting_backends(self.tools, self.connection)
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
