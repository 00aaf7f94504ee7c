//! `agent pg-basebackup`: a physical snapshot.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::databases;
use super::gaps;
use super::inventory;
use super::manifest::{Database, Kind, Manifest};
use super::session::Session;
use super::snapshot::Slot;
use super::standing::MAINTENANCE;
use super::timed::timed;
use super::tools::{Connection, Tools};
use crate::failure::{Failure, Reason};

/// The data folder in a snapshot's. Its files are as they are: a tar of them could not be looked through in place.
pub(crate) const BASE: &str = "base";

#[derive(Debug)]
pub(crate) struct BaseBackup {
    pub(crate) to: PathBuf,
    pub(crate) connect_timeout: Duration,
}

pub(crate) fn base_backup(options: &BaseBackup) -> Result<Value, Failure> {
    let since = Instant::now();
    let slot = Slot::take(&options.to)?;
    if let Some(result) = slot.finished() {
        return Ok(timed(result, since));
    }
    let outcome = make(options, &slot).map_err(|failure| slot.give_up(failure))?;
    Ok(timed(outcome, since))
}

fn make(options: &BaseBackup, slot: &Slot) -> Result<Value, Failure> {
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, options.connect_timeout)?;
    let (version, _, identifier) = inventory::server(&mut session)?;
    let places = databases::all(&mut session)?;
    let mut manifest = Manifest::new(Kind::Physical, version, identifier, connection.user.clone());
    manifest.not_covered = gaps::slots(&mut session)?;
    drop(session);
    for place in places {
        // One that takes no connections is in the backup all the same.
        manifest.databases.push(if place.open {
            let mut session = Session::open(&tools, &connection, &place.name)?;
            manifest.not_covered.extend(gaps::not_copied(&mut session, &place.name)?);
            inventory::outline(&mut session, &place.name)?
        } else {
            Database { name: place.name, ..Database::default() }
        });
    }
    let base = slot.folder()?.join(BASE);
    let mut command = connection.client(&tools, "pg_basebackup");
    command.arg("--pgdata").arg(&base).args(["--format=plain", "--wal-method=stream", "--checkpoint=fast"]);
    command.args(["--manifest-checksums=SHA256", "--no-sync"]);
    tools.run(&mut command, Reason::ToolFailed)?;
    tools.run(tools.command("pg_verifybackup").arg("--quiet").arg(&base), Reason::Corrupt)?;
    slot.finish(manifest)
}
