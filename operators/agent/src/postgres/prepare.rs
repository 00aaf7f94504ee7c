//! `agent pg-prepare`: the init step of a database's pod.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::{Value, json};

use super::configure::configure;
use super::folder::{self, Verdict, Wanted};
use super::hba::Access;
use super::lock::{self, Without};
use super::tools::Tools;
use super::{files, folder_reader, making, passwords, proven, reserve, room, upgraded};
use crate::failure::{Failure, Reason};
use crate::install;

pub(crate) use super::prepare_options::Prepare;

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
