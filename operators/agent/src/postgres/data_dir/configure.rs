//! The operator's files in a data directory.

use std::fs;
use std::io;
use std::path::Path;

use crate::postgres::client::tools;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::configuration::Include;
use crate::postgres::data_dir::hba;
use crate::postgres::data_dir::hba::Access;
use crate::postgres::data_dir::read_only;
use crate::postgres::files;

/// Writes the files that are the operator's, and returns whom the rules admit.
pub(crate) fn configure(
    data: &Path,
    configuration: &Path,
    access: Option<Access>,
    before: Access,
) -> io::Result<Access> {
    let conf = data.join("postgresql.conf");
    let text = configuration::with_include(&fs::read_to_string(&conf)?, &Include::Folder(configuration));
    files::write(&conf, &text)?;
    let superuser = tools::superuser();
    for access in [Access::Open, Access::Closed] {
        // The operator copies one of these over pg_hba.conf while the server runs.
        files::write(&data.join(access.file()), &hba::render(access, &superuser))?;
    }
    let rules = data.join("pg_hba.conf");
    let there = fs::read_to_string(&rules).unwrap_or_default();
    let access = access.or_else(|| Access::of(&there)).unwrap_or(before);
    clear_auto_conf(data, access)?;
    files::write(&rules, &hba::renewed(&there, access, &superuser))?;
    Ok(access)
}

/// What was changed by ALTER SYSTEM while a server ran was the operator's, and is in its mounted files by now. These
/// would lose against what is left in postgresql.auto.conf, which a server reads last. Only what keeps superusers from writing stays
/// for as long as all others are shut out.
pub(crate) fn clear_auto_conf(data: &Path, access: Access) -> io::Result<()> {
    let path = data.join("postgresql.auto.conf");
    let shut = access == Access::Closed && read_only::is_in(&fs::read_to_string(&path).unwrap_or_default());
    let kept = if shut { read_only::line() } else { String::new() };
    let text = "# multi-operator empties this file before each start: settings are the operator's files' to make\n";
    files::write(&path, &format!("{text}{kept}"))
}
