//! What a snapshot holds, as its `manifest.json` says. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::databases;
use crate::failure::cut;

/// Raised when a reader of before would misread what is written now.
const FORMAT: u32 = 1;

pub(crate) const FILE: &str = "manifest.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// pg_dump and pg_dumpall.
    Logical,
    /// pg_basebackup.
    Physical,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    pub(crate) kind: Kind,
    /// The server's: 15.18.
    pub(crate) engine_version: String,
    pub(crate) system_identifier: String,
    /// Whom the snapshot was made as.
    pub(crate) superuser: String,
    /// Seconds since 1970.
    pub(crate) completed_at: u64,
    /// What no snapshot has in it, in sentences.
    #[serde(default)]
    pub(crate) not_covered: Vec<String>,
    pub(crate) databases: Vec<Database>,
    pub(crate) files: Vec<FileEntry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) owner: String,
    /// The folder of its dump, in the snapshot's; empty in a physical one.
    pub(crate) folder: String,
    /// The last key of the ledger of what was run on it.
    pub(crate) schema_version: Option<String>,
    pub(crate) extensions: Vec<Extension>,
    /// Counted in the very snapshot that the dump is of; of a physical one nothing is counted.
    pub(crate) tables: Vec<Table>,
    pub(crate) large_objects: u64,
    /// What follows, manifests of before have not.
    #[serde(default)]
    pub(crate) content: Option<Content>,
}

/// What a database holds beyond its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    /// Of its objects with their kinds and owners.
    pub(crate) objects: Sum,
    pub(crate) large_objects: Sum,
    pub(crate) is_template: bool,
    pub(crate) allow_connections: bool,
    pub(crate) connection_limit: i32,
    /// Whether nothing in it is a user's: one that every server has may be so.
    pub(crate) pristine: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) rows: u64,
    /// Of its rows, whatever their order.
    #[serde(default)]
    pub(crate) checksum: Option<String>,
}

/// How many there are, and a sum of them that does not depend on their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    /// In hexadecimal.
    pub(crate) checksum: String,
}

/// Sums up what comes line by line. It finds what went wrong, and is no proof against who wants two lines to look alike.
#[derive(Default)]
pub(crate) struct Summing {
    count: u64,
    sum: u64,
}

impl Summing {
    pub(crate) fn add(&mut self, line: &[u8]) {
        // FNV-1a, whose bits the rest spreads (splitmix64).
        let hash = line.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash ^ (hash >> 31));
    }

    pub(crate) fn sum(&self) -> Sum {
        Sum { count: self.count, checksum: format!("{:016x}", self.sum) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// From the snapshot's folder, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// In hexadecimal.
    pub(crate) sha256: String,
}

impl Manifest {
    pub(crate) fn new(kind: Kind, engine_version: String, system_identifier: String, superuser: String) -> Self {
        let (databases, files) = (Vec::new(), Vec::new());
        let not_covered = Vec::new();
        Self {
            format: FORMAT,
            kind,
            engine_version,
            system_identifier,
            superuser,
            completed_at: 0,
            not_covered,
            databases,
            files,
        }
    }

    /// An error is a sentence.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let manifest: Self = serde_json::from_slice(text).map_err(|error| format!("{FILE} cannot be read: {error}"))?;
        if manifest.format != FORMAT {
            return Err(format!("{FILE} is of format {}, and {FORMAT} is known", manifest.format));
        }
        let leaves = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
        let folders = manifest.databases.iter().map(|database| &database.folder);
        match manifest.files.iter().map(|file| &file.path).chain(folders).find(|path| leaves(path)) {
            Some(path) => Err(format!("{FILE} names {path}, which is outside of the snapshot")),
            None => Ok(manifest),
        }
    }

    /// Of all files, without the manifest.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Of the databases that hold something. A retention that knows them keeps the last snapshot of each; cut to what a
    /// termination message has room for, with `...` as the last.
    pub(crate) fn names(&self) -> Vec<String> {
        let pristine = |database: &Database| database.content.as_ref().is_some_and(|content| content.pristine);
        let standing = |database: &Database| databases::may_be_pristine(&database.name);
        let held = self.databases.iter().filter(|database| !(standing(database) && pristine(database)));
        let (mut names, mut room) = (Vec::new(), 1500_usize);
        for name in held.map(|database| &database.name) {
            match room.checked_sub(name.len() + 6) {
                Some(rest) => room = rest,
                None => {
                    names.push("...".to_owned());
                    break;
                }
            }
            names.push(name.clone());
        }
        names
    }

    /// The first five, each at most 200 bytes of it.
    pub(crate) fn not_covered_in_short(&self) -> Vec<&str> {
        self.not_covered.iter().take(5).map(|sentence| cut(sentence, 200)).collect()
    }

    pub(crate) fn tables(&self) -> usize {
        self.databases.iter().map(|database| database.tables.len()).sum()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.databases.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum()
    }
}

