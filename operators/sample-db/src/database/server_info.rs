//! Pure: what the server reports when queried, and what follows from that alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::login::LoginCheck;

/// The outcome of querying the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerProbe {
    /// It was not queried: it does not run, or nothing depends on it.
    #[default]
    Skipped,
    /// It did not answer: why.
    Failed(String),
    /// It rejects the superuser with the Secret's password, or it does not treat the role as a superuser.
    BadPassword,
    /// It answered.
    Answered(Box<ServerInfo>),
}

impl ServerProbe {
    /// What it reported, if it did.
    #[must_use]
    pub fn info(&self) -> Option<&ServerInfo> {
        match self {
            Self::Answered(answer) => Some(answer),
            _ => None,
        }
    }
}

/// What the server reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// PostgreSQL's identifier of the data.
    pub system_identifier: String,
    /// The running release, such as 17.12.
    pub version: String,
    /// The result of logging in as the application with the Secret's password.
    pub login: LoginCheck,
    /// What has to change about parameters.
    pub parameters: ParameterDiff,
    /// The size of all databases and of the WAL, in bytes.
    pub bytes: i64,
    /// What the readiness probe last measured of the data's file system. Pods of earlier agents do not report it.
    pub room: Option<DataFileSystem>,
    /// What the agent recorded about settings that the server has not run with yet. Earlier agents do not report it.
    pub attempt: Option<SettingsAttempt>,
}

/// A start with settings that the server has not run with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsAttempt {
    /// The text of these settings.
    pub settings: String,
    /// Whether the server did not start with them, and runs with the last ones that worked.
    pub fallen_back: bool,
}

/// The free space of the data's file system, as the server's user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataFileSystem {
    /// Its size, in bytes.
    pub volume_bytes: i64,
    /// Its free space, in bytes.
    pub free_bytes: i64,
    /// Its maximum number of files; 0: no limit.
    pub inodes: i64,
    /// How many more files it can have.
    pub free_inodes: i64,
}

/// What has to change so that the server's parameters are those of the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterDiff {
    /// Those to set, by name.
    pub set: Vec<(String, String)>,
    /// Those to reset.
    pub reset: Vec<String>,
    /// Those that take effect at the server's next start.
    pub restart: Vec<String>,
    /// Why the server rejects one of them.
    pub refused: Option<String>,
    /// Those that the spec no longer has, and that are in the server's file until the kubelet updates it.
    pub stale: Vec<String>,
}

impl ParameterDiff {
    /// Whether all are as in the spec, or will be after the next start.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.set.is_empty() && self.reset.is_empty() && self.refused.is_none()
    }
}

/// A line of the server's configuration files, in the order in which they are read: the last of a name wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSetting {
    /// The parameter.
    pub name: String,
    /// Its value in the file.
    pub value: String,
    /// Whether it was set by ALTER SYSTEM (postgresql.auto.conf).
    pub automatic: bool,
    /// Whether it is in the operator's own file.
    pub mounted: bool,
}

/// What has to change about parameters, given the lines of the server's files, the parameters that it knows, and those that wait
/// for a restart. `own` are those that the operator sets where the spec does not, each with its value, or `None` if any value is
/// its own.
#[must_use]
pub fn parameter_diff(
    wanted: &BTreeMap<String, String>,
    own: &BTreeMap<&str, Option<&str>>,
    lines: &[FileSetting],
    known: &BTreeSet<String>,
    restart: Vec<String>,
) -> ParameterDiff {
    let effective: BTreeMap<&str, &str> = lines.iter().map(|line| (line.name.as_str(), line.value.as_str())).collect();
    // Those of an extension that is not loaded yet cannot be set over a connection, nor can an empty list: the file sets them at
    // the next start.
    let settable = |name: &str, value: &str| {
        (!name.contains('.') || known.contains(name)) && !(value.trim().is_empty() && is_list(name))
    };
    let same = |name: &str, one: &str, other: &str| match is_list(name) {
        true => parts(one).eq(parts(other)),
        false => one == other,
    };
    let differs = |(name, value): &(&String, &String)| {
        settable(name, value) && effective.get(name.as_str()).is_none_or(|held| !same(name, held, value))
    };
    let set = wanted.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect();
    let is_own = |line: &FileSetting| own.get(&*line.name).is_some_and(|own| own.is_none_or(|own| own == line.value));
    let is_unwanted = |line: &&FileSetting| !wanted.contains_key(&line.name) && !is_own(line);
    let of = |is_in: fn(&FileSetting) -> bool| {
        let names: BTreeSet<_> = lines.iter().filter(|line| is_in(line)).filter(is_unwanted).map(|l| &l.name).collect();
        names.into_iter().cloned().collect()
    };
    ParameterDiff { set, reset: of(|line| line.automatic), restart, refused: None, stale: of(|line| line.mounted) }
}

