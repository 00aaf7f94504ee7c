//! `agent pg-verify`: whether a snapshot is intact, and can be restored.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use agent_protocol::{PgVerify, PgVerifyResult, VerificationMode, count};

use crate::failure::{CommandFailure, Reason};
use crate::files::{self, ScratchDirectory};
use crate::postgres::backup::base_backup::BASE;
use crate::postgres::backup::inventory;
use crate::postgres::backup::manifest::{SnapshotManifest, SnapshotMethod};
use crate::postgres::backup::snapshot;
use crate::postgres::backup::volume;
use crate::postgres::client::databases;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::client::version_number;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::decision::{self, Decision, ExpectedData};
use crate::postgres::data_dir::inspect;
use crate::postgres::data_dir::server::PrivateServer;
use crate::postgres::restore::checks::{self, UserCheck};
use crate::postgres::restore::load_snapshot::SnapshotLoad;
use crate::postgres::timed::seconds;

pub(crate) fn verify(options: &PgVerify) -> Result<PgVerifyResult, CommandFailure> {
    let since = Instant::now();
    // Read the checks first, since an error in their file is not one of the snapshot.
    let checks = options.checks.as_deref().map(checks::read).transpose()?.unwrap_or_default();
    let (manifest, sha256) = snapshot::read(&options.snapshot, options.sha256.as_deref())?;
    snapshot::check_files(&options.snapshot, &manifest)?;
    let (mut tables, mut rows, mut passed) = (manifest.tables(), manifest.rows(), None);
    if let (VerificationMode::Restore, Some(scratch)) = (options.mode, &options.scratch) {
        let test = RestoreTest { tools: &Tools::find()?, options, manifest: &manifest, checks: &checks };
        (tables, rows) = test.restore(scratch)?;
        passed = Some(count(checks.len()));
    }
    Ok(PgVerifyResult {
        mode: if options.mode == VerificationMode::Restore { "Restore" } else { "Checksum" }.to_owned(),
        kind: manifest.kind.word().to_owned(),
        bytes: count(manifest.bytes()),
        sha256,
        engine_version: manifest.engine_version,
        system_identifier: Some(manifest.system_identifier),
        tables: Some(count(tables)),
        rows: Some(count(rows)),
        checks: passed,
        volume: volume::measure(&options.snapshot),
        seconds: seconds(since),
    })
}

struct RestoreTest<'a> {
    tools: &'a Tools,
    options: &'a PgVerify,
    manifest: &'a SnapshotManifest,
    checks: &'a [UserCheck],
}

impl RestoreTest<'_> {
    /// Restores the snapshot. Returns the numbers of tables and rows.
    fn restore(&self, scratch: &Path) -> Result<(usize, u64), CommandFailure> {
        let scratch = ScratchDirectory::new(scratch.join("verify"))?;
        let data = scratch.path().join("data");
        match self.manifest.kind {
            SnapshotMethod::Logical => self.restore_logical(&data),
            SnapshotMethod::Physical => self.restore_physical(&data),
        }
    }

    fn restore_logical(&self, data: &Path) -> Result<(usize, u64), CommandFailure> {
        let (then, now) = (&self.manifest.engine_version, self.tools.version()?);
        if version_number::major(then) > version_number::major(&now) {
            let message = format!("the snapshot is of PostgreSQL {then}, and this is {now}: a dump does not go back");
            return Err(CommandFailure::new(Reason::NewerSnapshot, message));
        }
        let mut command = self.tools.command("initdb");
        command.arg("-D").arg(data).arg(format!("--username={}", self.manifest.superuser));
        command.args(["--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync"]).stdout(Stdio::null());
        self.tools.run(&mut command, Reason::CannotInitialise)?;
        let settings = configuration::scratch_conf(&self.options.parameters);
        let server = PrivateServer::start(self.tools, data, &self.options.run, &settings, None)?;
        let connection = server.connection(&self.manifest.superuser);
        let load = SnapshotLoad {
            tools: self.tools,
            connection: &connection,
            snapshot: &self.options.snapshot,
            manifest: self.manifest,
            jobs: self.options.jobs.0,
            run: &self.options.run,
            persistent: false,
        };
        let loaded = load
            .globals()
            .and_then(|()| {
                let before = load.privileges()?;
                for database in &self.manifest.databases {
                    load.database(database)?.iter().for_each(|warning| eprintln!("{warning}"));
                }
                load.refuse_gained_privileges(&before)
            })
            .and_then(|()| checks::run(self.tools, &connection, self.manifest, self.checks));
        loaded.map_err(|failure| server.explain(failure))?;
        Ok((self.manifest.tables(), self.manifest.rows()))
    }

    /// Reads every row, so that the server verifies the checksum of every page.
    fn restore_physical(&self, data: &Path) -> Result<(usize, u64), CommandFailure> {
        let base = self.options.snapshot.join(BASE);
        self.tools.run(self.tools.command("pg_verifybackup").arg("--quiet").arg(&base), Reason::Corrupt)?;
        files::copy(&base, data).map_err(|error| files::failed("copied", &base, &error, Reason::RestoreFailed))?;
        let major = version_number::major(&self.tools.version()?).unwrap_or_default();
        let identifier = Some(self.manifest.system_identifier.as_str());
        let wanted = ExpectedData { major, may_create: false, system_identifier: identifier, owner: None };
        let Decision::Use(control) = decision::decide(inspect::read(self.tools, data)?, &wanted)? else {
            return Err(CommandFailure::new(Reason::Corrupt, "the base backup is empty"));
        };
        let mut parameters = self.options.parameters.clone();
        parameters.push(("fsync".into(), "off".into()));
        let settings = configuration::private_server_conf(&control, &parameters);
        let server = PrivateServer::start(self.tools, data, &self.options.run, &settings, None)?;
        let connection = server.connection(&self.manifest.superuser);
        let read = self.read_all(&connection);
        let checked = read.and_then(|found| {
            checks::run(self.tools, &connection, self.manifest, self.checks)?;
            Ok(found)
        });
        checked.map_err(|failure| server.explain(failure))
    }

    fn read_all(&self, connection: &Connection) -> Result<(usize, u64), CommandFailure> {
        let mut session = Session::open(self.tools, connection, MAINTENANCE)?;
        let places = databases::all(&mut session)?;
        let there: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
        for place in places.iter().filter(|place| !place.open) {
            databases::open_for_good(&mut session, &place.name)?;
        }
        let (mut tables, mut rows) = (0, 0);
        for name in &there {
            let database = inventory::describe(&mut Session::open(self.tools, connection, name)?, name)?;
            tables += database.tables.len();
            rows += database.tables.iter().map(|table| table.rows).sum::<u64>();
        }
        match self.manifest.databases.iter().find(|database| !there.contains(&database.name)) {
            Some(lost) => Err(CommandFailure::new(Reason::CountMismatch, format!("database {} is missing", lost.name))),
            None => Ok((tables, rows)),
        }
    }
}
