//! Flags that several verbs about PostgreSQL have, and what they may say.

use std::path::PathBuf;

use super::flags::Flags;
use super::stop::{Stop, wrong};
use crate::postgres::configuration;
use crate::postgres::snapshot::plain_name;

/// Where a snapshot is, or is to be.
pub(super) fn snapshot(flags: &Flags, flag: &'static str) -> Result<PathBuf, Stop> {
    let path: PathBuf = flags.required(flag)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !path.is_absolute() || !plain_name(&name) {
        return wrong(format!("--{flag} {}: it must be /folder/name, of letters, digits, - _ and .", path.display()));
    }
    Ok(path)
}

/// A note of whose data it is.
pub(super) fn owner(flags: &Flags) -> Result<Option<String>, Stop> {
    let owner = flags.text("owner")?;
    if owner.as_ref().is_some_and(|owner| owner.trim() != owner || owner.is_empty() || owner.contains('\n')) {
        return wrong("--owner must be one word");
    }
    Ok(owner)
}

/// Programs that work on a dump at once.
pub(super) fn jobs(flags: &Flags) -> Result<u16, Stop> {
    match flags.number("jobs")?.unwrap_or(1) {
        0 => wrong("--jobs must be 1 or more"),
        jobs => Ok(jobs),
    }
}

/// Where sockets and short-lived files go.
pub(super) fn run_dir(flags: &Flags) -> PathBuf {
    flags.path("run-dir").unwrap_or_else(|| "/tmp".into())
}

/// Settings of a server that the agent starts.
pub(super) fn parameters(flags: &Flags) -> Result<Vec<(String, String)>, Stop> {
    let texts = flags.texts("parameter")?;
    texts
        .iter()
        .map(|text| configuration::parameter(text).or_else(|why| wrong(format!("--parameter: {why}"))))
        .collect()
}
