//! `agent pg-upgrade`: all databases of a server into another one of a higher major version, which is empty and closed.
//!
//! What can fail is tried while writers still work: the new server stands, and a server like it has taken all definitions
//! once, before the first writer is shut out. From there to the end is downtime, and rows are read and written at once.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::files::Scratch;
use super::incoming::Incoming;
use super::manifest::Database;
use super::outgoing::{Outgoing, now};
use super::server::Server;
use super::session::Session;
use super::standing::{MAINTENANCE, TEMPLATE};
use super::timed::timed;
use super::tools::{self, Connection, Tools};
use super::transfer::{Copied, Transfer};
use super::upgraded::Upgraded;
use super::{configuration, contents, controldata, making, passwords, quote};
use crate::failure::{Failure, Reason, in_short};

#[derive(Debug)]
pub(crate) struct Upgrade {
    /// The new server's address, and its port if it is another one than the old server's.
    pub(crate) to: String,
    pub(crate) to_port: Option<String>,
    pub(crate) major: u32,
    /// How many bytes are free where the new server's data are.
    pub(crate) room: Option<u64>,
    pub(crate) run: PathBuf,
    /// The application's, which must be there.
    pub(crate) database: Option<String>,
    pub(crate) jobs: u16,
    /// The old server's.
    pub(crate) from_system_identifier: Option<String>,
    pub(crate) connect_timeout: Duration,
}

pub(crate) fn upgrade(options: &Upgrade) -> Result<Value, Failure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let version = tools.version()?;
    if controldata::major(&version) != Some(options.major) {
        let sentence = format!("the programs are of PostgreSQL {version}, not {}", options.major);
        return Err(Failure::new(Reason::WrongMajor, sentence));
    }
    let from = Connection::from_environment()?;
    let to = from.with_server(&options.to, options.to_port.as_deref()).of_this_version(&tools);
    let mut outgoing = Outgoing::open(&tools, &from, options.connect_timeout)?;
    let opened = Incoming::open(&tools, &to, options.connect_timeout);
    let mut incoming = opened.map_err(|failure| failure.with_closed(outgoing.closed))?;
    let work = Work { tools: &tools, options, from: &from, to: &to, version: &version };
    let outcome = work.done_before(&mut outgoing, &mut incoming).and_then(|done| match done {
        Some(copy) => Ok((copy, true)),
        None => work.make(&mut outgoing, &mut incoming).map(|copy| (copy, false)),
    });
    // Reported before, too, by pg-survey; slots are no reason to go back.
    let not_covered = outgoing.not_covered().unwrap_or_default();
    let (copy, reused) = outcome.map_err(|failure| failure.with_closed(outgoing.closed))?;
    let mut result = json!(copy);
    result["reused"] = reused.into();
    result["notCovered"] = in_short(&not_covered, 5, 200).into();
    Ok(timed(result, since))
}

struct Work<'a> {
    tools: &'a Tools,
    options: &'a Upgrade,
    from: &'a Connection,
    to: &'a Connection,
    version: &'a str,
}

