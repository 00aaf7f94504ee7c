//! `agent pg-prune`: removes snapshots, and what unfinished ones left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::files;
use super::lock::{self, Without};
use super::snapshot::{lock_of, plain_name, with_suffix};
use crate::failure::{Failure, Reason};

#[derive(Debug)]
pub(crate) struct Prune {
    pub(crate) directory: PathBuf,
    pub(crate) names: Vec<String>,
    /// An unfinished snapshot in which nothing was written for this long is nobody's.
    pub(crate) partial_older_than: Option<Duration>,
}

pub(crate) fn prune(options: &Prune) -> Result<Value, Failure> {
    if let Some(wrong) = options.names.iter().find(|name| !plain_name(name)) {
        return Err(Failure::new(Reason::BadInput, format!("{wrong:?} is no snapshot's name")));
    }
    let directory = &options.directory;
    let failed = |error: io::Error| files::failed("pruned", directory, &error, Reason::ToolFailed);
    let (mut removed, mut absent) = (0, 0);
    for name in &options.names {
        let target = directory.join(name);
        // Whoever is writing it is stopped by the operator before.
        let there = target.exists() || with_suffix(&target, ".partial").exists();
        if there {
            let _lock = lock::take(&lock_of(&target), Duration::from_secs(20), Without::GoOn)?;
            remove(&target).map_err(failed)?;
            removed += 1;
        } else {
            absent += 1;
        }
        files::remove(&lock_of(&target)).map_err(failed)?;
    }
    let mut leftovers = 0;
    if let Some(age) = options.partial_older_than {
        leftovers = remove_leftovers(directory, age).map_err(failed)?;
    }
    if directory.exists() {
        files::sync_folder(directory).map_err(failed)?;
    }
    Ok(json!({ "removed": removed, "absent": absent, "leftovers": leftovers }))
}

/// Moved away first: half of a snapshot must not be found under its name.
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
        if due && plain_name(of) && lock::take(&lock_of(&target), Duration::ZERO, Without::GoOn).is_ok() {
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
