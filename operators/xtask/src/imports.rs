//! Checks that no files of a crate import each other: whoever changes a file then knows which others depend on it.
//!
//! An import leads to the file that defines the item, through any re-exports. A parent module may therefore re-export what its
//! children define, and a child may import an item of another child from the parent.

use std::path::Path;

mod file;
mod graph;
mod resolve;

#[cfg(test)]
mod tests;

use resolve::Crate;

/// Crates whose files still import each other.
const CYCLIC: [&str; 1] = ["sample-db"];

/// A complaint for each import cycle of the operators' crates, and for each crate of [`CYCLIC`] that has none.
pub(crate) fn violations(root: &Path) -> Vec<String> {
    let folder = root.join("operators");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let of = |name: &String| match cycles(&folder.join(name).join("src")) {
        Ok(cycles) => judge(name, cycles),
        Err(why) => vec![why],
    };
    names.iter().flat_map(of).collect()
}

/// The import cycles of a crate's library and of its program, each in words.
fn cycles(source: &Path) -> Result<Vec<String>, String> {
    let mut cycles = Vec::new();
    for top in ["lib.rs", "main.rs"].map(|name| source.join(name)) {
        if top.exists() {
            cycles.extend(Crate::read(&top, &text)?.cycles());
        }
    }
    Ok(cycles)
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The complaints about a crate with these cycles.
fn judge(name: &str, cycles: Vec<String>) -> Vec<String> {
    let advice = "move what they share into a file of its own that imports none of them";
    match (CYCLIC.contains(&name), cycles.is_empty()) {
        (true, false) => Vec::new(),
        (true, true) => {
            vec![format!(
                "operators/{name}: no files import each other now; remove it from CYCLIC of xtask's imports.rs"
            )]
        }
        (false, _) => cycles.into_iter().map(|cycle| format!("operators/{name}: {cycle}\n  {advice}")).collect(),
    }
}
