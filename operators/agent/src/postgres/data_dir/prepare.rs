//! `agent pg-prepare`: the init step of a database's pod.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use agent_protocol::{PgPrepare, PgPrepareResult, count};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::install;
use crate::lock::{self, LockPolicy};
use crate::postgres::client::tools::Tools;
use crate::postgres::data_dir::configure::configure;
use crate::postgres::data_dir::copy_marker;
use crate::postgres::data_dir::decision::{self, Decision, ExpectedData};
use crate::postgres::data_dir::free_space;
use crate::postgres::data_dir::hba::HbaAccess;
use crate::postgres::data_dir::initdb;
use crate::postgres::data_dir::inspect;
use crate::postgres::data_dir::passwords;
use crate::postgres::data_dir::proven;
use crate::postgres::data_dir::reserve;

pub(crate) fn prepare(options: &PgPrepare) -> Result<PgPrepareResult, CommandFailure> {
    if let Some(directory) = &options.install {
        install::install(directory)?;
    }
    if let Some(path) = &options.passwd {
        passwd(path)?;
    }
    let tools = Tools::find()?;
    let lock = lock::take(&lock::path(&options.data), *options.lock_timeout, LockPolicy::BestEffort)?;
    let data = &options.data;
    let failed = |error: io::Error| files::failed("prepared", data, &error, Reason::DataUnreadable);
    initdb::remove_leftovers(data).map_err(failed)?;
    reserve::release(data);
    let wanted = ExpectedData {
        major: options.major,
        may_create: options.initialise,
        system_identifier: options.system_identifier.as_deref(),
        owner: options.owner.as_deref(),
    };
    let (created, control) = match decision::decide(inspect::read(&tools, data)?, &wanted)? {
        Decision::Use(control) => (false, control),
        Decision::Create => (true, initdb::create(&tools, options, &wanted)?),
    };
    // If a file does not say, power was lost while it was replaced. Which clients it would have admitted is unknown, and during
    // an upgrade, rows that clients write to the old version are lost. So it is closed.
    let access =
        configure(data, &options.configuration, HbaAccess::requested(options), HbaAccess::Closed).map_err(failed)?;
    proven::forget_attempt(data).map_err(failed)?;
    // From here on this data is the newest; another run of the copy must not replace it.
    copy_marker::remove(data).map_err(failed)?;
    fs::set_permissions(data, Permissions::from_mode(0o700)).map_err(failed)?;
    let password_set = options.reset_password && !created && passwords::reset(&tools, options, &control, &lock)?;
    let (space, inodes) = (free_space::bytes(&tools, data), free_space::inodes(&tools, data));
    Ok(PgPrepareResult {
        system_identifier: Some(control.system_identifier),
        version: Some(tools.version()?),
        initialised: created,
        access: access.word().to_owned(),
        password_set,
        free_bytes: space.map(|space| count(space.free)),
        volume_bytes: space.map(|space| count(space.all)),
        inodes: inodes.map(|inodes| count(inodes.all)),
        free_inodes: inodes.map(|inodes| count(inodes.free)),
    })
}

/// Writes a passwd file that names the current user postgres: programs look up their user, and a user ID that the namespace
/// assigns has no name. A container mounts the file over /etc/passwd.
pub(crate) fn passwd(path: &Path) -> Result<(), CommandFailure> {
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
