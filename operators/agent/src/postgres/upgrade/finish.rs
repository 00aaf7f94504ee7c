//! `agent pg-finish`: what a server needs after an upgrade, while it serves already.

use std::time::Instant;

use agent_protocol::{PgFinish, PgFinishResult};

use crate::failure::{Failure, Reason};
use crate::postgres::backup::inventory;
use crate::postgres::client::databases;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote::{identifier, literal};
use crate::postgres::client::session::{MAINTAINING, Session};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::timed::seconds;

/// A database that is long in coming must not keep all others from being finished; the message must stay short.
const TOLD: usize = 10;

const OUTDATED: &str = "SELECT pg_catalog.json_build_array(e.extname::text, e.extversion, a.default_version) \
FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname \
WHERE a.default_version IS DISTINCT FROM e.extversion ORDER BY e.extname";

/// Indexes were sorted by the rules of another version of the library. Only those of a collation that has versions can be.
const COLLATED: &str = "SELECT pg_catalog.json_build_array(d.datcollversion, pg_catalog.pg_database_collation_actual_version(d.oid)) \
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database() \
AND d.datcollversion IS DISTINCT FROM pg_catalog.pg_database_collation_actual_version(d.oid)";

/// Event triggers that would run what an ordinary role wrote, with the superuser's rights. Their names; servers of 17 and later run none
/// of them in the sessions of this step.
const OTHERS_TRIGGERS: &str = "SELECT pg_catalog.to_json(e.evtname::text) FROM pg_catalog.pg_event_trigger e \
JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid JOIN pg_catalog.pg_roles r ON r.oid = p.proowner \
WHERE NOT r.rolsuper AND e.evtenabled <> 'D' ORDER BY e.evtname LIMIT 1";

pub(crate) fn finish(options: &PgFinish) -> Result<PgFinishResult, Failure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
    let (version, number, _) = inventory::server(&mut session)?;
    let names = databases::all_open(&mut session)?;
    drop(session);
    let mut work = Work { tools: &tools, connection: &connection, number, extensions: 0, warnings: Vec::new() };
    let mut analyzed = 0;
    for name in &names {
        work.extensions(name)?;
        if number >= 150_000 {
            work.collation(name)?;
        }
        if options.major {
            // Known since 17; an older server would refuse the setting.
            let more = if number >= 170_000 { " -c transaction_timeout=0" } else { "" };
            let mut command = connection.client_of(&tools, "vacuumdb", name, &format!("{MAINTAINING}{more}"));
            command.args(["--analyze-only", "--quiet"]).arg(format!("--jobs={}", options.jobs));
            tools.run(&mut command, Reason::ToolFailed)?;
            analyzed += 1;
        }
    }
    let more = work.warnings.len().saturating_sub(TOLD);
    work.warnings.truncate(TOLD);
    if more > 0 {
        work.warnings.push(format!("and {more} more"));
    }
    Ok(PgFinishResult {
        extensions: work.extensions,
        analyzed,
        warnings: work.warnings,
        version,
        seconds: seconds(since),
    })
}

struct Work<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    /// The server's version, as a number: 150018.
    number: u32,
    extensions: i64,
    warnings: Vec<String>,
}

impl Work<'_> {
    /// An extension that cannot be brought to its version goes on working as it did: that is a warning, and no more.
    fn extensions(&mut self, name: &str) -> Result<(), Failure> {
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

    /// What is to be built again is for a person to judge: it locks tables, and may find duplicates.
    fn collation(&mut self, name: &str) -> Result<(), Failure> {
        let found: Vec<(Option<String>, Option<String>)> = self.session(name)?.query_json(COLLATED)?;
        for (then, now) in found {
            let word = |version: Option<String>| version.unwrap_or_else(|| "none".into());
            self.warn(&format!(
                "database {name}: its collation is of version {} and the library's is {}; run REINDEX DATABASE {2}, \
                 then ALTER DATABASE {2} REFRESH COLLATION VERSION",
                word(then),
                word(now),
                identifier(name)
            ));
        }
        Ok(())
    }

    fn session(&self, name: &str) -> Result<Session<'_>, Failure> {
        Session::open(self.tools, self.connection, name)
    }

    fn warn(&mut self, message: &str) {
        const LONGEST: usize = 200;
        eprintln!("{message}");
        self.warnings.push(crate::failure::cut(message, LONGEST).to_owned());
    }
}
