//! `agent pg-dump`: a logical snapshot.

use std::path::Path;
use std::thread;
use std::time::Instant;

use agent_protocol::{Offline, PgDump, PgDumpResult};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::lock::{self, LockPolicy};
use crate::postgres::backup::contents;
use crate::postgres::backup::gaps;
use crate::postgres::backup::globals::GLOBALS;
use crate::postgres::backup::inventory;
use crate::postgres::backup::locks;
use crate::postgres::backup::manifest::{DatabaseManifest, SnapshotManifest, SnapshotMethod};
use crate::postgres::backup::partitions;
use crate::postgres::backup::snapshot::StagedSnapshot;
use crate::postgres::client::databases::{self, ServerDatabase};
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::marker_tables::SCHEMA;
use crate::postgres::client::session::{MAINTAINING, Session};
use crate::postgres::client::tools::{self, Connection, Tools};
use crate::postgres::client::version_number;
use crate::postgres::data_dir::admit;
use crate::postgres::data_dir::closed;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::decision::{self, Decision, ExpectedData};
use crate::postgres::data_dir::inspect;
use crate::postgres::data_dir::reserve;
use crate::postgres::timed::seconds;

pub(crate) fn dump(options: &PgDump) -> Result<PgDumpResult, CommandFailure> {
    let since = Instant::now();
    let staged = StagedSnapshot::reserve(&options.to)?;
    if let Some(result) = staged.finished() {
        return Ok(PgDumpResult { seconds: seconds(since), ..result });
    }
    let tools = Tools::find()?;
    let outcome = match &options.offline {
        None => {
            DumpSource { tools: &tools, connection: Connection::from_environment()?.of_this_version(&tools), options }
                .dump(&staged)
        }
        Some(offline) => dump_offline(&tools, options, offline, &staged),
    };
    let result = outcome.map_err(|failure| staged.abort(failure))?;
    Ok(PgDumpResult { seconds: seconds(since), ..result })
}

fn dump_offline(
    tools: &Tools,
    options: &PgDump,
    offline: &Offline,
    staged: &StagedSnapshot,
) -> Result<PgDumpResult, CommandFailure> {
    let lock = lock::take(&lock::path(&offline.data), *offline.lock_timeout, LockPolicy::Required)?;
    let major = version_number::major(&tools.version()?).unwrap_or_default();
    let identifier = offline.system_identifier.as_deref();
    let wanted = ExpectedData { major, may_create: false, system_identifier: identifier, owner: None };
    let Decision::Use(control) = decision::decide(inspect::read(tools, &offline.data)?, &wanted)? else {
        return Err(CommandFailure::new(Reason::DataMissing, "the data directory is empty"));
    };
    inspect::remove_stale_pid(&offline.data)?;
    reserve::release(&offline.data);
    let settings = configuration::private_server_conf(&control, &offline.parameters);
    let server = admit::start(tools, &offline.data, &offline.run, &settings, &lock)?;
    let connection = server.connection(&tools::superuser());
    let result = DumpSource { tools, connection, options }.dump(staged).map_err(|failure| server.explain(failure))?;
    // The snapshot is complete, whatever becomes of the server.
    if let Err(failure) = server.stop() {
        eprintln!("the server failed to stop: {}", failure.message());
    }
    Ok(result)
}

struct DumpSource<'a> {
    tools: &'a Tools,
    connection: Connection,
    options: &'a PgDump,
}

