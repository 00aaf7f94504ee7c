//! Pure: what the server said when it was asked. Pure data, and what follows from it alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::login::Login;

/// What the server said when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// It was not asked: it does not run, or nothing depends on it.
    #[default]
    Nothing,
    /// It did not answer: why.
    Failed(String),
    /// It does not let the superuser in with the Secret's password, or not as a superuser.
    BadPassword,
    /// It answered.
    Answered(Box<Answer>),
}

impl Asked {
    /// Its answer, if there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answered(answer) => Some(answer),
            _ => None,
        }
    }
}

/// What the server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// PostgreSQL's identifier of the data.
    pub system_identifier: String,
    /// The release that runs, such as 17.12.
    pub version: String,
    /// How the application fares that comes with the Secret's password.
    pub login: Login,
    /// What is to be done about parameters.
    pub parameters: Parameters,
    /// The size of all databases and of the WAL, in bytes.
    pub bytes: i64,
    /// What the readiness probe noted last of the data's file system; pods of earlier agents have no such note.
    pub room: Option<Room>,
    /// What the agent noted of the settings that it has not served with yet; agents of before note nothing.
    pub attempt: Option<Attempt>,
}

/// A start with settings that the server has not served with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The text of these settings.
    pub settings: String,
    /// Whether it did not start with them, and runs with those that it served with last.
    pub fallen_back: bool,
}

/// How much room the file system of the data has, as the server's user has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Its size, in bytes.
    pub volume_bytes: i64,
    /// What is free of it, in bytes.
    pub free_bytes: i64,
    /// How many files it can have; 0 if it has no limit.
    pub inodes: i64,
    /// How many more it can have.
    pub free_inodes: i64,
}

/// What is to be done so that the server's parameters are the spec's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Those to set, by name.
    pub set: Vec<(String, String)>,
    /// Those to set no longer.
    pub reset: Vec<String>,
    /// Those that wait for the server's next start.
    pub restart: Vec<String>,
    /// Why the server takes one of them not.
    pub refused: Option<String>,
    /// Those that the spec says no longer, and the server's file does until the kubelet has brought another.
    pub stale: Vec<String>,
}

impl Parameters {
    /// Whether all are as the spec has them, or will be at the next start.
    #[must_use]
    pub fn are_settled(&self) -> bool {
        self.set.is_empty() && self.reset.is_empty() && self.refused.is_none()
    }
}

/// A line of the server's configuration files, in the order in which they are read: the last of a name holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSetting {
    /// The parameter.
    pub name: String,
    /// Its value, as it stands there.
    pub value: String,
    /// Whether the line is one that was set over a connection (postgresql.auto.conf).
    pub automatic: bool,
    /// Whether the line is one of the operator's own file.
    pub mounted: bool,
}

