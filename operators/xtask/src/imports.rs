//! Checks that no files of a crate import each other, and that imports follow the crate's layers, so that it is clear which files
//! depend on a file.
//!
//! An import leads to the file that defines the item, through any re-exports. A parent module may therefore re-export what its
//! children define, and a child may import an item of another child from the parent.

use std::path::{Path, PathBuf};

mod file;
mod graph;
mod layers;
mod resolve;

#[cfg(test)]
mod tests;

pub(crate) use resolve::files::Import;
pub(crate) use resolve::{Crate, Read};

/// A complaint for each import cycle of the operators' crates, and for each import against their layers.
pub(crate) fn violations(root: &Path) -> Vec<String> {
    let of = |name: &String| {
        let complaints = complaints(name, &root.join("operators").join(name).join("src"));
        complaints.into_iter().map(|complaint| format!("operators/{name}: {complaint}")).collect::<Vec<_>>()
    };
    crates(root).iter().flat_map(of).collect()
}

/// The directories of the workspace's crates, in order.
pub(crate) fn crates(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root.join("operators")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The complaints about a crate's library and its program.
fn complaints(name: &str, source: &Path) -> Vec<String> {
    let advice = "move what they share into a file of its own that imports none of them";
    let of = |top: PathBuf| match Crate::read(&top, &text) {
        Ok(all) => {
            let cycles = all.cycles().into_iter().map(|cycle| format!("{cycle}\n  {advice}"));
            cycles.chain(layers::violations(name, &all)).collect()
        }
        Err(why) => vec![why],
    };
    tops(source, &text).flat_map(of).collect()
}

/// The top files of a crate: those of its library and of its program.
pub(crate) fn tops(source: &Path, read: Read<'_>) -> impl Iterator<Item = PathBuf> {
    ["lib.rs", "main.rs"].map(|top| source.join(top)).into_iter().filter(|top| read(top).is_some())
}

pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