/// How many differences are told: the message must stay short.
const TOLD: usize = 5;

/// What came out of a snapshot against what went in: a sentence for what differs.
///
/// Versions of extensions may differ, since another image brings its own.
pub(crate) fn differences(expected: &Database, found: &Database) -> Option<String> {
    let mut told = Vec::new();
    let name = |table: &Table| format!("{}.{}", table.schema, table.name);
    let mut there: BTreeMap<_, _> = found.tables.iter().map(|table| (name(table), table)).collect();
    for table in &expected.tables {
        match there.remove(&name(table)) {
            Some(other) if other.rows != table.rows => {
                told.push(format!("{} has {} rows instead of {}", name(table), other.rows, table.rows));
            }
            Some(other) if differ(other.checksum.as_ref(), table.checksum.as_ref()) => {
                told.push(format!("{} has as many rows, and other values in them", name(table)));
            }
            Some(_) => {}
            None => told.push(format!("{} is missing", name(table))),
        }
    }
    told.extend(there.keys().map(|extra| format!("{extra} was not there")));
    let has = |extension: &Extension| found.extensions.iter().any(|other| other.name == extension.name);
    let lost = expected.extensions.iter().filter(|extension| !has(extension));
    told.extend(lost.map(|extension| format!("extension {} is missing", extension.name)));
    if expected.large_objects != found.large_objects {
        told.push(format!("there are {} large objects instead of {}", found.large_objects, expected.large_objects));
    }
    if let (Some(then), Some(now)) = (&expected.content, &found.content) {
        if then.objects != now.objects {
            let (then, now) = (then.objects.count, now.objects.count);
            told.push(format!("its objects or their owners are others ({now} now, {then} then)"));
        }
        if expected.large_objects == found.large_objects && then.large_objects != now.large_objects {
            told.push("large objects hold something else".into());
        }
    }
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    (!told.is_empty()).then(|| format!("database {}: {}", expected.name, told.join(", ")))
}

