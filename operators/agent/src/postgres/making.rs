//! Makes a data folder: by initdb, or of a physical snapshot.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::basebackup::BASE;
use super::configure::{configure, no_overrides};
use super::controldata::{self, ControlData};
use super::folder::{self, Verdict, Wanted};
use super::hba::Access;
use super::manifest::Kind;
use super::prepare_options::Prepare;
use super::quote::identifier;
use super::server::Server;
use super::session::{Session, UNLOGGED};
use super::standing::MAINTENANCE;
use super::tools::{self, Tools};
use super::{configuration, files, folder_reader, passwords, snapshot};
use crate::failure::{Failure, Reason};

/// The folder that is worked in is named after the data's.
fn unfinished(data: &Path) -> PathBuf {
    let mut name = OsString::from(data.file_name().unwrap_or_default());
    name.push(".initdb");
    data.with_file_name(name)
}

pub(crate) fn remove_leftovers(data: &Path) -> io::Result<()> {
    if let Some(above) = data.parent() {
        fs::create_dir_all(above)?;
    }
    files::remove(&unfinished(data))
}

/// Makes the data beside its place and moves it there in one step: killed at any point, it leaves nothing or all.
pub(crate) fn initialise(tools: &Tools, options: &Prepare, wanted: &Wanted<'_>) -> Result<ControlData, Failure> {
    let data = &options.data;
    let new = unfinished(data);
    let outcome =
        make(tools, options, &new).and_then(|()| match folder::judge(folder_reader::read(tools, &new)?, wanted)? {
            Verdict::Use(control) => Ok(control),
            Verdict::Initialise => Err(Failure::new(Reason::CannotInitialise, "initdb made nothing")),
        });
    let failed = |error: io::Error| files::failed("moved into its place", &new, &error, Reason::CannotInitialise);
    match outcome {
        Ok(control) => {
            fs::rename(&new, data).map_err(failed)?;
            files::sync_folder(data.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
            Ok(control)
        }
        Err(failure) => {
            // The room that it took may be all there is.
            let _ = files::remove(&new);
            Err(failure)
        }
    }
}

fn make(tools: &Tools, options: &Prepare, new: &Path) -> Result<(), Failure> {
    let password = passwords::superusers_password()?;
    match &options.from {
        None => initdb(tools, new, &password, &[])?,
        Some(from) => recover(tools, options, from, new, &password)?,
    }
    // Whoever was let in where a snapshot was made is let in here.
    let rules = files::remove(&new.join("pg_hba.conf"));
    let written =
        rules.and_then(|()| configure(new, &options.configuration, options.access, Access::Open)).and_then(|_| {
            match &options.owner {
                Some(owner) => files::write(&new.join(folder_reader::OWNER), &format!("{owner}\n")),
                None => files::remove(&new.join(folder_reader::OWNER)),
            }
        });
    // The other files were made to last before.
    let lasting = written.and_then(|()| File::open(new)?.sync_all());
    lasting.map_err(|error| files::failed("written", new, &error, Reason::CannotInitialise))
}

/// A new cluster, as all of ours are.
pub(crate) fn initdb(tools: &Tools, new: &Path, password: &str, more: &[&str]) -> Result<(), Failure> {
    let mut command = tools.command("initdb");
    command.arg("-D").arg(new).arg(format!("--username={}", tools::superuser()));
    command.args(["--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8"]).args(more);
    command.args(["--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--pwfile=/dev/stdin"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().map_err(|error| tools.not_started("initdb", &error))?;
    if let Some(mut input) = process.stdin.take() {
        // An initdb that has ended says below why.
        let _ = writeln!(input, "{password}");
    }
    let output = process.wait_with_output().map_err(|error| tools.not_started("initdb", &error))?;
    if !output.status.success() {
        return Err(tools.failure("initdb", &String::from_utf8_lossy(&output.stderr), Reason::CannotInitialise));
    }
    Ok(())
}

/// Copies a base backup, and lets a server recover it that nobody else reaches. The passwords in it are those of the
/// database that it was made of; the superuser gets this one's, and pg-init sees to the application's.
fn recover(tools: &Tools, options: &Prepare, from: &Path, new: &Path, password: &str) -> Result<(), Failure> {
    let (manifest, _) = snapshot::read(from, options.sha256.as_deref())?;
    if manifest.kind != Kind::Physical {
        let sentence = "a logical snapshot is no data folder; agent pg-restore puts it into a server";
        return Err(Failure::new(Reason::BadInput, sentence));
    }
    if controldata::major(&manifest.engine_version) != Some(options.major) {
        let sentence = format!(
            "the snapshot is of PostgreSQL {}, this is {}: only logical snapshots go from one to another",
            manifest.engine_version, options.major
        );
        return Err(Failure::new(Reason::WrongMajor, sentence));
    }
    snapshot::check_files(from, &manifest)?;
    let base = from.join(BASE);
    files::copy(&base, new).map_err(|error| files::failed("copied", &base, &error, Reason::CannotInitialise))?;
    no_overrides(new, Access::Open).map_err(|error| files::failed("written", new, &error, Reason::CannotInitialise))?;
    let wanted = Wanted {
        major: options.major,
        initialise: false,
        system_identifier: Some(&manifest.system_identifier),
        owner: None,
    };
    let Verdict::Use(control) = folder::judge(folder_reader::read(tools, new)?, &wanted)? else {
        return Err(Failure::new(Reason::Corrupt, "the base backup is empty"));
    };
    let server = Server::start(tools, new, &options.run, &configuration::offline(&control, &[]), None)?;
    let mut session = Session::open(tools, &server.connection(&manifest.superuser), MAINTENANCE)?;
    session.ask(UNLOGGED)?;
    let superuser = tools::superuser();
    passwords::set(&mut session, &superuser, password)?;
    if superuser != manifest.superuser {
        session.ask(&format!("ALTER ROLE {} NOLOGIN", identifier(&manifest.superuser)))?;
    }
    drop(session);
    server.stop()?;
    sync(tools, new)
}

/// Makes all of a data folder last.
pub(crate) fn sync(tools: &Tools, data: &Path) -> Result<(), Failure> {
    let mut sync = tools.command("initdb");
    tools.run(sync.arg("--sync-only").arg("-D").arg(data).stdout(Stdio::null()), Reason::CannotInitialise).map(|_| ())
}