impl Work<'_> {
    /// A copy of before, if nobody has written since. A server with anything else in it is refused.
    fn done_before(
        &self,
        outgoing: &mut Outgoing<'_>,
        incoming: &mut Incoming<'_>,
    ) -> Result<Option<Upgraded>, Failure> {
        let foreign = |sentence: String| Err(Failure::new(Reason::ForeignData, sentence));
        if let Some(expected) = &self.options.from_system_identifier
            && *expected != outgoing.identifier
        {
            let found = &outgoing.identifier;
            return foreign(format!(
                "the server's system identifier is {found}, and not {expected}: it is another one"
            ));
        }
        if outgoing.major() >= Some(self.options.major) {
            let sentence = format!("the server is of PostgreSQL {}, this is {}", outgoing.version, self.options.major);
            return Err(Failure::new(Reason::WrongMajor, sentence));
        }
        if controldata::major(&incoming.version) != Some(self.options.major) {
            let sentence = format!("the new server is of PostgreSQL {}, not {}", incoming.version, self.options.major);
            return Err(Failure::new(Reason::WrongMajor, sentence));
        }
        if let Some(copy) = incoming.copy()?
            && copy.from_system_identifier == outgoing.identifier
            && outgoing.closed
            && outgoing.shut_since()? == Some(copy.closed_at)
        {
            return self.still_good(copy, outgoing, incoming).map(Some);
        }
        match incoming.used_by()? {
            Some(what) => foreign(format!("the new server has {what}: it is not empty, and is not touched")),
            None => Ok(None),
        }
    }

    /// A copy of before, compared once more if the old server has written since, be it autovacuum or a superuser.
    fn still_good(
        &self,
        copy: Upgraded,
        outgoing: &mut Outgoing<'_>,
        incoming: &mut Incoming<'_>,
    ) -> Result<Upgraded, Failure> {
        let next = Some(outgoing.settled_transaction()?);
        if copy.next_transaction == next {
            return Ok(copy);
        }
        eprintln!("the old server has written since it was copied; comparing once more");
        let databases = outgoing.databases()?;
        if databases.len() != copy.databases {
            let (now, then) = (databases.len(), copy.databases);
            let sentence =
                format!("a superuser wrote to the old server: it has {now} databases, of which {then} were copied");
            return Err(Failure::new(Reason::CountMismatch, sentence));
        }
        self.compare(|transfer| databases.iter().try_for_each(|(name, _)| transfer.refuse_later_changes(name)))?;
        let copy = Upgraded { next_transaction: next, ..copy };
        incoming.note(&copy)?;
        Ok(copy)
    }

    fn make(&self, outgoing: &mut Outgoing<'_>, incoming: &mut Incoming<'_>) -> Result<Upgraded, Failure> {
        outgoing.refuse_what_would_be_lost()?;
        let databases = outgoing.databases()?;
        let mut names: Vec<&str> = databases.iter().map(|(name, _)| name.as_str()).collect();
        // Before PostgreSQL 15 a server brings all that it has written to the disk to make a database: so the large one last.
        names.sort_by_key(|name| *name != MAINTENANCE);
        if let Some(missing) = self.options.database.as_deref().filter(|name| !names.contains(name)) {
            let sentence = format!("there is no database {}", quote::identifier(missing));
            return Err(Failure::new(Reason::DatabaseMissing, sentence));
        }
        self.refuse_little_room(outgoing, incoming)?;
        self.refuse_missing_extensions(&databases)?;
        // Whoever tries it while writers are shut out only makes them wait longer.
        if !outgoing.closed {
            eprintln!("trying all definitions");
            self.rehearse(&names)?;
        }
        incoming.make_way()?;
        eprintln!("shutting writers out");
        let closed_at = outgoing.shut()?;
        let began = outgoing.next_transaction()?;
        let copied = self.copy(&names)?;
        let next_transaction = Some(self.refuse_superusers_writes(outgoing, began, &copied)?);
        let copied: Vec<Database> = copied.into_iter().map(|copied| copied.database).collect();
        let copy = Upgraded {
            system_identifier: incoming.identifier.clone(),
            from_system_identifier: outgoing.identifier.clone(),
            version: incoming.version.clone(),
            from: outgoing.version.clone(),
            databases: copied.len(),
            tables: copied.iter().map(|database| database.tables.len()).sum(),
            rows: copied.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum(),
            closed_at,
            copied_at: now(),
            next_transaction,
        };
        incoming.finish(&copy)?;
        Ok(copy)
    }

    /// All that is copied is written to the new server's log as well, until a checkpoint comes.
    fn refuse_little_room(&self, outgoing: &mut Outgoing<'_>, incoming: &mut Incoming<'_>) -> Result<(), Failure> {
        let bytes = outgoing.bytes()?;
        let log = incoming.log_bytes()?.min(bytes);
        match self.options.room {
            Some(free) if free < bytes.saturating_add(log) => {
                let sentence = format!(
                    "the new volume has {free} bytes free; the databases take {bytes}, and the log of their copy {log}"
                );
                Err(Failure::new(Reason::NoSpace, sentence))
            }
            Some(_) => Ok(()),
            None => {
                eprintln!("it is not known how much room there is; {bytes} bytes are needed, and {log} for the log");
                Ok(())
            }
        }
    }

    fn refuse_missing_extensions(&self, databases: &[(String, Vec<String>)]) -> Result<(), Failure> {
        let mut session = Session::open(self.tools, self.to, TEMPLATE)?;
        let sql = "SELECT pg_catalog.to_json(name::text) FROM pg_catalog.pg_available_extensions";
        let available: Vec<String> = session.ask_json(sql)?;
        for (database, extensions) in databases {
            if let Some(missing) = extensions.iter().find(|name| !available.contains(name)) {
                let (missing, database) = (quote::identifier(missing), quote::identifier(database));
                let sentence = format!(
                    "PostgreSQL {} here has no extension {missing}, which database {database} uses",
                    self.version
                );
                return Err(Failure::new(Reason::ExtensionMissing, sentence));
            }
        }
        Ok(())
    }

    /// All definitions into a server that nobody else reaches, and that is thrown away.
    fn rehearse(&self, names: &[&str]) -> Result<(), Failure> {
        let scratch = Scratch::new(self.options.run.join(format!("rehearsal-{}", std::process::id())))?;
        let data = scratch.path().join("data");
        making::initdb(self.tools, &data, &passwords::superusers_password()?, &["--no-sync"])?;
        let settings = configuration::throw_away(&[]);
        let server = Server::start(self.tools, &data, &self.options.run, &settings, None)?;
        let to = server.connection(&tools::superuser());
        let transfer = self.transfer(&to, scratch.path());
        let tried = transfer.roles().and_then(|()| names.iter().try_for_each(|name| transfer.rehearse(name)));
        tried.map_err(|failure| server.explain(failure))
    }

    /// The rules let superusers in, and who insists can write. A transaction that wrote took a number; whether it changed what was
    /// copied, the contents tell, since autovacuum takes numbers, too. The number from which on nothing has been compared.
    fn refuse_superusers_writes(
        &self,
        outgoing: &mut Outgoing<'_>,
        began: u64,
        copied: &[Copied],
    ) -> Result<u64, Failure> {
        let next = outgoing.settled_transaction()?;
        if next != began {
            eprintln!("the old server has written meanwhile; comparing once more");
            self.compare(|transfer| copied.iter().try_for_each(|copied| transfer.refuse_changes(copied)))?;
        }
        Ok(next)
    }

    fn compare(&self, refuse: impl FnOnce(&Transfer<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        let folder = Scratch::new(self.options.run.join(format!("compare-{}", std::process::id())))?;
        refuse(&self.transfer(self.to, folder.path()))
    }

    fn copy(&self, names: &[&str]) -> Result<Vec<Copied>, Failure> {
        let folder = Scratch::new(self.options.run.join(format!("copy-{}", std::process::id())))?;
        let transfer = self.transfer(self.to, folder.path());
        transfer.roles()?;
        let rights = || contents::roles(&mut Session::open(self.tools, self.to, TEMPLATE)?);
        let before = rights()?;
        let copy = |name: &&str| {
            eprintln!("copying database {}", quote::identifier(name));
            let copied = transfer.database(name)?;
            copied.warnings.iter().for_each(|warning| eprintln!("{warning}"));
            transfer.analyze_roughly(name)?;
            transfer.seal(&copied)?;
            Ok(copied)
        };
        let copied = names.iter().map(copy).collect::<Result<_, Failure>>()?;
        if rights()? != before {
            let sentence =
                "while the databases were copied, roles or their members changed: code in them tried to gain rights";
            return Err(Failure::new(Reason::RestoreFailed, sentence));
        }
        Ok(copied)
    }

    fn transfer<'b>(&'b self, to: &'b Connection, folder: &'b Path) -> Transfer<'b> {
        Transfer { tools: self.tools, from: self.from, to, jobs: self.options.jobs, folder }
    }
}
