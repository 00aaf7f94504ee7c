//! Pure: the contents of a snapshot, as its `manifest.json` lists them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::failure::{cut, in_short};
use crate::files::{self, FileEntry};
use crate::postgres::backup::sums;
use crate::postgres::backup::sums::Sum;
use crate::postgres::client::default_databases::is_default;

/// The version of the format; raised if an earlier agent would misread a manifest.
const FORMAT: u32 = 1;

pub(crate) const FILE: &str = "manifest.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SnapshotMethod {
    /// pg_dump and pg_dumpall.
    Logical,
    /// pg_basebackup.
    Physical,
}

impl SnapshotMethod {
    /// As results have it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Logical => "Logical",
            Self::Physical => "Physical",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SnapshotManifest {
    pub(crate) format: u32,
    pub(crate) kind: SnapshotMethod,
    /// The server's: 15.18.
    pub(crate) engine_version: String,
    pub(crate) system_identifier: String,
    /// The role that took the snapshot.
    pub(crate) superuser: String,
    /// Seconds since 1970.
    pub(crate) completed_at: u64,
    /// What the snapshot leaves out: a message each.
    #[serde(default)]
    pub(crate) not_covered: Vec<String>,
    /// What differs after a restore without loss of data: a message each.
    #[serde(default)]
    pub(crate) remarks: Vec<String>,
    pub(crate) databases: Vec<DatabaseManifest>,
    pub(crate) files: Vec<FileEntry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DatabaseManifest {
    pub(crate) name: String,
    pub(crate) owner: String,
    /// The directory of its dump, in the snapshot's; empty in a physical one.
    #[serde(rename = "folder")]
    pub(crate) directory: String,
    /// The last key of the ledger, which records the SQL that was run in the database.
    pub(crate) schema_version: Option<String>,
    pub(crate) extensions: Vec<Extension>,
    /// Counted in the same transaction snapshot as the dump; empty in a physical snapshot.
    pub(crate) tables: Vec<TableManifest>,
    pub(crate) large_objects: u64,
    /// None in the manifest of an earlier agent.
    #[serde(default)]
    pub(crate) content: Option<DatabaseContent>,
    /// The topmost table of each partition whose rows may move to another partition in another server. Each server reports this
    /// again, and the manifest has the rows of partitions, as earlier ones.
    #[serde(skip)]
    pub(crate) moving: BTreeMap<QualifiedName, QualifiedName>,
}

/// The names of a table's schema and of the table.
pub(crate) type QualifiedName = (String, String);

/// The contents of a database other than its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DatabaseContent {
    /// The sum of its objects with their kinds and owners.
    pub(crate) objects: Sum,
    /// The same objects as texts, unless there are very many: to name one that differs.
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// Whether there is a schema `public`; unknown in the manifest of an earlier agent.
    #[serde(default)]
    pub(crate) public: Option<bool>,
    pub(crate) large_objects: Sum,
    pub(crate) is_template: bool,
    pub(crate) allow_connections: bool,
    pub(crate) connection_limit: i32,
    /// Whether users have put nothing into it; so may be a database that every server has.
    pub(crate) pristine: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableManifest {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) rows: u64,
    /// The checksum of its rows, whatever their order.
    #[serde(default)]
    pub(crate) checksum: Option<String>,
}

impl SnapshotManifest {
    pub(crate) fn new(
        kind: SnapshotMethod,
        engine_version: String,
        system_identifier: String,
        superuser: String,
    ) -> Self {
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
            remarks: Vec::new(),
            databases,
            files,
        }
    }

    /// Parses a manifest. The error is a message.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let manifest: Self = serde_json::from_slice(text).map_err(|error| format!("{FILE} cannot be read: {error}"))?;
        if manifest.format != FORMAT {
            return Err(format!("{FILE} has format {}, and this agent reads {FORMAT}", manifest.format));
        }
        let leaves = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
        let directories = manifest.databases.iter().map(|database| &database.directory);
        match manifest.files.iter().map(|file| &file.path).chain(directories).find(|path| leaves(path)) {
            Some(path) => Err(format!("{FILE} names {path}, which is outside of the snapshot")),
            None => Ok(manifest),
        }
    }

    /// The size of all files without the manifest.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The names of the databases that users have put something into: the retention keeps the last snapshot of each. If a
    /// termination message cannot hold all of them, the last entry is `...` and a checksum of all names, so that another database
    /// gives another entry.
    pub(crate) fn names(&self) -> Vec<String> {
        let pristine = |database: &DatabaseManifest| database.content.as_ref().is_some_and(|content| content.pristine);
        let held = self.databases.iter().filter(|database| !(is_default(&database.name) && pristine(database)));
        let mut all: Vec<&str> = held.map(|database| &*database.name).collect();
        all.sort_unstable();
        let mut bytes_left = 1500_usize;
        let fits = |name: &&&str| {
            // Its length as JSON: a control character takes six bytes.
            let bytes = serde_json::to_string(name).map_or(usize::MAX, |text| text.len().saturating_add(1));
            bytes_left.checked_sub(bytes).inspect(|rest| bytes_left = *rest).is_some()
        };
        let mut names: Vec<String> = all.iter().take_while(fits).map(ToString::to_string).collect();
        if names.len() < all.len() {
            names.push(format!("...{}", cut(&files::sha256(all.join("\0").as_bytes()), 32)));
        }
        names
    }

    /// The first five messages, each of at most 200 bytes, and how many more there are.
    pub(crate) fn not_covered_in_short(&self) -> Vec<String> {
        in_short(&self.not_covered, 5, 200)
    }

    pub(crate) fn tables(&self) -> usize {
        self.databases.iter().map(|database| database.tables.len()).sum()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.databases.iter().flat_map(|database| &database.tables).map(|table| table.rows).sum()
    }
}