/// What is to be done about parameters, by what the server's files say, which parameters it knows, and which of them wait
/// for a restart. `ours` are those that the operator sets by itself where the spec says nothing of them, each with its value, or with
/// none if any value is its own.
#[must_use]
pub fn parameters(
    wanted: &BTreeMap<String, String>,
    ours: &BTreeMap<&str, Option<&str>>,
    lines: &[FileSetting],
    known: &BTreeSet<String>,
    restart: Vec<String>,
) -> Parameters {
    let holds: BTreeMap<&str, &str> = lines.iter().map(|line| (line.name.as_str(), line.value.as_str())).collect();
    // Those of an extension that is not loaded yet cannot be set over a connection, nor can an empty list: the file has
    // them at the next start.
    let settable = |name: &str, value: &str| {
        (!name.contains('.') || known.contains(name)) && !(value.trim().is_empty() && is_list(name))
    };
    let same = |name: &str, one: &str, other: &str| match is_list(name) {
        true => parts(one).eq(parts(other)),
        false => one == other,
    };
    let differs = |(name, value): &(&String, &String)| {
        settable(name, value) && holds.get(name.as_str()).is_none_or(|held| !same(name, held, value))
    };
    let set = wanted.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect();
    let is_ours = |line: &FileSetting| ours.get(&*line.name).is_some_and(|own| own.is_none_or(|own| own == line.value));
    let unwanted = |line: &&FileSetting| !wanted.contains_key(&line.name) && !is_ours(line);
    let of = |place: fn(&FileSetting) -> bool| {
        let names: BTreeSet<_> = lines.iter().filter(|line| place(line)).filter(unwanted).map(|l| &l.name).collect();
        names.into_iter().cloned().collect()
    };
    Parameters { set, reset: of(|line| line.automatic), restart, refused: None, stale: of(|line| line.mounted) }
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

    fn line(name: &str, value: &str, place: char) -> FileSetting {
        FileSetting { name: name.into(), value: value.into(), automatic: place == 'a', mounted: place == 'm' }
    }

    fn judged(wanted: &[(&str, &str)], lines: &[FileSetting]) -> Parameters {
        let wanted = wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let ours = [("wal_level", Some("replica")), ("default_transaction_read_only", None)];
        parameters(&wanted, &ours.into(), lines, &["work_mem".to_owned()].into(), Vec::new())
    }

    #[test]
    fn what_differs_is_set_and_what_is_not_wanted_is_taken_back() {
        let lines = [line("work_mem", "4MB", 'm'), line("wal_level", "replica", 'm'), line("jit", "off", 'a')];
        let told = judged(&[("work_mem", "8MB")], &lines);
        assert_eq!(told.set, [("work_mem".to_owned(), "8MB".to_owned())]);
        assert_eq!(told.reset, ["jit"]);
        assert!(told.stale.is_empty() && !told.are_settled());
        let lines = [line("work_mem", "4MB", 'm'), line("work_mem", "8MB", 'a')];
        assert!(judged(&[("work_mem", "8MB")], &lines).are_settled(), "the last line holds");
    }

    #[test]
    fn a_file_that_the_kubelet_has_yet_to_bring_is_told_of() {
        assert_eq!(judged(&[], &[line("work_mem", "4MB", 'm'), line("jit", "off", 'p')]).stale, ["work_mem"]);
        assert!(judged(&[], &[line("port", "5432", 'p')]).are_settled(), "what initdb wrote is nobody's");
    }

    #[test]
    fn what_the_operator_sets_by_itself_has_its_value_again_once_the_spec_says_nothing_of_it() {
        let mounted = judged(&[], &[line("wal_level", "logical", 'm')]);
        assert_eq!((mounted.stale, mounted.reset), (vec!["wal_level".to_owned()], Vec::new()));
        let set = judged(&[], &[line("wal_level", "logical", 'a'), line("wal_level", "replica", 'm')]);
        assert_eq!((set.stale, set.reset), (Vec::new(), vec!["wal_level".to_owned()]));
        assert_eq!(judged(&[("wal_level", "logical")], &[line("wal_level", "logical", 'm')]), Parameters::default());
        let own = [line("wal_level", "replica", 'm'), line("wal_level", "replica", 'a')];
        assert_eq!(judged(&[], &own), Parameters::default());
        assert_eq!(judged(&[], &[line("default_transaction_read_only", "on", 'a')]), Parameters::default());
    }

    #[test]
    fn what_no_loaded_library_knows_waits_for_the_next_start() {
        assert!(judged(&[("pg_stat_statements.max", "5000")], &[]).are_settled());
    }

    #[test]
    fn lists_are_compared_part_by_part() {
        let held = [line("shared_preload_libraries", "a, \"b\"", 'a')];
        assert!(judged(&[("shared_preload_libraries", "a,b")], &held).are_settled());
        assert!(!judged(&[("shared_preload_libraries", "b")], &held).are_settled());
        assert!(judged(&[("shared_preload_libraries", "")], &[]).are_settled());
    }
}
