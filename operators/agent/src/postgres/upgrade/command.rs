//! `agent pg-upgrade`: copies all databases of a server into another one of a higher major version, which is empty and closed.
//!
//! The agent tries what can fail while clients still write: before it blocks the first client, the new server runs, and a server
//! like it has loaded all definitions once. From there to the end is downtime, in which rows are read and written at the same
//! time.

use std::path::Path;
use std::time::Instant;

use agent_protocol::{PgUpgrade, PgUpgradeResult, count};

use crate::failure::{CommandFailure, Reason, in_short};
use crate::files::ScratchDirectory;
use crate::postgres::backup::contents;
use crate::postgres::backup::manifest::DatabaseManifest;
use crate::postgres::client::default_databases::{MAINTENANCE, TEMPLATE};
use crate::postgres::client::quote;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{self, Connection, Tools};
use crate::postgres::client::version_number;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::copy_marker::CopyMarker;
use crate::postgres::data_dir::initdb;
use crate::postgres::data_dir::passwords;
use crate::postgres::data_dir::server::PrivateServer;
use crate::postgres::timed::seconds;
use crate::postgres::upgrade::copy::{CopyResult, DatabaseCopy};
use crate::postgres::upgrade::source::{SourceServer, now};
use crate::postgres::upgrade::target::TargetServer;

pub(crate) fn upgrade(options: &PgUpgrade) -> Result<PgUpgradeResult, CommandFailure> {
    let since = Instant::now();
    let tools = Tools::find()?;
    let version = tools.version()?;
    if version_number::major(&version) != Some(options.major) {
        let message = format!("the programs are of PostgreSQL {version}, not {}", options.major);
        return Err(CommandFailure::new(Reason::WrongMajor, message));
    }
    let from = Connection::from_environment()?;
    let to = from.with_server(&options.to, options.to_port.as_deref()).of_this_version(&tools);
    let mut source = SourceServer::open(&tools, &from, *options.connect_timeout)?;
    let opened = TargetServer::open(&tools, &to, *options.connect_timeout);
    let mut target = opened.map_err(|failure| failure.with_closed(source.closed))?;
    let run = UpgradeRun { tools: &tools, options, from: &from, to: &to, version: &version };
    let outcome = run.earlier_copy(&mut source, &mut target).and_then(|done| match done {
        Some(copy) => Ok((copy, true)),
        None => run.create_copy(&mut source, &mut target).map(|copy| (copy, false)),
    });
    // pg-survey has reported this before; slots are no reason to roll back.
    let not_covered = source.not_covered().unwrap_or_default();
    let (copy, reused) = outcome.map_err(|failure| failure.with_closed(source.closed))?;
    Ok(PgUpgradeResult {
        system_identifier: Some(copy.system_identifier),
        from_system_identifier: Some(copy.from_system_identifier),
        version: copy.version,
        from: copy.from,
        databases: count(copy.databases),
        tables: count(copy.tables),
        rows: count(copy.rows),
        closed_at: Some(count(copy.closed_at)),
        copied_at: Some(count(copy.copied_at)),
        next_transaction: copy.next_transaction.map(count),
        reused,
        not_covered: in_short(&not_covered, 5, 200),
        seconds: seconds(since),
    })
}

struct UpgradeRun<'a> {
    tools: &'a Tools,
    options: &'a PgUpgrade,
    from: &'a Connection,
    to: &'a Connection,
    version: &'a str,
}