/// How many differences are reported: the message must stay short.
const SHOWN: usize = 5;

/// Compares what came out of a snapshot with what went in. Returns a message if they differ.
///
/// Versions of extensions may differ, since another image has its own.
pub(crate) fn differences(expected: &DatabaseManifest, found: &DatabaseManifest) -> Option<String> {
    let mut differences = Vec::new();
    let shown = |(schema, name): &QualifiedName| format!("{schema}.{name}");
    let mut remaining = added_up(&found.tables, &found.moving);
    for (name, (rows, checksum)) in added_up(&expected.tables, &found.moving) {
        match remaining.remove(&name) {
            Some((others, _)) if others != rows => {
                differences.push(format!("{} has {others} rows instead of {rows}", shown(&name)));
            }
            Some((_, other)) if differ(other.as_ref(), checksum.as_ref()) => {
                differences.push(format!("{} has as many rows, but other values", shown(&name)));
            }
            Some(_) => {}
            None => differences.push(format!("{} is missing", shown(&name))),
        }
    }
    differences.extend(remaining.keys().map(|extra| format!("{} was not there", shown(extra))));
    let has = |extension: &Extension| found.extensions.iter().any(|other| other.name == extension.name);
    let lost = expected.extensions.iter().filter(|extension| !has(extension));
    differences.extend(lost.map(|extension| format!("extension {} is missing", extension.name)));
    if expected.owner != found.owner {
        differences.push(format!("it belongs to {:?} instead of {:?}", found.owner, expected.owner));
    }
    if expected.large_objects != found.large_objects {
        differences
            .push(format!("there are {} large objects instead of {}", found.large_objects, expected.large_objects));
    }
    if let (Some(then), Some(now)) = (&expected.content, &found.content) {
        if then.objects != now.objects {
            let counts = format!("({} now, {} then)", now.objects.count, then.objects.count);
            differences
                .push(format!("its objects or their owners differ {counts}{}", differing(&then.names, &now.names)));
        }
        if expected.large_objects == found.large_objects && then.large_objects != now.large_objects {
            differences.push("the contents of large objects differ".into());
        }
    }
    let more = differences.len().saturating_sub(SHOWN);
    differences.truncate(SHOWN);
    if more > 0 {
        differences.push(format!("and {more} more"));
    }
    (!differences.is_empty()).then(|| format!("database {}: {}", expected.name, differences.join(", ")))
}

/// The number of rows of each table, and their sum. Partitions that exchange rows are added up under their topmost table.
fn added_up(
    tables: &[TableManifest],
    moving: &BTreeMap<QualifiedName, QualifiedName>,
) -> BTreeMap<QualifiedName, (u64, Option<String>)> {
    let mut sums: BTreeMap<QualifiedName, (u64, Option<String>)> = BTreeMap::new();
    for table in tables {
        let own = (table.schema.clone(), table.name.clone());
        let of = (table.rows, table.checksum.clone());
        let sum = match sums.remove(moving.get(&own).unwrap_or(&own)) {
            Some((rows, checksum)) => {
                (rows.saturating_add(of.0), checksum.zip(of.1).and_then(|(one, other)| sums::added(&one, &other)))
            }
            None => of,
        };
        sums.insert(moving.get(&own).cloned().unwrap_or(own), sum);
    }
    sums
}

/// Names one object that is missing, and one that was not there.
fn differing(then: &[String], now: &[String]) -> String {
    if then.is_empty() || now.is_empty() {
        return String::new();
    }
    let lacks = |of: &[String], others: &[String]| {
        let others: BTreeSet<&String> = others.iter().collect();
        of.iter().find(|one| !others.contains(one)).cloned()
    };
    let mut differences = String::new();
    for (one, how) in [(lacks(then, now), "is missing"), (lacks(now, then), "was not there")] {
        differences += &one.map(|one| format!("; {} {how}", cut(&one, 300))).unwrap_or_default();
    }
    differences
}

/// Whether two checksums differ. The manifest of an earlier agent may lack one, which then is not compared.
fn differ(one: Option<&String>, other: Option<&String>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
