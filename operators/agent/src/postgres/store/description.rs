//! Pure: the objects of a snapshot in a bucket, what describes it, and whose a prefix is.

use serde::{Deserialize, Serialize};

/// The version of the format; raised if an earlier agent would misread a description.
const FORMAT: u32 = 1;

/// What the keys of a snapshot's objects begin with, below the prefix of its database.
pub(super) fn key(prefix: &str, name: &str) -> String {
    format!("{prefix}/{name}")
}

/// The key of the object that describes a snapshot.
pub(super) fn of(snapshot: &str) -> String {
    format!("{snapshot}.json")
}

/// The snapshot that an object describes by its key.
pub(super) fn described(key: &str) -> Option<&str> {
    key.strip_suffix(".json")
}

/// The key of a file of a snapshot.
pub(super) fn file(snapshot: &str, path: &str) -> String {
    format!("{snapshot}/{path}")
}

/// The key of the object that says whose a prefix is. No snapshot has that name, since those end with a part of a UID.
pub(super) fn owner(prefix: &str) -> String {
    format!("{prefix}/owner.json")
}

/// The database that a prefix belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrefixOwner {
    /// The UID of its SampleDB.
    pub(super) uid: String,
    /// Namespace and name of its SampleDB.
    pub(super) name: String,
}

/// What describes a snapshot in a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SnapshotDescription {
    pub(super) format: u32,
    /// Namespace and name of the SampleDB that it was taken of.
    pub(super) sample_db: String,
    /// The application's database.
    pub(super) database: String,
    pub(super) engine_version: String,
    /// Seconds since 1970.
    pub(super) completed_at: u64,
    /// The SHA-256 of its manifest.
    pub(super) sha256: String,
    /// Whether it was restored into a throwaway server without an error.
    pub(super) verified: bool,
    /// Directories that no file is in, and that a server needs.
    pub(super) directories: Vec<String>,
}

impl SnapshotDescription {
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string_pretty(&Self { format: FORMAT, ..self.clone() }).unwrap_or_default()
    }

    /// Whether a text is a description of a later format.
    pub(super) fn is_later(text: &str) -> bool {
        let format = serde_json::from_str::<serde_json::Value>(text).ok().and_then(|read| read["format"].as_u64());
        format.is_some_and(|format| format > u64::from(FORMAT))
    }

    /// Parses a description. The error is a message.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let described: Self =
            serde_json::from_str(text).map_err(|error| format!("it does not describe one: {error}"))?;
        if described.format != FORMAT {
            return Err(format!("its description has format {}, and this agent reads {FORMAT}", described.format));
        }
        match described.directories.iter().find(|path| !is_below(path)) {
            Some(path) => Err(format!("its description names {path}, which is outside of the snapshot")),
            None => Ok(described),
        }
    }
}

/// Whether a path stays below the directory that it is relative to.
pub(super) fn is_below(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The newest of the snapshots with descriptions that can be read; of those of one second, the last by name.
pub(super) fn newest(
    all: impl IntoIterator<Item = (String, SnapshotDescription)>,
) -> Option<(String, SnapshotDescription)> {
    all.into_iter()
        .max_by(|(one, of_one), (other, of_other)| (of_one.completed_at, one).cmp(&(of_other.completed_at, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_snapshot_is_the_one_that_was_completed_last() {
        let at = |completed_at| SnapshotDescription { completed_at, ..SnapshotDescription::default() };
        let all = [("p/b".to_owned(), at(2)), ("p/c".to_owned(), at(1)), ("p/a".to_owned(), at(2))];
        assert_eq!(newest(all).map(|(key, _)| key).as_deref(), Some("p/b"));
        assert_eq!(newest([]), None);
    }

    #[test]
    fn a_description_leads_nowhere_else() {
        let of = |directories: &[&str]| SnapshotDescription {
            directories: directories.iter().map(|path| (*path).to_owned()).collect(),
            ..SnapshotDescription::default()
        };
        let right = of(&["base/pg_notify", "base/pg_wal/archive_status"]);
        assert_eq!(SnapshotDescription::parse(&right.to_text()).map(|read| read.directories), Ok(right.directories));
        for wrong in ["../x", "/etc", "base/../../x", "base//x", "", "."] {
            assert!(SnapshotDescription::parse(&of(&[wrong]).to_text()).is_err(), "{wrong:?}");
        }
        let later = of(&[]).to_text().replace("\"format\": 1", "\"format\": 2");
        assert!(SnapshotDescription::parse(&later).is_err_and(|why| why.contains("format 2")));
        assert!(SnapshotDescription::is_later(&later) && !SnapshotDescription::is_later("{}"));
        assert!(SnapshotDescription::parse("{}").is_err());
    }
}
