//! `agent pg-upgrade`: all databases of a server into a new data folder, under a higher major version.
//!
//! What can fail is tried while writers still work: the new server stands, and has taken all definitions once, before the
//! first of them is shut out. From there to the end is downtime, and the rows are read and written at once.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::folder::{self, Verdict, Wanted};
use super::hba::Access;
use super::lock::{self, Without};
use super::manifest::Database;
use super::outgoing::{Outgoing, now};
use super::server::Server;
use super::session::Session;
use super::tools::{self, Connection, Tools};
use super::transfer::{self, TEMPLATE, Transfer};
use super::upgraded::{self, Upgraded};
use super::{configuration, controldata, files, folder_reader, making, prepare, quote, timed};
use crate::failure::{Failure, Reason};

#[derive(Debug)]
pub(crate) struct Upgrade {
    pub(crate) data: PathBuf,
    pub(crate) major: u32,
    pub(crate) configuration: PathBuf,
    pub(crate) owner: Option<String>,
    pub(crate) run: PathBuf,
    /// The application's, which must be there.
    pub(crate) database: Option<String>,
    pub(crate) jobs: u16,
    /// The old server's.
    pub(crate) from_system_identifier: Option<String>,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) lock_timeout: Duration,
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
    let connection = Connection::from_environment()?;
    let lock = lock::take(&lock::beside(&options.data), options.lock_timeout, Without::GoOn)?;
    let mut outgoing = Outgoing::open(&tools, &connection, options.connect_timeout)?;
    let work = Work { tools: &tools, options, connection: &connection, version: &version, lock: &lock };
    let outcome = work.done_before(&mut outgoing).and_then(|done| match done {
        Some(copy) => Ok((copy, true)),
        None => work.make(&mut outgoing).map(|copy| (copy, false)),
    });
    let (copy, reused) = outcome.map_err(|failure| failure.with_closed(outgoing.closed))?;
    let mut result = json!(copy);
    result["reused"] = reused.into();
    Ok(timed(result, since))
}

struct Work<'a> {
    tools: &'a Tools,
    options: &'a Upgrade,
    connection: &'a Connection,
    version: &'a str,
    lock: &'a fs::File,
}

