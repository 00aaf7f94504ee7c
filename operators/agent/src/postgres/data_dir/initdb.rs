//! Creates a data directory: by initdb, or from a physical snapshot.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use agent_protocol::PgPrepare;

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::postgres::backup::base_backup::BASE;
use crate::postgres::backup::manifest::SnapshotMethod;
use crate::postgres::backup::snapshot;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::quote::identifier;
use crate::postgres::client::scram;
use crate::postgres::client::session::{Session, UNLOGGED};
use crate::postgres::client::tools::{self, Tools};
use crate::postgres::client::version_number;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::configure::{clear_auto_conf, configure};
use crate::postgres::data_dir::controldata::ControlData;
use crate::postgres::data_dir::decision::{self, Decision, ExpectedData};
use crate::postgres::data_dir::hba::HbaAccess;
use crate::postgres::data_dir::inspect;
use crate::postgres::data_dir::passwords;
use crate::postgres::data_dir::server::PrivateServer;

/// The directory in which the agent creates the data, named after the data directory.
fn staging_dir(data: &Path) -> PathBuf {
    let mut name = OsString::from(data.file_name().unwrap_or_default());
    name.push(".initdb");
    data.with_file_name(name)
}

pub(crate) fn remove_leftovers(data: &Path) -> io::Result<()> {
    if let Some(above) = data.parent() {
        fs::create_dir_all(above)?;
    }
    files::remove(&staging_dir(data))
}

/// Creates the data in a staging directory and renames that in one step: if the agent is killed, there is no data, or all of it.
pub(crate) fn create(
    tools: &Tools,
    options: &PgPrepare,
    wanted: &ExpectedData<'_>,
) -> Result<ControlData, CommandFailure> {
    let data = &options.data;
    let new = staging_dir(data);
    let outcome =
        build(tools, options, &new).and_then(|()| match decision::decide(inspect::read(tools, &new)?, wanted)? {
            Decision::Use(control) => Ok(control),
            Decision::Create => Err(CommandFailure::new(Reason::CannotInitialise, "initdb created nothing")),
        });
    let failed = |error: io::Error| files::failed("renamed", &new, &error, Reason::CannotInitialise);
    match outcome {
        Ok(control) => {
            fs::rename(&new, data).map_err(failed)?;
            files::sync_directory(data.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
            Ok(control)
        }
        Err(failure) => {
            // It may take all the space on the volume.
            let _ = files::remove(&new);
            Err(failure)
        }
    }
}

fn build(tools: &Tools, options: &PgPrepare, new: &Path) -> Result<(), CommandFailure> {
    let password = passwords::superusers_password()?;
    match &options.from {
        None => initdb(tools, new, &password, &[])?,
        Some(from) => restore_base_backup(tools, options, from, new, &password)?,
    }
    // Otherwise the rules of the snapshot's server would apply here.
    let rules = files::remove(&new.join("pg_hba.conf"));
    let written = rules
        .and_then(|()| configure(new, &options.configuration, HbaAccess::requested(options), HbaAccess::Open))
        .and_then(|_| match &options.owner {
            Some(owner) => files::write(&new.join(inspect::OWNER), &format!("{owner}\n")),
            None => files::remove(&new.join(inspect::OWNER)),
        });
    // The other files have been synced.
    let synced = written.and_then(|()| File::open(new)?.sync_all());
    synced.map_err(|error| files::failed("written", new, &error, Reason::CannotInitialise))
}

/// Creates a new cluster by initdb.
pub(crate) fn initdb(tools: &Tools, new: &Path, password: &str, more: &[&str]) -> Result<(), CommandFailure> {
    let mut command = tools.command("initdb");
    command.arg("-D").arg(new).arg(format!("--username={}", tools::superuser()));
    command.args(["--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8"]).args(more);
    command.args(["--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--pwfile=/dev/stdin"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Before 14, initdb reads only 99 bytes of the line, so the beginning of a verifier would become the password. Such an initdb
    // gets the password, and hashes it itself.
    let reads_verifiers = tools.major() >= 14;
    let mut process = command.spawn().map_err(|error| tools.not_started("initdb", &error))?;
    if let Some(mut input) = process.stdin.take() {
        // The server stores a verifier as it is. If initdb has exited, its failure is reported below.
        let _ = writeln!(input, "{}", if reads_verifiers { scram::verifier(password) } else { password.to_owned() });
    }
    let output = process.wait_with_output().map_err(|error| tools.not_started("initdb", &error))?;
    if !output.status.success() {
        return Err(tools.failure("initdb", &String::from_utf8_lossy(&output.stderr), Reason::CannotInitialise));
    }
    Ok(())
}

/// Copies a base backup, and lets a private server recover it. The passwords in it are those of the source database; the agent
/// sets the superuser's here, and pg-init that of the application.
fn restore_base_backup(
    tools: &Tools,
    options: &PgPrepare,
    from: &Path,
    new: &Path,
    password: &str,
) -> Result<(), CommandFailure> {
    let (manifest, _) = snapshot::read(from, options.sha256.as_deref())?;
    if manifest.kind != SnapshotMethod::Physical {
        let message = "a logical snapshot contains no data directory; agent pg-restore loads it into a server";
        return Err(CommandFailure::new(Reason::BadInput, message));
    }
    if version_number::major(&manifest.engine_version) != Some(options.major) {
        let message = format!(
            "the snapshot is of PostgreSQL {}, this is {}: only logical snapshots go from one to another",
            manifest.engine_version, options.major
        );
        return Err(CommandFailure::new(Reason::WrongMajor, message));
    }
    snapshot::check_files(from, &manifest)?;
    let base = from.join(BASE);
    files::copy(&base, new).map_err(|error| files::failed("copied", &base, &error, Reason::CannotInitialise))?;
    clear_auto_conf(new, HbaAccess::Open)
        .map_err(|error| files::failed("written", new, &error, Reason::CannotInitialise))?;
    let wanted = ExpectedData {
        major: options.major,
        may_create: false,
        system_identifier: Some(&manifest.system_identifier),
        owner: None,
    };
    let Decision::Use(control) = decision::decide(inspect::read(tools, new)?, &wanted)? else {
        return Err(CommandFailure::new(Reason::Corrupt, "the base backup is empty"));
    };
    let server =
        PrivateServer::start(tools, new, &options.run, &configuration::private_server_conf(&control, &[]), None)?;
    let mut session = Session::open(tools, &server.connection(&manifest.superuser), MAINTENANCE)?;
    session.query(UNLOGGED)?;
    let superuser = tools::superuser();
    passwords::set(&mut session, &superuser, password)?;
    if superuser != manifest.superuser {
        session.query(&format!("ALTER ROLE {} NOLOGIN", identifier(&manifest.superuser)))?;
    }
    drop(session);
    server.stop()?;
    sync(tools, new)
}

/// Syncs all of a data directory to disk.
pub(crate) fn sync(tools: &Tools, data: &Path) -> Result<(), CommandFailure> {
    let mut sync = tools.command("initdb");
    tools.run(sync.arg("--sync-only").arg("-D").arg(data).stdout(Stdio::null()), Reason::CannotInitialise).map(|_| ())
}
