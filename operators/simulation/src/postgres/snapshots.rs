//! The agent's commands for snapshots. A snapshot is there once it is complete, and stays until it is removed.

use std::path::Path;

use agent_protocol::{FailureReason, PgDumpResult, PgPrune, PgPruneResult, PgVerify, PgVerifyResult};
use serde_json::{Value, json};

use super::connection::{Unfinished, connect, version};
use super::model::{PostgresServers, SnapshotFiles};
use crate::actors::pods::program::ContainerRun;

/// The size of each snapshot, in bytes.
const BYTES: i64 = 1 << 20;

/// `agent pg-dump` and `agent pg-basebackup`.
pub(super) fn take(
    servers: &PostgresServers,
    run: &ContainerRun<'_>,
    to: &Path,
    is_physical: bool,
) -> Result<Value, Unfinished> {
    let (volume, name) = (volume(run)?, name(to));
    let present = servers.lock().snapshots.get(&volume).and_then(|all| all.get(&name).cloned());
    if let Some(files) = present {
        return Ok(json!(PgDumpResult { reused: true, ..result(&name, &files) }));
    }
    let source = connect(servers, run)?;
    let Some(data) = servers.data(&source) else {
        return Err(Unfinished::failed(FailureReason::ConnectionFailed, "the server has no data"));
    };
    let mut state = servers.lock();
    state.created += 1;
    let sha256 = format!("{:064x}", state.created);
    let files = SnapshotFiles { sha256, version: version(run).unwrap_or_default(), is_physical, data };
    state.snapshots.entry(volume).or_default().insert(name.clone(), files.clone());
    Ok(json!(result(&name, &files)))
}

/// `agent pg-verify`.
pub(super) fn verify(servers: &PostgresServers, run: &ContainerRun<'_>, of: &PgVerify) -> Result<Value, Unfinished> {
    let (volume, name) = (volume(run)?, name(&of.snapshot));
    let found = servers.lock().snapshots.get(&volume).and_then(|all| all.get(&name).cloned());
    let Some(files) = found else {
        return Err(Unfinished::failed(FailureReason::SnapshotMissing, "there is no such snapshot"));
    };
    if of.sha256.as_ref().is_some_and(|sha256| *sha256 != files.sha256) {
        return Err(Unfinished::failed(FailureReason::ChecksumMismatch, "it is not what was written"));
    }
    Ok(json!(PgVerifyResult {
        mode: "Restore".to_owned(),
        kind: kind(&files).to_owned(),
        bytes: BYTES,
        sha256: files.sha256,
        engine_version: files.version,
        system_identifier: Some(files.data.system_identifier),
        tables: Some(1),
        rows: i64::try_from(files.data.rows).ok(),
        ..PgVerifyResult::default()
    }))
}

/// `agent pg-prune`.
pub(super) fn prune(servers: &PostgresServers, run: &ContainerRun<'_>, of: &PgPrune) -> Result<Value, Unfinished> {
    let volume = volume(run)?;
    let mut state = servers.lock();
    let all = state.snapshots.entry(volume).or_default();
    let removed = of.names.iter().filter(|name| all.remove(*name).is_some()).count();
    let absent = of.names.len() - removed;
    let count = agent_protocol::count;
    Ok(json!(PgPruneResult { removed: count(removed), absent: count(absent), leftovers: 0 }))
}

fn result(name: &str, files: &SnapshotFiles) -> PgDumpResult {
    let is_logical = !files.is_physical;
    PgDumpResult {
        name: name.to_owned(),
        kind: kind(files).to_owned(),
        bytes: Some(BYTES),
        files: 3,
        sha256: Some(files.sha256.clone()),
        engine_version: Some(files.version.clone()),
        system_identifier: Some(files.data.system_identifier.clone()),
        databases: 1,
        database_names: Some(vec!["app".to_owned()]),
        tables: Some(i64::from(is_logical)),
        rows: if is_logical { i64::try_from(files.data.rows).ok() } else { Some(0) },
        completed_at: Some(runtime::clock::now().as_second()),
        ..PgDumpResult::default()
    }
}

fn kind(files: &SnapshotFiles) -> &'static str {
    if files.is_physical { "physical" } else { "logical" }
}

/// The uid of the PVC of the snapshots.
fn volume(run: &ContainerRun<'_>) -> Result<String, Unfinished> {
    run.claim("snapshots").ok_or_else(|| Unfinished::Unmodelled("a command for snapshots without a PVC".to_owned()))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
