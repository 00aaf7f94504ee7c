//! `agent pg-finish`: completes an upgrade while the server serves.

use std::time::Instant;

use agent_protocol::{PgFinish, PgFinishResult};

use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::inventory;
use crate::postgres::client::databases;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::{MAINTAINING, Session};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::timed::seconds;

/// The maximum number of warnings, since the message must stay short.
const MAX_WARNINGS: usize = 10;

const OUTDATED: &str = "SELECT pg_catalog.json_build_array(e.extname::text, e.extversion, a.default_version) \
FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname \
WHERE a.default_version IS DISTINCT FROM e.extversion ORDER BY e.extname";

/// The collation of the database, if its indexes were sorted by another version of the library.
const COLLATED: &str = "SELECT pg_catalog.json_build_array(d.datcollversion, pg_catalog.pg_database_collation_actual_version(d.oid)) \
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database() \
AND d.datcollversion IS DISTINCT FROM pg_catalog.pg_database_collation_actual_version(d.oid)";

/// The names of event triggers that would run code of an ordinary role as the superuser. Servers of 17 and later run none of them
/// in the sessions of this command.
const OTHERS_TRIGGERS: &str = "SELECT pg_catalog.to_json(e.evtname::text) FROM pg_catalog.pg_event_trigger e \
JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid JOIN pg_catalog.pg_roles r ON r.oid = p.proowner \
WHERE NOT r.rolsuper AND e.evtenabled <> 'D' ORDER BY e.evtname LIMIT 1";

pub(crate) fn finish(options: &PgFinish) -> Result<PgFinishResult, CommandFailure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
    let (version, number, _) = inventory::server(&mut session)?;
    let names = databases::all_open(&mut session)?;
    drop(session);
    let mut run = FinishRun { tools: &tools, connection: &connection, number, extensions: 0, warnings: Vec::new() };
    let mut analyzed = 0;
    for name in &names {
        run.extensions(name)?;
        if number >= 150_000 {
            run.collation(name)?;
        }
        if options.major {
            // The setting exists since 17; an older server would reject it.
            let more = if number >= 170_000 { " -c transaction_timeout=0" } else { "" };
            let mut command = connection.client_of(&tools, "vacuumdb", name, &format!("{MAINTAINING}{more}"));
            command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", options.jobs));
            tools.run(&mut command, Reason::ToolFailed)?;
            analyzed += 1;
        }
    }
    let more = run.warnings.len().saturating_sub(MAX_WARNINGS);
    run.warnings.truncate(MAX_WARNINGS);
    if more > 0 {
        run.warnings.push(format!("and {more} more"));
    }
    Ok(PgFinishResult {
        extensions: run.extensions,
        analyzed,
        warnings: run.warnings,
        version,
        seconds: seconds(since),
    })
}

struct FinishRun<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    /// The server's version, as a number: 150018.
    number: u32,
    extensions: i64,
    warnings: Vec<String>,
}

impl FinishRun<'_> {
    /// Updates extensions. One that cannot be updated works as before, so that is only a warning.
    fn extensions(&mut self, name: &str) -> Result<(), CommandFailure> {
        let mut session = self.session(name)?;
        let found: Vec<(String, String, String)> = session.query_json(OUTDATED)?;
        let fires: Vec<String> = if self.number < 170_000 { session.query_json(OTHERS_TRIGGERS)? } else { Vec::new() };
        drop(session);
        for (extension, from, to) in found {
            if let Some(trigger) = fires.first() {
                self.warn(&format!(
                    "database {name}: extension {extension} stays at {from} instead of {to}: the event trigger {trigger} would run \
                     what an ordinary role wrote as the superuser"
                ));
                continue;
            }
            let updated = self.session(name).and_then(|mut session| {
                session.query("SET default_transaction_read_only = off")?;
                session.query(&format!("ALTER EXTENSION {} UPDATE TO {}", identifier(&extension), literal(&to)))
            });
            match updated {
                Ok(_) => self.extensions += 1,
                Err(failure) if failure.reason() == Reason::ConnectionFailed => return Err(failure),
                Err(failure) => self.warn(&format!(
                    "database {name}: extension {extension} stays at {from} instead of {to}: {}",
                    failure.message()
                )),
            }
        }
        Ok(())
    }

    /// Warns about a collation of another version. It does not reindex: that locks tables, and may find duplicates, so an
    /// administrator must decide.
    fn collation(&mut self, name: &str) -> Result<(), CommandFailure> {
        let found: Vec<(Option<String>, Option<String>)> = self.session(name)?.query_json(COLLATED)?;
        for (then, now) in found {
            let shown = |version: Option<String>| version.unwrap_or_else(|| "none".into());
            self.warn(&format!(
                "database {name}: its collation is of version {} and the library's is {}; run REINDEX DATABASE {2}, \
                 then ALTER DATABASE {2} REFRESH COLLATION VERSION",
                shown(then),
                shown(now),
                identifier(name)
            ));
        }
        Ok(())
    }

    fn session(&self, name: &str) -> Result<Session<'_>, CommandFailure> {
        Session::open(self.tools, self.connection, name)
    }

    fn warn(&mut self, message: &str) {
        const LONGEST: usize = 200;
        eprintln!("{message}");
        self.warnings.push(crate::failure::cut(message, LONGEST).to_owned());
    }
}
