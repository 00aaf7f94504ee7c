//! `agent pg-basebackup`: a physical snapshot.

use std::time::Instant;

use agent_protocol::{PgBasebackup, PgDumpResult};

use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::gaps;
use crate::postgres::backup::inventory;
use crate::postgres::backup::manifest::{DatabaseManifest, SnapshotManifest, SnapshotMethod};
use crate::postgres::backup::snapshot::StagedSnapshot;
use crate::postgres::client::databases;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::timed::seconds;

/// The data directory, in the directory of a snapshot. Its files are not in a tar, so that they can be verified in place.
pub(crate) const BASE: &str = "base";

pub(crate) fn base_backup(options: &PgBasebackup) -> Result<PgDumpResult, CommandFailure> {
    let since = Instant::now();
    let staged = StagedSnapshot::reserve(&options.to)?;
    if let Some(result) = staged.finished() {
        return Ok(PgDumpResult { seconds: seconds(since), ..result });
    }
    let result = take(options, &staged).map_err(|failure| staged.abort(failure))?;
    Ok(PgDumpResult { seconds: seconds(since), ..result })
}

fn take(options: &PgBasebackup, staged: &StagedSnapshot) -> Result<PgDumpResult, CommandFailure> {
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
    let (version, _, identifier) = inventory::server(&mut session)?;
    let listed = databases::all(&mut session)?;
    let mut manifest = SnapshotManifest::new(SnapshotMethod::Physical, version, identifier, connection.user.clone());
    manifest.not_covered = gaps::slots(&mut session)?;
    drop(session);
    for database in listed {
        // The backup also contains databases that accept no connections.
        manifest.databases.push(if database.open {
            let mut session = Session::open(&tools, &connection, &database.name)?;
            manifest.not_covered.extend(gaps::not_copied(&mut session, &database.name)?);
            inventory::outline(&mut session, &database.name)?
        } else {
            DatabaseManifest { name: database.name, ..DatabaseManifest::default() }
        });
    }
    let base = staged.directory()?.join(BASE);
    let mut command = connection.client(&tools, "pg_basebackup");
    command.arg("--pgdata").arg(&base).args(["--format=plain", "--wal-method=stream", "--checkpoint=fast"]);
    command.args(["--manifest-checksums=SHA256", "--no-sync"]);
    tools.run(&mut command, Reason::ToolFailed)?;
    tools.run(tools.command("pg_verifybackup").arg("--quiet").arg(&base), Reason::Corrupt)?;
    staged.commit(manifest)
}