impl Work<'_> {
    /// A copy of before, if nobody can have written since. One that is stale is removed, and what is not ours is refused.
    fn done_before(&self, outgoing: &mut Outgoing<'_>) -> Result<Option<Upgraded>, Failure> {
        let foreign = |sentence: String| Err(Failure::new(Reason::ForeignData, sentence));
        let data = &self.options.data;
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
        let copy = upgraded::look(data, &outgoing.identifier)?;
        if let Some(copy) = copy
            && outgoing.closed
            && outgoing.shut_since()? == Some(copy.closed_at)
        {
            return Ok(Some(copy));
        }
        let unusable = |error: io::Error| files::failed("cleared", data, &error, Reason::DataUnreadable);
        upgraded::clear(data).map_err(unusable)?;
        Ok(None)
    }

    fn make(&self, outgoing: &mut Outgoing<'_>) -> Result<Upgraded, Failure> {
        let workshop = upgraded::workshop(&self.options.data);
        let made = self.make_in(&workshop, outgoing);
        if made.is_err() {
            // The room that it took may be all there is.
            let _ = files::remove(&workshop);
        }
        made
    }

    fn make_in(&self, workshop: &Path, outgoing: &mut Outgoing<'_>) -> Result<Upgraded, Failure> {
        outgoing.refuse_what_would_be_lost()?;
        let databases = outgoing.databases()?;
        let names: Vec<&str> = databases.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(missing) = self.options.database.as_deref().filter(|name| !names.contains(name)) {
            let sentence = format!("there is no database {}", quote::identifier(missing));
            return Err(Failure::new(Reason::DatabaseMissing, sentence));
        }
        self.refuse_little_room(workshop, outgoing)?;
        let data = workshop.join("data");
        let mut server = self.server(&data)?;
        self.refuse_missing_extensions(&server, &databases)?;
        // A server that nobody writes to has no use for it: it only takes longer until somebody does.
        if !outgoing.closed {
            eprintln!("trying all definitions");
            let tried = self.rehearse(&server, workshop, &names);
            tried.map_err(|failure| server.explain(failure))?;
            server.stop()?;
            server = self.server(&data)?;
        }
        eprintln!("shutting writers out");
        let closed_at = outgoing.shut()?;
        let copied = files::writing_behind(&data.join("base"), || self.copy(&server, workshop, &names));
        let copied = copied.map_err(|failure| server.explain(failure))?;
        server.stop()?;
        self.finish(&data, outgoing, &copied, closed_at)
    }

    /// A new cluster, and a server on it that nobody else reaches. Nothing is written through until the end, when all is.
    fn server(&self, data: &Path) -> Result<Server<'_>, Failure> {
        let unusable = |error: io::Error| files::failed("made", data, &error, Reason::CannotInitialise);
        files::remove(data).and_then(|()| files::make_private(data)).map_err(unusable)?;
        making::initdb(self.tools, data, &making::superusers_password()?, &["--no-sync"])?;
        let settings = configuration::loading(&self.options.parameters);
        Server::start(self.tools, data, &self.options.run, &settings, Some(self.lock))
    }

    fn refuse_little_room(&self, workshop: &Path, outgoing: &mut Outgoing<'_>) -> Result<(), Failure> {
        let unusable = |error: io::Error| files::failed("made", workshop, &error, Reason::DataUnreadable);
        files::make_private(workshop).map_err(unusable)?;
        let needed = outgoing.bytes()?;
        match transfer::free_bytes(self.tools, workshop) {
            Some(free) if free < needed => {
                let sentence = format!("the new volume has {free} bytes free, and the databases take {needed}");
                Err(Failure::new(Reason::NoSpace, sentence))
            }
            Some(_) => Ok(()),
            None => {
                eprintln!(
                    "there is no df, so it is not known how much room there is; the databases take {needed} bytes"
                );
                Ok(())
            }
        }
    }

    fn refuse_missing_extensions(
        &self,
        server: &Server<'_>,
        databases: &[(String, Vec<String>)],
    ) -> Result<(), Failure> {
        let mut session = Session::open(self.tools, &server.connection(&tools::superuser()), TEMPLATE)?;
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

    fn rehearse(&self, server: &Server<'_>, folder: &Path, names: &[&str]) -> Result<(), Failure> {
        let to = server.connection(&tools::superuser());
        let transfer = self.transfer(&to, folder);
        transfer.roles()?;
        names.iter().try_for_each(|name| transfer.rehearse(name))
    }

    fn copy(&self, server: &Server<'_>, folder: &Path, names: &[&str]) -> Result<Vec<Database>, Failure> {
        let to = server.connection(&tools::superuser());
        let transfer = self.transfer(&to, folder);
        transfer.roles()?;
        let copy = |name: &&str| {
            eprintln!("copying database {}", quote::identifier(name));
            let database = transfer.database(name)?;
            transfer.analyze_roughly(name)?;
            Ok(database)
        };
        names.iter().map(copy).collect()
    }

    fn transfer<'b>(&'b self, to: &'b Connection, folder: &'b Path) -> Transfer<'b> {
        Transfer { tools: self.tools, from: self.connection, to, jobs: self.options.jobs, folder }
    }

    /// Makes all of it last, and only then gives it its name. It lets nobody in but the superuser: that is the operator's
    /// to change, when the old server is gone.
    fn finish(
        &self,
        made: &Path,
        outgoing: &Outgoing<'_>,
        copied: &[Database],
        closed_at: u64,
    ) -> Result<Upgraded, Failure> {
        let failed = |error: io::Error| files::failed("completed", made, &error, Reason::CannotInitialise);
        let wanted = Wanted { major: self.options.major, initialise: false, system_identifier: None, owner: None };
        let Verdict::Use(control) = folder::judge(folder_reader::read(self.tools, made)?, &wanted)? else {
            return Err(Failure::new(Reason::CannotInitialise, "initdb made nothing"));
        };
        making::sync(self.tools, made)?;
        files::remove(&made.join("pg_hba.conf")).map_err(failed)?;
        prepare::configure(made, &self.options.configuration, Some(Access::Closed), Access::Closed).map_err(failed)?;
        if let Some(owner) = &self.options.owner {
            files::write(&made.join(folder_reader::OWNER), &format!("{owner}\n")).map_err(failed)?;
        }
        fs::set_permissions(made, Permissions::from_mode(0o700)).map_err(failed)?;
        let copy = Upgraded {
            system_identifier: control.system_identifier,
            from_system_identifier: outgoing.identifier.clone(),
            version: self.version.into(),
            from: outgoing.version.clone(),
            databases: copied.len(),
            tables: copied.iter().map(|database| database.tables.len()).sum(),
            rows: copied.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum(),
            closed_at,
            copied_at: now(),
        };
        upgraded::finish(made, &self.options.data, &copy).map_err(failed)?;
        Ok(copy)
    }
}
