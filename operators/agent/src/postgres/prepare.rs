//! `agent pg-prepare`: the init step of a database's pod.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::configuration::Include;
use super::folder::{self, Verdict, Wanted};
use super::hba::Access;
use super::lock::{self, Without};
use super::tools::{self, Tools};
use super::{configuration, files, folder_reader, hba, making, passwords, proven, read_only, reserve, room, upgraded};
use crate::failure::{Failure, Reason};
use crate::install;

#[derive(Debug)]
pub(crate) struct Prepare {
    pub(crate) data: PathBuf,
    pub(crate) major: u32,
    pub(crate) initialise: bool,
    pub(crate) system_identifier: Option<String>,
    pub(crate) owner: Option<String>,
    /// A physical snapshot that data is made of, instead of by initdb, and what its manifest must be.
    pub(crate) from: Option<PathBuf>,
    pub(crate) sha256: Option<String>,
    pub(crate) run: PathBuf,
    pub(crate) configuration: PathBuf,
    /// `None`: as pg_hba.conf has it by now.
    pub(crate) access: Option<Access>,
    /// The superuser's password becomes that of the environment.
    pub(crate) reset_password: bool,
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
    let lock = lock::take(&lock::of(&options.data), options.lock_timeout, Without::GoOn)?;
    let data = &options.data;
    let failed = |error: io::Error| files::failed("prepared", data, &error, Reason::DataUnreadable);
    making::remove_leftovers(data).map_err(failed)?;
    reserve::make_room(data);
    let wanted = Wanted {
        major: options.major,
        initialise: options.initialise,
        system_identifier: options.system_identifier.as_deref(),
        owner: options.owner.as_deref(),
    };
    let (made, control) = match folder::judge(folder_reader::read(&tools, data)?, &wanted)? {
        Verdict::Use(control) => (false, control),
        Verdict::Initialise => (true, making::initialise(&tools, options, &wanted)?),
    };
    // A file that says nothing was being replaced when power was lost: whom it was to let in is not known, and rows that
    // are written to a version that is being left are lost.
    let access = configure(data, &options.configuration, options.access, Access::Closed).map_err(failed)?;
    proven::begin_anew(data).map_err(failed)?;
    // From here on this data is the newest there is; a copy that is made again must not take its place.
    upgraded::in_use(data).map_err(failed)?;
    fs::set_permissions(data, Permissions::from_mode(0o700)).map_err(failed)?;
    let password_set = options.reset_password && !made && passwords::reset(&tools, options, &control, &lock)?;
    let (space, inodes) = (room::bytes(&tools, data), room::inodes(&tools, data));
    Ok(json!({
        "systemIdentifier": control.system_identifier,
        "version": tools.version()?,
        "initialised": made,
        "access": access.word(),
        "passwordSet": password_set,
        "freeBytes": space.map(|space| space.free),
        "volumeBytes": space.map(|space| space.all),
        "inodes": inodes.map(|inodes| inodes.all),
        "freeInodes": inodes.map(|inodes| inodes.free),
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

/// Writes the files that are the operator's, and tells who is let in.
pub(crate) fn configure(
    data: &Path,
    configuration: &Path,
    access: Option<Access>,
    before: Access,
) -> io::Result<Access> {
    let conf = data.join("postgresql.conf");
    let text = configuration::including(&fs::read_to_string(&conf)?, &Include::Folder(configuration));
    files::write(&conf, &text)?;
    let superuser = tools::superuser();
    for access in [Access::Open, Access::Closed] {
        // The operator copies one of these over pg_hba.conf while the server runs.
        files::write(&data.join(access.file()), &hba::render(access, &superuser))?;
    }
    let rules = data.join("pg_hba.conf");
    let there = fs::read_to_string(&rules).unwrap_or_default();
    let access = access.or_else(|| Access::of(&there)).unwrap_or(before);
    no_overrides(data, access)?;
    files::write(&rules, &hba::renewed(&there, access, &superuser))?;
    Ok(access)
}

/// What was changed by ALTER SYSTEM while a server ran was the operator's, and is in its mounted files by now. These
/// would lose against what is left in postgresql.auto.conf, which a server reads last. Only what keeps superusers from writing stays
/// for as long as all others are shut out.
pub(crate) fn no_overrides(data: &Path, access: Access) -> io::Result<()> {
    let path = data.join("postgresql.auto.conf");
    let shut = access == Access::Closed && read_only::is_in(&fs::read_to_string(&path).unwrap_or_default());
    let kept = if shut { read_only::line() } else { String::new() };
    let text = "# multi-operator empties this file before each start: settings are the operator's files' to make\n";
    files::write(&path, &format!("{text}{kept}"))
}
