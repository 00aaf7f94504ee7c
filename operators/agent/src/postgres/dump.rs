//! `agent pg-dump`: a logical snapshot.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::databases::{self, Place};
use super::folder::{self, Verdict, Wanted};
use super::globals::GLOBALS;
use super::inventory;
use super::lock::{self, Without};
use super::manifest::{Database, Kind, Manifest};
use super::notes::SCHEMA;
use super::refill::MAINTAINING;
use super::session::Session;
use super::snapshot::Slot;
use super::standing::MAINTENANCE;
use super::timed::timed;
use super::tools::{self, Connection, Tools};
use super::{
    admit, closed, configuration, contents, controldata, files, folder_reader, gaps, locks, partitions, reserve,
};
use crate::failure::{Failure, Reason};

#[derive(Debug)]
pub(crate) struct Dump {
    pub(crate) to: PathBuf,
    pub(crate) databases: Vec<String>,
    pub(crate) jobs: u16,
    /// 0 to 9, or as pg_dump does it.
    pub(crate) compression: Option<u8>,
    pub(crate) offline: Option<Offline>,
    pub(crate) connect_timeout: Duration,
}

/// A data folder without a server.
#[derive(Debug)]
pub(crate) struct Offline {
    pub(crate) data: PathBuf,
    pub(crate) run: PathBuf,
    pub(crate) system_identifier: Option<String>,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) lock_timeout: Duration,
}

pub(crate) fn dump(options: &Dump) -> Result<Value, Failure> {
    let since = Instant::now();
    let slot = Slot::take(&options.to)?;
    if let Some(result) = slot.finished() {
        return Ok(timed(result, since));
    }
    let tools = Tools::find()?;
    let outcome = match &options.offline {
        None => Source { tools: &tools, connection: Connection::from_environment()?.of_this_version(&tools), options }
            .dump(&slot),
        Some(offline) => dump_offline(&tools, options, offline, &slot),
    };
    Ok(timed(outcome.map_err(|failure| slot.give_up(failure))?, since))
}

fn dump_offline(tools: &Tools, options: &Dump, offline: &Offline, slot: &Slot) -> Result<Value, Failure> {
    let lock = lock::take(&lock::of(&offline.data), offline.lock_timeout, Without::Fail)?;
    let major = controldata::major(&tools.version()?).unwrap_or_default();
    let identifier = offline.system_identifier.as_deref();
    let wanted = Wanted { major, initialise: false, system_identifier: identifier, owner: None };
    let Verdict::Use(control) = folder::judge(folder_reader::read(tools, &offline.data)?, &wanted)? else {
        return Err(Failure::new(Reason::DataMissing, "there is no data"));
    };
    folder_reader::make_way(&offline.data)?;
    reserve::make_room(&offline.data);
    let settings = configuration::offline(&control, &offline.parameters);
    let server = admit::start(tools, &offline.data, &offline.run, &settings, &lock)?;
    let connection = server.connection(&tools::superuser());
    let result = Source { tools, connection, options }.dump(slot).map_err(|failure| server.explain(failure))?;
    // The snapshot is complete, whatever becomes of the server.
    if let Err(failure) = server.stop() {
        eprintln!("the server does not stop: {}", failure.message());
    }
    Ok(result)
}

struct Source<'a> {
    tools: &'a Tools,
    connection: Connection,
    options: &'a Dump,
}

