//! `agent pg-prepare`: the init step of a database's pod.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::controldata::ControlData;
use super::folder::{self, Verdict, Wanted};
use super::hba::Access;
use super::lock::{self, Without};
use super::tools::{self, PASSWORD, Tools};
use super::{configuration, files, folder_reader, hba};
use crate::failure::{Failure, Reason};
use crate::install;

#[derive(Debug)]
pub(crate) struct Prepare {
    pub(crate) data: PathBuf,
    pub(crate) major: u32,
    pub(crate) initialise: bool,
    pub(crate) system_identifier: Option<String>,
    pub(crate) owner: Option<String>,
    pub(crate) configuration: PathBuf,
    /// `None`: as it was before, or else open.
    pub(crate) access: Option<Access>,
    pub(crate) passwd: Option<PathBuf>,
    pub(crate) install: Option<PathBuf>,
    pub(crate) lock_timeout: Duration,
}

pub(crate) fn prepare(options: &Prepare) -> Result<Value, Failure> {
    if let Some(directory) = &options.install {
        install::install(directory)?;
    }
    if let Some(path) = &options.passwd {
        passwd(path)?;
    }
    let tools = Tools::find()?;
    let _lock = lock::take(&lock::beside(&options.data), options.lock_timeout, Without::GoOn)?;
    let data = &options.data;
    let failed = |error: io::Error| files::failed("prepared", data, &error, Reason::DataUnreadable);
    remove_leftovers(data).map_err(failed)?;
    let wanted = Wanted {
        major: options.major,
        initialise: options.initialise,
        system_identifier: options.system_identifier.as_deref(),
        owner: options.owner.as_deref(),
    };
    let (made, control) = match folder::judge(folder_reader::read(&tools, data)?, &wanted)? {
        Verdict::Use(control) => (false, control),
        Verdict::Initialise => (true, initialise(&tools, options, &wanted)?),
    };
    configure(data, options).map_err(failed)?;
    fs::set_permissions(data, Permissions::from_mode(0o700)).map_err(failed)?;
    Ok(json!({
        "systemIdentifier": control.system_identifier,
        "version": tools.version()?,
        "initialised": made,
    }))
}

/// Programs ask who they are, and a user that the namespace dictates has no name. Whoever mounts the file over
/// /etc/passwd is called postgres.
pub(crate) fn passwd(path: &Path) -> Result<(), Failure> {
    let write = || {
        let own = fs::metadata("/proc/self")?;
        let (user, group) = (own.uid(), own.gid());
        let root = if user == 0 { "" } else { "root:x:0:0:root:/root:/sbin/nologin\n" };
        let text = format!("{root}postgres:x:{user}:{group}:PostgreSQL:/var/lib/postgresql:/sbin/nologin\n");
        files::write(path, &text)?;
        fs::set_permissions(path, Permissions::from_mode(0o644))
    };
    write().map_err(|error| files::failed("written", path, &error, Reason::CannotInstall))
}

/// A folder that initdb works in is named after the data's.
fn unfinished(data: &Path) -> PathBuf {
    let mut name = OsString::from(data.file_name().unwrap_or_default());
    name.push(".initdb");
    data.with_file_name(name)
}

fn remove_leftovers(data: &Path) -> io::Result<()> {
    if let Some(above) = data.parent() {
        fs::create_dir_all(above)?;
    }
    files::remove(&unfinished(data))
}

/// Makes the data beside its place and moves it there in one step: killed at any point, it leaves nothing or all.
fn initialise(tools: &Tools, options: &Prepare, wanted: &Wanted<'_>) -> Result<ControlData, Failure> {
    let data = &options.data;
    let new = unfinished(data);
    let outcome = make(tools, options, &new).and_then(|()| {
        let folder = folder_reader::read(tools, &new)?;
        match folder::judge(folder, wanted)? {
            Verdict::Use(control) => Ok(control),
            Verdict::Initialise => Err(Failure::new(Reason::CannotInitialise, "initdb made nothing")),
        }
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
    let password = superusers_password()?;
    let mut command = tools.command("initdb");
    command.arg("-D").arg(new).arg(format!("--username={}", tools::superuser()));
    command.args(["--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8"]);
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
    let written = configure(new, options).and_then(|()| match &options.owner {
        Some(owner) => files::write(&new.join(folder_reader::OWNER), &format!("{owner}\n")),
        None => Ok(()),
    });
    // initdb has made its own files last.
    let lasting = written.and_then(|()| File::open(new)?.sync_all());
    lasting.map_err(|error| files::failed("written", new, &error, Reason::CannotInitialise))
}

/// initdb reads one line, and would take an empty one for no password.
fn superusers_password() -> Result<String, Failure> {
    let password = std::env::var(PASSWORD).unwrap_or_default();
    if password.is_empty() || password.contains(['\n', '\r']) {
        let sentence = format!("{PASSWORD} must be the superuser's password: not empty, and one line");
        return Err(Failure::new(Reason::BadPassword, sentence));
    }
    Ok(password)
}

fn configure(data: &Path, options: &Prepare) -> io::Result<()> {
    let conf = data.join("postgresql.conf");
    let text = configuration::including(&fs::read_to_string(&conf)?, &options.configuration.to_string_lossy());
    files::write(&conf, &text)?;
    let rules = data.join("pg_hba.conf");
    let before = || fs::read_to_string(&rules).ok().and_then(|text| Access::of(&text));
    let access = options.access.or_else(before).unwrap_or(Access::Open);
    files::write(&rules, &hba::render(access, &tools::superuser()))
}
