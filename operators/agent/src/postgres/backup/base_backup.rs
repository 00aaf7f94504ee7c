//! `agent pg-basebackup`: a physical snapshot.

use std::time::Instant;

use agent_protocol::{PgBasebackup, PgDumpResult};

use crate::failure::{Failure, Reason};
use crate::postgres::backup::gaps;
use crate::postgres::backup::inventory;
use crate::postgres::backup::manifest::{Database, Kind, Manifest};
use crate::postgres::backup::snapshot::StagedSnapshot;
use crate::postgres::client::databases;
use crate::postgres::client::default_databases::MAINTENANCE;
use crate::postgres::client::session::Session;
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::timed::seconds;

/// The data directory in a snapshot's. Its files are as they are: a tar of them could not be looked through in place.
pub(crate) const BASE: &str = "base";

pub(crate) fn base_backup(options: &PgBasebackup) -> Result<PgDumpResult, Failure> {
    let since = Instant::now();
    let staged = StagedSnapshot::reserve(&options.to)?;
    if let Some(result) = staged.finished() {
        return Ok(PgDumpResult { seconds: seconds(since), ..result });
    }
    let result = take(options, &staged).map_err(|failure| staged.abort(failure))?;
    Ok(PgDumpResult { seconds: seconds(since), ..result })
}

fn take(options: &PgBasebackup, staged: &StagedSnapshot) -> Result<PgDumpResult, Failure> {
    let tools = Tools::find()?;
    let connection = Connection::from_environment()?.of_this_version(&tools);
    let mut session = Session::open_within(&tools, &connection, MAINTENANCE, *options.connect_timeout)?;
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
    let base = staged.folder()?.join(BASE);
    let mut command = connection.client(&tools, "pg_basebackup");
    command.arg("--pgdata").arg(&base).args(["--format=plain", "--wal-method=stream", "--checkpoint=fast"]);
    command.args(["--manifest-checksums=SHA256", "--no-sync"]);
    tools.run(&mut command, Reason::ToolFailed)?;
    tools.run(tools.command("pg_verifybackup").arg("--quiet").arg(&base), Reason::Corrupt)?;
    staged.commit(manifest)
}
