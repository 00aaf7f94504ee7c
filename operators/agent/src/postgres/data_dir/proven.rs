//! The settings that a server has served with, kept beside its data for when it does not start with those that are mounted.
//!
//! PostgreSQL takes by ALTER SYSTEM what it cannot start with: a library that is not there, more memory than there is. Such a
//! server ends before it begins with its data, and then its control file is as it was. It is started next with the settings that
//! it served with last, until others are mounted or another pod comes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::postgres::data_dir::configuration::{self, Include};
use crate::postgres::data_dir::configure::clear_auto_conf;
use crate::postgres::data_dir::hba::Access;
use crate::postgres::files;
use crate::postgres::files::beside;

/// A start with settings that it has not served with yet. While it runs with those of before, the manager reads this over a
/// connection: `SELECT pg_read_file(current_setting('data_directory') || '.attempt', 0, 200000, true)`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    /// The text of the settings that are mounted.
    settings: String,
    /// The directory in which they are.
    configuration: PathBuf,
    /// Whether it was started with those of before instead.
    fallen_back: bool,
    /// The digest of the control file at that moment.
    control: String,
}

/// Chooses what the server is to be started with. On a volume that takes no record, it is started with what is mounted.
pub(crate) fn choose(data: &Path, configuration: &Path) -> io::Result<()> {
    let settings = mounted(configuration)?;
    let (attempt_file, proven) = (beside(data, ".attempt"), beside(data, ".proven"));
    let served = fs::read_to_string(&proven).ok();
    if served.as_ref() == Some(&settings) {
        files::remove(&attempt_file)?;
        return include(data, &Include::Folder(configuration));
    }
    let control = files::sha256(&fs::read(data.join("global/pg_control"))?);
    let fallen_back = served.is_some() && falls_back(read(&attempt_file).as_ref(), &settings, &control);
    let attempt = Attempt { settings, configuration: configuration.to_owned(), fallen_back, control };
    if let Err(error) = files::write(&attempt_file, &serde_json::to_string(&attempt)?) {
        eprintln!("{} cannot be written: {error}", attempt_file.display());
        return include(data, &Include::Folder(configuration));
    }
    if !fallen_back {
        return include(data, &Include::Folder(configuration));
    }
    eprintln!(
        "postgres does not start with the settings in {}: starting it with those that it served with last",
        configuration.display()
    );
    let rules = fs::read_to_string(data.join("pg_hba.conf")).unwrap_or_default();
    clear_auto_conf(data, Access::of(&rules).unwrap_or(Access::Closed))?;
    include(data, &Include::File(&proven))
}

/// Whether it has not been seen to serve with what it was started with.
pub(crate) fn is_attempt(data: &Path) -> bool {
    beside(data, ".attempt").exists()
}

/// It serves: what it was started with is what it served with last. A probe must not fail for that.
pub(crate) fn served(data: &Path) {
    let attempt_file = beside(data, ".attempt");
    let Some(attempt) = read(&attempt_file).filter(|attempt| !attempt.fallen_back) else { return };
    let kept = files::write(&beside(data, ".proven"), &attempt.settings).and_then(|()| files::remove(&attempt_file));
    if let Err(error) = kept {
        eprintln!("{} cannot be kept: {error}", attempt_file.display());
    }
}

/// Others are mounted than those that it did not start with: it takes them at its next reload, and is started with them next.
pub(crate) fn renew(data: &Path) {
    let attempt_file = beside(data, ".attempt");
    let Some(attempt) = read(&attempt_file).filter(|attempt| attempt.fallen_back) else { return };
    if mounted(&attempt.configuration).ok().is_none_or(|now| now == attempt.settings) {
        return;
    }
    let renewed = include(data, &Include::Folder(&attempt.configuration)).and_then(|()| files::remove(&attempt_file));
    if let Err(error) = renewed {
        eprintln!("{}: cannot include the mounted settings again: {error}", data.display());
    }
}

/// Another pod comes: what may have been missing may be there now.
pub(crate) fn forget_attempt(data: &Path) -> io::Result<()> {
    files::remove(&beside(data, ".attempt"))
}

/// Whether it is to be started with the settings of before: when the last start with these ended before the server had begun with
/// its data, unless that with those of before did so, too. Pure.
fn falls_back(last: Option<&Attempt>, settings: &str, control: &str) -> bool {
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

fn read(attempt_file: &Path) -> Option<Attempt> {
    serde_json::from_slice(&fs::read(attempt_file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(fallen_back: bool) -> Attempt {
        Attempt { settings: "new".into(), configuration: "/conf".into(), fallen_back, control: "before".into() }
    }

    #[test]
    fn what_it_did_not_begin_with_is_given_up_for_what_it_served_with() {
        assert!(!falls_back(None, "new", "before"));
        assert!(falls_back(Some(&last(false)), "new", "before"));
        assert!(!falls_back(Some(&last(false)), "new", "after"), "it began, and what ended it is another matter");
        assert!(!falls_back(Some(&last(false)), "newer", "before"), "others are mounted");
        assert!(falls_back(Some(&last(true)), "new", "after"), "it served with those");
        assert!(!falls_back(Some(&last(true)), "new", "before"), "it is not the settings");
    }
}
