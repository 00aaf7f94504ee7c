//! The settings that a server last served with, recorded next to its data in case it does not start with the mounted ones.
//!
//! PostgreSQL accepts settings by ALTER SYSTEM that it cannot start with: a library that does not exist, more memory than there
//! is. Such a server exits before it opens its data, which leaves its control file unchanged. The agent then starts it with the
//! settings that it last served with, until others are mounted or another pod starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files;
use crate::files::sibling;
use crate::postgres::data_dir::configuration::{self, Include};
use crate::postgres::data_dir::configure::clear_auto_conf;
use crate::postgres::data_dir::hba::HbaAccess;

/// A start with settings that the server has not served with yet. While it runs with the earlier ones, the manager reads this
/// over a connection: `SELECT pg_read_file(current_setting('data_directory') || '.attempt', 0, 200000, true)`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartAttempt {
    /// The text of the mounted settings.
    settings: String,
    /// Their directory.
    configuration: PathBuf,
    /// Whether the server was started with the earlier settings instead.
    fallen_back: bool,
    /// The checksum of the control file at that time.
    control: String,
}

/// Chooses the settings for the next start. If the volume takes no record, these are the mounted ones.
pub(crate) fn choose(data: &Path, configuration: &Path) -> io::Result<()> {
    let settings = mounted(configuration)?;
    let (attempt_file, proven) = (sibling(data, ".attempt"), sibling(data, ".proven"));
    let served = fs::read_to_string(&proven).ok();
    if served.as_ref() == Some(&settings) {
        files::remove(&attempt_file)?;
        return include(data, &Include::Directory(configuration));
    }
    let control = files::sha256(&fs::read(data.join("global/pg_control"))?);
    let fallen_back = served.is_some() && falls_back(read(&attempt_file).as_ref(), &settings, &control);
    let attempt = StartAttempt { settings, configuration: configuration.to_owned(), fallen_back, control };
    if let Err(error) = files::write(&attempt_file, &serde_json::to_string(&attempt)?) {
        eprintln!("{} cannot be written: {error}", attempt_file.display());
        return include(data, &Include::Directory(configuration));
    }
    if !fallen_back {
        return include(data, &Include::Directory(configuration));
    }
    eprintln!(
        "postgres does not start with the settings in {}: starting it with those that it served with last",
        configuration.display()
    );
    let rules = fs::read_to_string(data.join("pg_hba.conf")).unwrap_or_default();
    clear_auto_conf(data, HbaAccess::of(&rules).unwrap_or(HbaAccess::Closed))?;
    include(data, &Include::File(&proven))
}

/// Whether the server has not served yet with the settings that it was started with.
pub(crate) fn is_attempt(data: &Path) -> bool {
    sibling(data, ".attempt").exists()
}

/// Records that the server has served with the settings that it was started with. A probe must not fail because of that.
pub(crate) fn served(data: &Path) {
    let attempt_file = sibling(data, ".attempt");
    let Some(attempt) = read(&attempt_file).filter(|attempt| !attempt.fallen_back) else { return };
    let recorded =
        files::write(&sibling(data, ".proven"), &attempt.settings).and_then(|()| files::remove(&attempt_file));
    if let Err(error) = recorded {
        eprintln!("cannot record the settings of {}: {error}", attempt_file.display());
    }
}

/// Includes the mounted settings again if they have changed since the server failed to start: for its next reload, and its next
/// start.
pub(crate) fn renew(data: &Path) {
    let attempt_file = sibling(data, ".attempt");
    let Some(attempt) = read(&attempt_file).filter(|attempt| attempt.fallen_back) else { return };
    if mounted(&attempt.configuration).ok().is_none_or(|now| now == attempt.settings) {
        return;
    }
    let renewed =
        include(data, &Include::Directory(&attempt.configuration)).and_then(|()| files::remove(&attempt_file));
    if let Err(error) = renewed {
        eprintln!("{}: cannot include the mounted settings again: {error}", data.display());
    }
}

/// Forgets failed starts of another pod: what was missing there may exist now.
pub(crate) fn forget_attempt(data: &Path) -> io::Result<()> {
    files::remove(&sibling(data, ".attempt"))
}

/// Whether to start with the earlier settings: if the last start with these exited before the server opened its data, unless a
/// start with the earlier ones did so as well. Pure.
fn falls_back(last: Option<&StartAttempt>, settings: &str, control: &str) -> bool {
    match last.filter(|last| last.settings == settings) {
        None => false,
        Some(last) if last.control == control => !last.fallen_back,
        Some(last) => last.fallen_back,
    }
}

/// The files that `include_dir` would read, in its order.
/// Source: ParseConfigDirectory of PostgreSQL's `guc-file.l`.
fn mounted(configuration: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(configuration)? {
        names.push(entry?.file_name());
    }
    names.retain(|name| name.to_str().is_some_and(|name| !name.starts_with('.') && name.ends_with(".conf")));
    names.sort();
    names.iter().map(|name| fs::read_to_string(configuration.join(name))).collect()
}

fn include(data: &Path, what: &Include<'_>) -> io::Result<()> {
    let conf = data.join("postgresql.conf");
    files::write(&conf, &configuration::with_include(&fs::read_to_string(&conf)?, what))
}

fn read(attempt_file: &Path) -> Option<StartAttempt> {
    serde_json::from_slice(&fs::read(attempt_file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(fallen_back: bool) -> StartAttempt {
        StartAttempt { settings: "new".into(), configuration: "/conf".into(), fallen_back, control: "before".into() }
    }

    #[test]
    fn settings_that_a_server_does_not_start_with_are_replaced_by_the_last_ones() {
        assert!(!falls_back(None, "new", "before"));
        assert!(falls_back(Some(&last(false)), "new", "before"));
        assert!(!falls_back(Some(&last(false)), "new", "after"), "it opened its data, so it exited for another reason");
        assert!(!falls_back(Some(&last(false)), "newer", "before"), "others are mounted");
        assert!(falls_back(Some(&last(true)), "new", "after"), "it served with those");
        assert!(!falls_back(Some(&last(true)), "new", "before"), "it is not the settings");
    }
}
