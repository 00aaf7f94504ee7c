//! Writes the operator's files in a data directory.

use std::fs;
use std::io;
use std::path::Path;

use crate::files;
use crate::postgres::client::tools;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::configuration::Include;
use crate::postgres::data_dir::hba;
use crate::postgres::data_dir::hba::HbaAccess;
use crate::postgres::data_dir::read_only;

/// Writes the operator's files. Returns which clients the rules admit.
pub(crate) fn configure(
    data: &Path,
    configuration: &Path,
    access: Option<HbaAccess>,
    before: HbaAccess,
) -> io::Result<HbaAccess> {
    let conf = data.join("postgresql.conf");
    let text = configuration::with_include(&fs::read_to_string(&conf)?, &Include::Directory(configuration));
    files::write(&conf, &text)?;
    let superuser = tools::superuser();
    for access in [HbaAccess::Open, HbaAccess::Closed] {
        // The operator copies one of these over pg_hba.conf while the server runs.
        files::write(&data.join(access.file()), &hba::render(access, &superuser))?;
    }
    let rules = data.join("pg_hba.conf");
    let existing = fs::read_to_string(&rules).unwrap_or_default();
    let access = access.or_else(|| HbaAccess::of(&existing)).unwrap_or(before);
    clear_auto_conf(data, access)?;
    files::write(&rules, &hba::renewed(&existing, access, &superuser))?;
    Ok(access)
}

/// Empties postgresql.auto.conf. The operator's changes by ALTER SYSTEM are also in its mounted files by now, and
/// postgresql.auto.conf would override these, as a server reads it last. Only the setting that makes superusers read-only stays,
/// as long as all other clients are blocked.
pub(crate) fn clear_auto_conf(data: &Path, access: HbaAccess) -> io::Result<()> {
    let path = data.join("postgresql.auto.conf");
    let closed = access == HbaAccess::Closed && read_only::is_in(&fs::read_to_string(&path).unwrap_or_default());
    let read_only_line = if closed { read_only::line() } else { String::new() };
    let text = "# multi-operator empties this file before each start: settings are the operator's files' to make\n";
    files::write(&path, &format!("{text}{read_only_line}"))
}