/// Whether a parameter is a list whose parts PostgreSQL quotes one by one.
/// Source: `variable_is_guc_list_quote` of PostgreSQL's own pg_dump.
#[must_use]
pub fn is_list(name: &str) -> bool {
    const LISTS: [&str; 5] = [
        "local_preload_libraries",
        "search_path",
        "session_preload_libraries",
        "shared_preload_libraries",
        "temp_tablespaces",
    ];
    LISTS.contains(&name)
}

/// The parts of a list, without their quotes.
pub fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|part| part.trim().trim_matches('"')).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: &str, file: char) -> FileSetting {
        FileSetting { name: name.into(), value: value.into(), automatic: file == 'a', mounted: file == 'm' }
    }

    fn diff(wanted: &[(&str, &str)], lines: &[FileSetting]) -> ParameterDiff {
        let wanted = wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let own = [("wal_level", Some("replica")), ("default_transaction_read_only", None)];
        parameter_diff(&wanted, &own.into(), lines, &["work_mem".to_owned()].into(), Vec::new())
    }

    #[test]
    fn what_differs_is_set_and_what_is_not_wanted_is_reset() {
        let lines = [line("work_mem", "4MB", 'm'), line("wal_level", "replica", 'm'), line("jit", "off", 'a')];
        let found = diff(&[("work_mem", "8MB")], &lines);
        assert_eq!(found.set, [("work_mem".to_owned(), "8MB".to_owned())]);
        assert_eq!(found.reset, ["jit"]);
        assert!(found.stale.is_empty() && !found.is_settled());
        let lines = [line("work_mem", "4MB", 'm'), line("work_mem", "8MB", 'a')];
        assert!(diff(&[("work_mem", "8MB")], &lines).is_settled(), "the last line wins");
    }

    #[test]
    fn parameters_in_a_file_that_the_kubelet_has_yet_to_update_are_stale() {
        assert_eq!(diff(&[], &[line("work_mem", "4MB", 'm'), line("jit", "off", 'p')]).stale, ["work_mem"]);
        assert!(diff(&[], &[line("port", "5432", 'p')]).is_settled(), "what initdb wrote is not reported");
    }

    #[test]
    fn the_operators_own_value_applies_again_once_the_spec_has_none() {
        let mounted = diff(&[], &[line("wal_level", "logical", 'm')]);
        assert_eq!((mounted.stale, mounted.reset), (vec!["wal_level".to_owned()], Vec::new()));
        let set = diff(&[], &[line("wal_level", "logical", 'a'), line("wal_level", "replica", 'm')]);
        assert_eq!((set.stale, set.reset), (Vec::new(), vec!["wal_level".to_owned()]));
        assert_eq!(diff(&[("wal_level", "logical")], &[line("wal_level", "logical", 'm')]), ParameterDiff::default());
        let own = [line("wal_level", "replica", 'm'), line("wal_level", "replica", 'a')];
        assert_eq!(diff(&[], &own), ParameterDiff::default());
        assert_eq!(diff(&[], &[line("default_transaction_read_only", "on", 'a')]), ParameterDiff::default());
    }

    #[test]
    fn parameters_of_libraries_that_are_not_loaded_wait_for_the_next_start() {
        assert!(diff(&[("pg_stat_statements.max", "5000")], &[]).is_settled());
    }

    #[test]
    fn lists_are_compared_part_by_part() {
        let held = [line("shared_preload_libraries", "a, \"b\"", 'a')];
        assert!(diff(&[("shared_preload_libraries", "a,b")], &held).is_settled());
        assert!(!diff(&[("shared_preload_libraries", "b")], &held).is_settled());
        assert!(diff(&[("shared_preload_libraries", "")], &[]).is_settled());
    }
}
