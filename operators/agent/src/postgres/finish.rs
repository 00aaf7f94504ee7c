//! `agent pg-finish`: what a server needs after an upgrade, while it serves already.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::databases;
use super::inventory;
use super::quote::{identifier, literal};
use super::refill::MAINTAINING;
use super::session::Session;
use super::standing::MAINTENANCE;
use super::timed::timed;
use super::tools::{Connection, Tools};
use crate::failure::{Failure, Reason};

/// A database that is long in coming must not keep all others from being finished; the message must stay short.
const TOLD: usize = 10;

#[derive(Debug)]
pub(crate) struct Finish {
    /// Statistics are made too, which a copy has hardly any of.
    pub(crate) major: bool,
    pub(crate) jobs: u16,
    pub(crate) connect_timeout: Duration,
}

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

pub(crate) fn finish(options: &Finish) -> Result<Value, Failure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, options.connect_timeout)?;
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
    let warnings = &work.warnings;
    let result =
        json!({ "extensions": work.extensions, "analyzed": analyzed, "warnings": warnings, "version": version });
    Ok(timed(result, since))
}

struct Work<'a> {
    tools: &'a Tools,
    connection: &'a Connection,
    /// The server's version, as a number: 150018.
    number: u32,
    extensions: usize,
    warnings: Vec<String>,
}

impl Work<'_> {
    /// An extension that cannot be brought to its version goes on working as it did: that is told, and no more.
    fn extensions(&mut self, name: &str) -> Result<(), Failure> {
        let mut session = self.session(name)?;
        let found: Vec<(String, String, String)> = session.ask_json(OUTDATED)?;
        let fires: Vec<String> = if self.number < 170_000 { session.ask_json(OTHERS_TRIGGERS)? } else { Vec::new() };
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
                session.ask("SET default_transaction_read_only = off")?;
                session.ask(&format!("ALTER EXTENSION {} UPDATE TO {}", identifier(&extension), literal(&to)))
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
        let found: Vec<(Option<String>, Option<String>)> = self.session(name)?.ask_json(COLLATED)?;
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

    fn warn(&mut self, words: &str) {
        const LONGEST: usize = 200;
        eprintln!("{words}");
        self.warnings.push(crate::failure::cut(words, LONGEST).to_owned());
    }
}
