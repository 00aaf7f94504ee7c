//! `agent pg-verify`: is a snapshot what it was, and can it be restored?

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use super::basebackup::BASE;
use super::checks::{self, Check};
use super::databases;
use super::files::{self, Scratch};
use super::folder::{self, Verdict, Wanted};
use super::inventory;
use super::manifest::{Kind, Manifest};
use super::refill::Refill;
use super::server::Server;
use super::session::Session;
use super::snapshot;
use super::standing::MAINTENANCE;
use super::timed::timed;
use super::tools::{Connection, Tools};
use super::volume;
use super::{configuration, controldata, folder_reader};
use crate::failure::{Failure, Reason};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The files are as they were written.
    Checksum,
    /// And a server has all that went in.
    Restore,
}

#[derive(Debug)]
pub(crate) struct Verify {
    pub(crate) snapshot: PathBuf,
    pub(crate) sha256: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) run: PathBuf,
    pub(crate) checks: Option<PathBuf>,
    pub(crate) jobs: u16,
    pub(crate) parameters: Vec<(String, String)>,
}

pub(crate) fn verify(options: &Verify) -> Result<Value, Failure> {
    let since = Instant::now();
    // Before the long part, since a wrong file of checks is the operator's fault and not the snapshot's.
    let checks = options.checks.as_deref().map(checks::read).transpose()?.unwrap_or_default();
    let (manifest, sha256) = snapshot::read(&options.snapshot, options.sha256.as_deref())?;
    snapshot::check_files(&options.snapshot, &manifest)?;
    let mut result = json!({
        "mode": if options.mode == Mode::Restore { "Restore" } else { "Checksum" },
        "kind": manifest.kind,
        "bytes": manifest.bytes(),
        "sha256": sha256,
        "engineVersion": manifest.engine_version,
        "systemIdentifier": manifest.system_identifier,
        "tables": manifest.tables(),
        "rows": manifest.rows(),
    });
    if let (Mode::Restore, Some(scratch)) = (options.mode, &options.scratch) {
        let proof = Proof { tools: &Tools::find()?, options, manifest: &manifest, checks: &checks };
        let (tables, rows) = proof.restore(scratch)?;
        result["tables"] = tables.into();
        result["rows"] = rows.into();
        result["checks"] = checks.len().into();
    }
    Ok(timed(volume::measure(result, &options.snapshot), since))
}

struct Proof<'a> {
    tools: &'a Tools,
    options: &'a Verify,
    manifest: &'a Manifest,
    checks: &'a [Check],
}

impl Proof<'_> {
    /// How many tables and rows there are.
    fn restore(&self, scratch: &Path) -> Result<(usize, u64), Failure> {
        let scratch = Scratch::new(scratch.join("verify"))?;
        let data = scratch.path().join("data");
        match self.manifest.kind {
            Kind::Logical => self.refill(&data),
            Kind::Physical => self.recover(&data),
        }
    }

    fn refill(&self, data: &Path) -> Result<(usize, u64), Failure> {
        let (then, now) = (&self.manifest.engine_version, self.tools.version()?);
        if controldata::major(then) > controldata::major(&now) {
            let sentence = format!("the snapshot is of PostgreSQL {then}, and this is {now}: a dump does not go back");
            return Err(Failure::new(Reason::NewerSnapshot, sentence));
        }
        let mut command = self.tools.command("initdb");
        command.arg("-D").arg(data).arg(format!("--username={}", self.manifest.superuser));
        command.args(["--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync"]).stdout(Stdio::null());
        self.tools.run(&mut command, Reason::CannotInitialise)?;
        let settings = configuration::throw_away(&self.options.parameters);
        let server = Server::start(self.tools, data, &self.options.run, &settings, None)?;
        let connection = server.connection(&self.manifest.superuser);
        let refill = Refill {
            tools: self.tools,
            connection: &connection,
            snapshot: &self.options.snapshot,
            manifest: self.manifest,
            jobs: self.options.jobs,
            run: &self.options.run,
            lasting: false,
        };
        let refilled = refill
            .globals()
            .and_then(|()| {
                let before = refill.rights()?;
                for database in &self.manifest.databases {
                    refill.database(database)?.iter().for_each(|warning| eprintln!("{warning}"));
                }
                refill.refuse_gained_rights(&before)
            })
            .and_then(|()| checks::run(self.tools, &connection, self.manifest, self.checks));
        refilled.map_err(|failure| server.explain(failure))?;
        Ok((self.manifest.tables(), self.manifest.rows()))
    }

    /// Every row is read, so that every page's checksum is looked at.
    fn recover(&self, data: &Path) -> Result<(usize, u64), Failure> {
        let base = self.options.snapshot.join(BASE);
        self.tools.run(self.tools.command("pg_verifybackup").arg("--quiet").arg(&base), Reason::Corrupt)?;
        files::copy(&base, data).map_err(|error| files::failed("copied", &base, &error, Reason::RestoreFailed))?;
        let major = controldata::major(&self.tools.version()?).unwrap_or_default();
        let identifier = Some(self.manifest.system_identifier.as_str());
        let wanted = Wanted { major, initialise: false, system_identifier: identifier, owner: None };
        let Verdict::Use(control) = folder::judge(folder_reader::read(self.tools, data)?, &wanted)? else {
            return Err(Failure::new(Reason::Corrupt, "the base backup is empty"));
        };
        let mut parameters = self.options.parameters.clone();
        parameters.push(("fsync".into(), "off".into()));
        let settings = configuration::offline(&control, &parameters);
        let server = Server::start(self.tools, data, &self.options.run, &settings, None)?;
        let connection = server.connection(&self.manifest.superuser);
        let read = self.read_all(&connection);
        let checked = read.and_then(|found| {
            checks::run(self.tools, &connection, self.manifest, self.checks)?;
            Ok(found)
        });
        checked.map_err(|failure| server.explain(failure))
    }

    fn read_all(&self, connection: &Connection) -> Result<(usize, u64), Failure> {
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
            Some(lost) => Err(Failure::new(Reason::CountMismatch, format!("database {} is missing", lost.name))),
            None => Ok((tables, rows)),
        }
    }
}