impl UpgradeRun<'_> {
    /// An earlier copy, if no session has written since. Refuses a server with anything else in it.
    fn earlier_copy(
        &self,
        source: &mut SourceServer<'_>,
        target: &mut TargetServer<'_>,
    ) -> Result<Option<CopyMarker>, CommandFailure> {
        let foreign = |message: String| Err(CommandFailure::new(Reason::ForeignData, message));
        if let Some(expected) = &self.options.from_system_identifier
            && *expected != source.identifier
        {
            let found = &source.identifier;
            return foreign(format!(
                "the server's system identifier is {found}, and not {expected}: it is another one"
            ));
        }
        if source.major() >= Some(self.options.major) {
            let message = format!(
                "the source server is of PostgreSQL {}, the programs are of {}",
                source.version, self.options.major
            );
            return Err(CommandFailure::new(Reason::WrongMajor, message));
        }
        if version_number::major(&target.version) != Some(self.options.major) {
            let message = format!("the target server is of PostgreSQL {}, not {}", target.version, self.options.major);
            return Err(CommandFailure::new(Reason::WrongMajor, message));
        }
        if let Some(copy) = target.copy()?
            && copy.from_system_identifier == source.identifier
            && source.closed
            && source.closed_since()? == Some(copy.closed_at)
        {
            return self.check_earlier_copy(copy, source, target).map(Some);
        }
        match target.used_by()? {
            Some(what) => {
                foreign(format!("the target server has {what}: it is not empty, so the agent does not change it"))
            }
            None => Ok(None),
        }
    }

    /// An earlier copy, compared again if the old server has written since, by autovacuum or by a superuser.
    fn check_earlier_copy(
        &self,
        copy: CopyMarker,
        source: &mut SourceServer<'_>,
        target: &mut TargetServer<'_>,
    ) -> Result<CopyMarker, CommandFailure> {
        let next = Some(source.settled_transaction()?);
        if copy.next_transaction == next {
            return Ok(copy);
        }
        eprintln!("the source server has written since it was copied; comparing again");
        let databases = source.databases()?;
        if databases.len() != copy.databases {
            let (now, then) = (databases.len(), copy.databases);
            let message =
                format!("a superuser wrote to the source server: it has {now} databases, of which {then} were copied");
            return Err(CommandFailure::new(Reason::CountMismatch, message));
        }
        self.compare(|copying| databases.iter().try_for_each(|(name, _)| copying.refuse_later_changes(name)))?;
        let copy = CopyMarker { next_transaction: next, ..copy };
        target.write_marker(&copy)?;
        Ok(copy)
    }

    fn create_copy(
        &self,
        source: &mut SourceServer<'_>,
        target: &mut TargetServer<'_>,
    ) -> Result<CopyMarker, CommandFailure> {
        source.refuse_what_would_be_lost()?;
        let databases = source.databases()?;
        let mut names: Vec<&str> = databases.iter().map(|(name, _)| name.as_str()).collect();
        // Before PostgreSQL 15, CREATE DATABASE flushes all that the server has written to disk: so the largest one is last.
        names.sort_by_key(|name| *name != MAINTENANCE);
        if let Some(missing) = self.options.database.as_deref().filter(|name| !names.contains(name)) {
            let message = format!("there is no database {}", quote::identifier(missing));
            return Err(CommandFailure::new(Reason::DatabaseMissing, message));
        }
        self.refuse_insufficient_space(source, target)?;
        self.refuse_missing_extensions(&databases)?;
        // If clients are blocked already, it would only prolong the downtime.
        if !source.closed {
            eprintln!("loading all definitions into a scratch server");
            self.dry_run_schemas(&names)?;
        }
        target.drop_maintenance_database()?;
        eprintln!("blocking clients");
        let closed_at = source.close()?;
        let began = source.next_transaction()?;
        let copied = self.copy(&names)?;
        let next_transaction = Some(self.refuse_superusers_writes(source, began, &copied)?);
        let copied: Vec<DatabaseManifest> = copied.into_iter().map(|copied| copied.database).collect();
        let copy = CopyMarker {
            system_identifier: target.identifier.clone(),
            from_system_identifier: source.identifier.clone(),
            version: target.version.clone(),
            from: source.version.clone(),
            databases: copied.len(),
            tables: copied.iter().map(|database| database.tables.len()).sum(),
            rows: copied.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum(),
            closed_at,
            copied_at: now(),
            next_transaction,
        };
        target.finish(&copy)?;
        Ok(copy)
    }

    /// Fails if the new volume lacks space. The new server writes all that is copied to its WAL as well, until a checkpoint.
    fn refuse_insufficient_space(
        &self,
        source: &mut SourceServer<'_>,
        target: &mut TargetServer<'_>,
    ) -> Result<(), CommandFailure> {
        let bytes = source.bytes()?;
        let log = target.log_bytes()?.min(bytes);
        match self.options.room {
            Some(free) if free < bytes.saturating_add(log) => {
                let message = format!(
                    "the new volume has {free} bytes free; the databases take {bytes}, and the log of their copy {log}"
                );
                Err(CommandFailure::new(Reason::NoSpace, message))
            }
            Some(_) => Ok(()),
            None => {
                eprintln!("the free space is unknown; the copy needs {bytes} bytes, and {log} for its WAL");
                Ok(())
            }
        }
    }

    fn refuse_missing_extensions(&self, databases: &[(String, Vec<String>)]) -> Result<(), CommandFailure> {
        let mut session = Session::open(self.tools, self.to, TEMPLATE)?;
        let sql = "SELECT pg_catalog.to_json(name::text) FROM pg_catalog.pg_available_extensions";
        let available: Vec<String> = session.query_json(sql)?;
        for (database, extensions) in databases {
            if let Some(missing) = extensions.iter().find(|name| !available.contains(name)) {
                let (missing, database) = (quote::identifier(missing), quote::identifier(database));
                let message = format!(
                    "PostgreSQL {} here has no extension {missing}, which database {database} uses",
                    self.version
                );
                return Err(CommandFailure::new(Reason::ExtensionMissing, message));
            }
        }
        Ok(())
    }

    /// Loads all definitions into a throwaway server.
    fn dry_run_schemas(&self, names: &[&str]) -> Result<(), CommandFailure> {
        let scratch = ScratchDirectory::new(self.options.run.join(format!("rehearsal-{}", std::process::id())))?;
        let data = scratch.path().join("data");
        initdb::initdb(self.tools, &data, &passwords::superusers_password()?, &["--no-sync"])?;
        let settings = configuration::scratch_conf(&[]);
        let server = PrivateServer::start(self.tools, &data, &self.options.run, &settings, None)?;
        let to = server.connection(&tools::superuser());
        let copying = self.copying(&to, scratch.path());
        let tried = copying.roles().and_then(|()| names.iter().try_for_each(|name| copying.dry_run_schema(name)));
        tried.map_err(|failure| server.explain(failure))
    }

    /// Fails if a superuser wrote to the old server meanwhile: the rules admit superusers, who can override the read-only
    /// default. A transaction that writes takes a number, but so does autovacuum, so the contents are compared then. Returns the
    /// number from which on nothing has been compared.
    fn refuse_superusers_writes(
        &self,
        source: &mut SourceServer<'_>,
        began: u64,
        copied: &[CopyResult],
    ) -> Result<u64, CommandFailure> {
        let next = source.settled_transaction()?;
        if next != began {
            eprintln!("the source server wrote during the copy; comparing again");
            self.compare(|copying| copied.iter().try_for_each(|copied| copying.refuse_changes(copied)))?;
        }
        Ok(next)
    }

    fn compare(
        &self,
        refuse: impl FnOnce(&DatabaseCopy<'_>) -> Result<(), CommandFailure>,
    ) -> Result<(), CommandFailure> {
        let directory = ScratchDirectory::new(self.options.run.join(format!("compare-{}", std::process::id())))?;
        refuse(&self.copying(self.to, directory.path()))
    }

    fn copy(&self, names: &[&str]) -> Result<Vec<CopyResult>, CommandFailure> {
        let directory = ScratchDirectory::new(self.options.run.join(format!("copy-{}", std::process::id())))?;
        let copying = self.copying(self.to, directory.path());
        copying.roles()?;
        let privileges = || contents::roles(&mut Session::open(self.tools, self.to, TEMPLATE)?);
        let before = privileges()?;
        let copy = |name: &&str| {
            eprintln!("copying database {}", quote::identifier(name));
            let copied = copying.database(name)?;
            copied.warnings.iter().for_each(|warning| eprintln!("{warning}"));
            copying.analyze_roughly(name)?;
            copying.seal(&copied)?;
            Ok(copied)
        };
        let copied = names.iter().map(copy).collect::<Result<_, CommandFailure>>()?;
        if privileges()? != before {
            let message = "while the databases were copied, roles or their members changed: code in them tried to gain privileges";
            return Err(CommandFailure::new(Reason::RestoreFailed, message));
        }
        Ok(copied)
    }

    fn copying<'b>(&'b self, to: &'b Connection, directory: &'b Path) -> DatabaseCopy<'b> {
        DatabaseCopy { tools: self.tools, from: self.from, to, jobs: self.options.jobs.0, directory }
    }
}