impl DumpSource<'_> {
    fn dump(&self, staged: &StagedSnapshot) -> Result<PgDumpResult, CommandFailure> {
        let timeout = *self.options.connect_timeout;
        let mut session = Session::open_within(self.tools, &self.connection, MAINTENANCE, timeout)?;
        let (version, number, identifier) = inventory::server(&mut session)?;
        // Without a server, or with clients blocked, no client can swap a table.
        if let Some(message) = databases::unsafe_to_dump(number)
            && self.options.offline.is_none()
            && !closed::is_closed(self.tools, &self.connection, &mut session)?
        {
            return Err(CommandFailure::new(Reason::Unsupported, message));
        }
        // An earlier run may have been killed.
        databases::close_opened(&mut session)?;
        let targets = databases::chosen(databases::all(&mut session)?, &self.options.databases)?;
        let mut not_dumped = gaps::not_dumped(&mut session)?;
        not_dumped.extend(gaps::in_marker_schema(&mut session)?);
        let directory = staged.directory()?;
        let mut manifest =
            SnapshotManifest::new(SnapshotMethod::Logical, version, identifier, self.connection.user.clone());
        manifest.not_covered = not_dumped;
        let dumped = self.databases(&mut session, &targets, directory, &mut manifest);
        databases::close_opened(&mut session)?;
        dumped?;
        self.refuse_a_gap(&mut session, &manifest)?;
        // Last, so that every role that owns an object is among them.
        self.globals(&mut session, directory)?;
        staged.commit(manifest)
    }

    fn databases(
        &self,
        session: &mut Session<'_>,
        targets: &[ServerDatabase],
        directory: &Path,
        manifest: &mut SnapshotManifest,
    ) -> Result<(), CommandFailure> {
        for (at, target) in targets.iter().enumerate() {
            if !target.open {
                databases::open(session, target)?;
            }
            let dumped = self.database(&target.name, directory, &format!("database-{at}"), manifest);
            let mut database = dumped.map_err(|failure| {
                locks::explain(failure, || {
                    let mut session = Session::open(self.tools, &self.connection, &target.name)?;
                    locks::too_many_tables(&mut session, &target.name)
                })
            })?;
            if let Some(content) = &mut database.content {
                (content.allow_connections, content.connection_limit) = (target.open, target.limit);
                content.pristine &= target.open && target.limit == -1;
            }
            manifest.databases.push(database);
        }
        Ok(())
    }

    /// Fails if the server has a database that the manifest lacks. One that was created meanwhile would be in the next snapshot;
    /// one that is missing for any other reason would be in none.
    fn refuse_a_gap(&self, session: &mut Session<'_>, manifest: &SnapshotManifest) -> Result<(), CommandFailure> {
        if !self.options.databases.is_empty() {
            return Ok(());
        }
        let has = |target: &ServerDatabase| manifest.databases.iter().any(|database| database.name == target.name);
        match databases::all(session)?.iter().find(|target| !has(target)) {
            Some(target) => {
                let message = format!(
                    "database {:?} was created while the agent took the snapshot; take the snapshot again",
                    target.name
                );
                Err(CommandFailure::new(Reason::DatabaseMissing, message))
            }
            None => Ok(()),
        }
    }

    fn globals(&self, session: &mut Session<'_>, directory: &Path) -> Result<(), CommandFailure> {
        let mut command = self.connection.client_of(self.tools, "pg_dumpall", MAINTENANCE, MAINTAINING);
        command.args(["--globals-only", "--no-tablespaces", "--quote-all-identifiers"]);
        let roles = self.tools.run(&mut command, Reason::ToolFailed)?;
        let path = directory.join(GLOBALS);
        files::write(&path, &(roles + &contents::settings_of_all(session)?))
            .map_err(|error| files::failed("written", &path, &error, Reason::ToolFailed))
    }

    /// The dump and the counts are of the same moment: both use the snapshot that the session exports.
    fn database(
        &self,
        name: &str,
        directory: &Path,
        into: &str,
        manifest: &mut SnapshotManifest,
    ) -> Result<DatabaseManifest, CommandFailure> {
        let mut session = Session::open(self.tools, &self.connection, name)?;
        manifest.not_covered.extend(gaps::not_loaded(&mut session, name)?);
        manifest.not_covered.extend(gaps::left_out(&mut session, name)?);
        manifest.remarks.extend(gaps::remarks(&mut session, name)?);
        session.query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")?;
        let exported = session.query_one("SELECT pg_catalog.pg_export_snapshot()")?;
        let moment =
            exported.ok_or_else(|| CommandFailure::new(Reason::ToolFailed, "the server exports no snapshot"))?;
        let mut command = self.connection.client_of(self.tools, "pg_dump", name, MAINTAINING);
        command.arg("--format=directory").arg("--file").arg(directory.join(into));
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
            let dumped = dump.join().unwrap_or_else(|_| {
                Err(CommandFailure::new(Reason::ToolFailed, "the thread that runs pg_dump ended early"))
            });
            described
                .and_then(|database| dumped.map(|_| database))
                .map(|database| DatabaseManifest { directory: into.into(), ..database })
        })
    }
}
