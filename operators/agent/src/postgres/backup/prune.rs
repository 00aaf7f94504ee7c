//! `agent pg-prune`: removes snapshots, and files of unfinished ones.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use agent_protocol::{PgPrune, PgPruneResult, count, is_snapshot_name};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::lock::{self, LockPolicy};
use crate::postgres::backup::snapshot::{lock_of, with_suffix};

pub(crate) fn prune(options: &PgPrune) -> Result<PgPruneResult, CommandFailure> {
    if let Some(wrong) = options.names.iter().find(|name| !is_snapshot_name(name)) {
        return Err(CommandFailure::new(Reason::BadInput, format!("{wrong:?} is not a snapshot name")));
    }
    let directory = &options.directory;
    let failed = |error: io::Error| files::failed("pruned", directory, &error, Reason::ToolFailed);
    let (mut removed, mut absent) = (0, 0);
    for name in &options.names {
        let target = directory.join(name);
        // The operator has stopped any Job that writes it.
        let exists = target.exists() || with_suffix(&target, ".partial").exists();
        if exists {
            let _lock = lock::take(&lock_of(&target), Duration::from_secs(20), LockPolicy::BestEffort)?;
            remove(&target).map_err(failed)?;
            removed += 1;
        } else {
            absent += 1;
        }
        files::remove(&lock_of(&target)).map_err(failed)?;
    }
    let mut leftovers = 0;
    if let Some(age) = options.partial_older_than.map(Duration::from_secs) {
        leftovers = remove_leftovers(directory, age).map_err(failed)?;
    }
    if directory.exists() {
        files::sync_directory(directory).map_err(failed)?;
    }
    Ok(PgPruneResult { removed, absent, leftovers: count(leftovers) })
}

/// Renames the snapshot before it removes it: no process must find half of a snapshot under its name.
fn remove(target: &Path) -> io::Result<()> {
    let removed = with_suffix(target, ".removed");
    files::remove(&removed)?;
    if target.exists() {
        fs::rename(target, &removed)?;
    }
    files::remove(&removed)?;
    files::remove(&with_suffix(target, ".partial"))
}

fn remove_leftovers(directory: &Path, age: Duration) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let path = directory.join(&name);
        let (of, due) = match (name.strip_suffix(".partial"), name.strip_suffix(".removed")) {
            (Some(of), _) => (of, files::last_change(&path).is_ok_and(|last| is_past(last, age))),
            (None, Some(of)) => (of, true),
            (None, None) => continue,
        };
        let target = directory.join(of);
        if due && is_snapshot_name(of) && lock::take(&lock_of(&target), Duration::ZERO, LockPolicy::BestEffort).is_ok()
        {
            files::remove(&path)?;
            count += 1;
            if !target.exists() {
                files::remove(&lock_of(&target))?;
            }
        }
    }
    Ok(count)
}

fn is_past(last: SystemTime, age: Duration) -> bool {
    SystemTime::now().duration_since(last).is_ok_and(|since| since >= age)
}
