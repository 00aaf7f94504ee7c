//! Checks that no files of a crate import each other, and that imports follow the crate's layers: whoever changes a file then
//! knows which others depend on it.
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

pub(crate) use resolve::Crate;
pub(crate) use resolve::files::Import;

/// A complaint for each import cycle of the operators' crates, and for each import against their layers.
pub(crate) fn violations(root: &Path) -> Vec<String> {
    let folder = root.join("operators");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let of = |name: &String| {
        let complaints = complaints(name, &folder.join(name).join("src"));
        complaints.into_iter().map(|complaint| format!("operators/{name}: {complaint}")).collect::<Vec<_>>()
    };
    names.iter().flat_map(of).collect()
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
    ["lib.rs", "main.rs"].map(|top| source.join(top)).into_iter().filter(|top| top.exists()).flat_map(of).collect()
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
