//! Checks that each type name of the workspace stands for one type, so that a search for a name finds one definition.
//!
//! Types that are private to a file do not count, nor do those of tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::imports::{self, Crate, Read};

#[cfg(test)]
mod tests;

/// Names that stand for the same thing in several crates, and the reason.
const SHARED: [(&str, &str); 4] = [
    ("Observed", "what an operator observes of one object and its children"),
    ("Queries", "what an operator asks the API server and live systems"),
    ("Settings", "the settings of an operator"),
    ("Stores", "the caches of an operator"),
];

pub(crate) fn violations(root: &Path) -> Vec<String> {
    repeated(root, &imports::crates(root), &imports::text)
}

/// A complaint for each name that types of several files have.
fn repeated(root: &Path, crates: &[String], read: Read<'_>) -> Vec<String> {
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for name in crates {
        let source = root.join("operators").join(name).join("src");
        // The check of import cycles reports a file that cannot be read.
        for parsed in imports::tops(&source, read).filter_map(|top| Crate::read(&top, read).ok()) {
            for (path, name) in parsed.types() {
                let path = path.strip_prefix(root).unwrap_or(path).to_owned();
                files.entry(name.to_owned()).or_default().insert(path);
            }
        }
    }
    files.retain(|name, files| files.len() > 1 && !SHARED.iter().any(|(shared, _)| shared == name));
    let complaint = |(name, files): (&String, &BTreeSet<PathBuf>)| {
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        format!("several types are called {name}: {}; name each after what only it is", files.join(", "))
    };
    files.iter().map(complaint).collect()
}