impl Source<'_> {
    fn dump(&self, slot: &Slot) -> Result<Value, Failure> {
        let patience = self.options.connect_timeout;
        let mut session = Session::open_within(self.tools, &self.connection, MAINTENANCE, patience)?;
        let (version, number, identifier) = inventory::server(&mut session)?;
        // Without a server, and where clients are shut out, nobody can swap a table.
        if let Some(sentence) = databases::unsafe_to_dump(number)
            && self.options.offline.is_none()
            && !closed::is_closed(self.tools, &self.connection, &mut session)?
        {
            return Err(Failure::new(Reason::Unsupported, sentence));
        }
        // A run of before may have been killed.
        databases::close_opened(&mut session)?;
        let places = databases::chosen(databases::all(&mut session)?, &self.options.databases)?;
        let mut not_dumped = gaps::not_dumped(&mut session)?;
        not_dumped.extend(gaps::beside_notes(&mut session)?);
        let folder = slot.folder()?;
        let mut manifest = Manifest::new(Kind::Logical, version, identifier, self.connection.user.clone());
        manifest.not_covered = not_dumped;
        let dumped = self.databases(&mut session, &places, folder, &mut manifest);
        databases::close_opened(&mut session)?;
        dumped?;
        self.refuse_a_gap(&mut session, &manifest)?;
        // Last, so that every role that an object belongs to is among them.
        self.globals(&mut session, folder)?;
        slot.finish(manifest)
    }

    fn databases(
        &self,
        session: &mut Session<'_>,
        places: &[Place],
        folder: &Path,
        manifest: &mut Manifest,
    ) -> Result<(), Failure> {
        for (at, place) in places.iter().enumerate() {
            if !place.open {
                databases::open(session, place)?;
            }
            let dumped = self.database(&place.name, folder, &format!("database-{at}"), manifest);
            let mut database = dumped.map_err(|failure| {
                locks::explain(failure, || {
                    let mut session = Session::open(self.tools, &self.connection, &place.name)?;
                    locks::too_many_tables(&mut session, &place.name)
                })
            })?;
            if let Some(content) = &mut database.content {
                (content.allow_connections, content.connection_limit) = (place.open, place.limit);
                content.pristine &= place.open && place.limit == -1;
            }
            manifest.databases.push(database);
        }
        Ok(())
    }

    /// What the server has is what the manifest has: a database that was made meanwhile is in the next snapshot, and one
    /// that is missing for any other reason is in none.
    fn refuse_a_gap(&self, session: &mut Session<'_>, manifest: &Manifest) -> Result<(), Failure> {
        if !self.options.databases.is_empty() {
            return Ok(());
        }
        let has = |place: &Place| manifest.databases.iter().any(|database| database.name == place.name);
        match databases::all(session)?.iter().find(|place| !has(place)) {
            Some(place) => {
                let sentence =
                    format!("database {:?} was made while the snapshot was taken: take it again", place.name);
                Err(Failure::new(Reason::DatabaseMissing, sentence))
            }
            None => Ok(()),
        }
    }

    fn globals(&self, session: &mut Session<'_>, folder: &Path) -> Result<(), Failure> {
        let mut command = self.connection.client_of(self.tools, "pg_dumpall", MAINTENANCE, MAINTAINING);
        command.args(["--globals-only", "--no-tablespaces", "--quote-all-identifiers"]);
        let roles = self.tools.run(&mut command, Reason::ToolFailed)?;
        let path = folder.join(GLOBALS);
        files::write(&path, &(roles + &contents::settings_of_all(session)?))
            .map_err(|error| files::failed("written", &path, &error, Reason::ToolFailed))
    }

    /// The dump and the counts are of one moment: both see what the session exports.
    fn database(&self, name: &str, folder: &Path, into: &str, manifest: &mut Manifest) -> Result<Database, Failure> {
        let mut session = Session::open(self.tools, &self.connection, name)?;
        manifest.not_covered.extend(gaps::not_loaded(&mut session, name)?);
        manifest.not_covered.extend(gaps::left_out(&mut session, name)?);
        manifest.remarks.extend(gaps::remarks(&mut session, name)?);
        session.ask("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")?;
        let exported = session.ask_one("SELECT pg_catalog.pg_export_snapshot()")?;
        let moment = exported.ok_or_else(|| Failure::new(Reason::ToolFailed, "the server exports no snapshot"))?;
        let mut command = self.connection.client_of(self.tools, "pg_dump", name, MAINTAINING);
        command.arg("--format=directory").arg("--file").arg(folder.join(into));
        command.arg(format!("--jobs={}", self.options.jobs)).arg(format!("--snapshot={moment}"));
        command.args(["--quote-all-identifiers", "--no-sync"]);
        command.args(self.options.compression.map(|level| format!("--compress={level}")));
        if partitions::any_moves(&mut session)? {
            command.arg("--load-via-partition-root");
        }
        if name == MAINTENANCE {
            command.arg(format!("--exclude-schema={SCHEMA}"));
        }
        thread::scope(|scope| {
            let dump = scope.spawn(|| self.tools.run(&mut command, Reason::ToolFailed));
            let described = inventory::describe(&mut session, name);
            let dumped =
                dump.join().unwrap_or_else(|_| Err(Failure::new(Reason::ToolFailed, "pg_dump was not awaited")));
            described
                .and_then(|database| dumped.map(|_| database))
                .map(|database| Database { folder: into.into(), ..database })
        })
    }
}
