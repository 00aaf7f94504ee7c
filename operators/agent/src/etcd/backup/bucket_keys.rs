//! Pure: the keys of backups in a bucket. They begin with the key that the user chose, as those of the archived operator do.

/// The key of a snapshot.
pub(super) fn snapshot(key: &str, version: Option<(i64, &str)>) -> String {
    match version {
        Some((revision, name)) => format!("{}{revision}_{name}", versions(key)),
        None => key.to_owned(),
    }
}

/// What the keys of all versions begin with.
pub(super) fn versions(key: &str) -> String {
    format!("{key}_v")
}

/// The key of what describes a snapshot.
pub(super) fn description(snapshot: &str) -> String {
    format!("{snapshot}.json")
}

/// The snapshot that an object describes by its key.
pub(super) fn described(key: &str) -> Option<&str> {
    key.strip_suffix(".json")
}

/// Whether that is the key of a version of that name.
pub(super) fn is_version(snapshot: &str, key: &str, name: &str) -> bool {
    let version = snapshot.strip_prefix(&versions(key)).and_then(|version| version.split_once('_'));
    version.is_some_and(|(revision, of)| of == name && revision.parse::<i64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_the_revision_and_the_name_of_the_backup() {
        assert_eq!(snapshot("a/b", None), "a/b");
        let version = snapshot("a/b", Some((12, "nightly-20261129-030000")));
        assert_eq!(version, "a/b_v12_nightly-20261129-030000");
        assert!(is_version(&version, "a/b", "nightly-20261129-030000"));
        assert!(!is_version(&version, "a/b", "20261129-030000"));
        assert!(!is_version("a/b_vx_n", "a/b", "n") && !is_version("a/b", "a/b", "n"));
        assert_eq!(described(&description(&version)), Some(&*version));
    }
}