/// What a manifest of before does not tell is not compared.
fn differ(one: Option<&String>, other: Option<&String>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(tables: &[(&str, u64)], extensions: &[&str]) -> Database {
        let table = |(name, rows): &(&str, u64)| Table { schema: "s".into(), name: (*name).into(), rows: *rows, checksum: None };
        let extension = |name: &&str| Extension { name: (*name).into(), version: "1".into() };
        Database {
            name: "d".into(),
            tables: tables.iter().map(table).collect(),
            extensions: extensions.iter().map(extension).collect(),
            ..Database::default()
        }
    }

    #[test]
    fn what_differs_is_told() {
        let expected = database(&[("a", 1), ("b", 2)], &["citext"]);
        assert_eq!(differences(&expected, &expected), None);
        let found = database(&[("a", 3), ("c", 2)], &[]);
        assert_eq!(
            differences(&expected, &found).unwrap(),
            "database d: s.a has 3 rows instead of 1, s.b is missing, s.c was not there, extension citext is missing"
        );
        let many: Vec<_> = (0..9).map(|_| ("x", 1)).collect();
        assert!(differences(&database(&many, &[]), &database(&[], &[])).unwrap().ends_with("and 4 more"));
        let large = Database { large_objects: 1, ..database(&[], &[]) };
        assert!(differences(&large, &database(&[], &[])).is_some());
    }

    /// 118 and 106: as many rows, and one that a superuser has changed meanwhile.
    #[test]
    fn other_values_in_as_many_rows_are_told() {
        let sum = |lines: &[&str]| {
            let mut summing = Summing::default();
            lines.iter().for_each(|line| summing.add(line.as_bytes()));
            summing.sum()
        };
        assert_eq!(sum(&["1\ta", "2\tb"]), sum(&["2\tb", "1\ta"]));
        assert_ne!(sum(&["100", "18"]), sum(&["100", "6"]));
        assert_ne!(sum(&["a", "a"]), sum(&["b", "b"]));
        let with = |lines: &[&str]| {
            let mut of = database(&[("a", 2)], &[]);
            of.tables[0].checksum = Some(sum(lines).checksum);
            of
        };
        assert_eq!(differences(&with(&["100", "18"]), &with(&["18", "100"])), None);
        let told = differences(&with(&["100", "18"]), &with(&["100", "6"])).unwrap();
        assert_eq!(told, "database d: s.a has as many rows, and other values in them");
        // A manifest of before has no sums.
        assert_eq!(differences(&database(&[("a", 2)], &[]), &with(&["x"])), None);
    }

    #[test]
    fn names_are_those_of_databases_that_hold_something() {
        let mut manifest = Manifest::new(Kind::Logical, "15.18".into(), "7".into(), "postgres".into());
        let of = |name: &str, pristine| Database {
            name: name.into(),
            content: Some(Content { pristine, ..Content::default() }),
            ..Database::default()
        };
        manifest.databases = vec![of("app", true), of("postgres", true), of("template1", false)];
        assert_eq!(manifest.names(), ["app", "template1"]);
        manifest.databases = (0..500).map(|at| of(&format!("database-{at}"), false)).collect();
        let names = manifest.names();
        assert_eq!(names.last().map(String::as_str), Some("..."));
        assert!(serde_json::to_string(&names).unwrap().len() < 2000);
    }

    #[test]
    fn a_planted_object_is_told() {
        let with = |count| Database {
            content: Some(Content { objects: Sum { count, checksum: count.to_string() }, ..Content::default() }),
            ..database(&[], &[])
        };
        assert_eq!(differences(&with(2), &with(2)), None);
        assert!(differences(&with(2), &with(3)).unwrap().contains("its objects or their owners are others (3 now, 2 then)"));
    }

    #[test]
    fn what_is_written_is_read() {
        let mut manifest = Manifest::new(Kind::Logical, "15.18".into(), "7".into(), "postgres".into());
        manifest.databases.push(database(&[("a", 1), ("b", 2)], &[]));
        let file = |path: &str| FileEntry { path: path.into(), bytes: 3, sha256: "00".into() };
        manifest.files.push(file("a/b"));
        let text = serde_json::to_vec(&manifest).unwrap();
        assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
        assert_eq!((manifest.bytes(), manifest.tables(), manifest.rows()), (3, 2, 3));
        for path in ["/etc/passwd", "a/../../b"] {
            let wrong = Manifest { files: vec![file(path)], ..manifest.clone() };
            assert!(Manifest::parse(&serde_json::to_vec(&wrong).unwrap()).unwrap_err().contains(path));
        }
        let newer = Manifest { format: 2, ..manifest };
        assert!(Manifest::parse(&serde_json::to_vec(&newer).unwrap()).unwrap_err().contains("format 2"));
        assert!(Manifest::parse(b"{").is_err());
    }
}
