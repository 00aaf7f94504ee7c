//! Holds the rule that plans are pure: a file whose first line begins with `//! Pure` knows nothing of the world, and neither does
//! any file that it imports. In `lib.rs` the mark is that of the whole crate.
//!
//! Constants and type aliases may come from any file: they do nothing by themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::imports::{Crate, Import};

#[cfg(test)]
mod tests;

/// What a pure file must not mention, outside comments, texts and tests.
const FORBIDDEN: [&str; 16] = [
    "async ",
    ".await",
    "Client",
    "Api<",
    "Store<",
    "tokio",
    "::now",
    ".elapsed(",
    "env::",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "RandomState::",
    "getrandom",
    "tracing::",
];
/// The start of the first line of a pure file.
const MARK: &str = "//! Pure";

/// Reads a file; nothing if it is not there.
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

pub(crate) fn violations(root: &Path) -> Vec<String> {
    let folder = root.join("operators");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Workspace::read(&folder, &names, &|path| std::fs::read_to_string(path).ok()).violations(root)
}

/// Crates by the names that code has for them. A library and a program of one name are two.
struct Workspace {
    crates: Vec<(String, Crate)>,
    texts: BTreeMap<PathBuf, String>,
    /// Crates that are pure as a whole.
    pure: Vec<String>,
}

impl Workspace {
    fn read(folder: &Path, names: &[String], read: Read<'_>) -> Self {
        let mut workspace = Self { crates: Vec::new(), texts: BTreeMap::new(), pure: Vec::new() };
        for name in names {
            let source = folder.join(name).join("src");
            let name = name.replace('-', "_");
            for top in ["lib.rs", "main.rs"].map(|top| source.join(top)).into_iter().filter(|top| read(top).is_some()) {
                // What cannot be read is reported by the check of import cycles.
                let Ok(it) = Crate::read(&top, read) else { continue };
                let texts = it.files().filter_map(|(path, _)| Some((path.to_owned(), read(path)?)));
                workspace.texts.extend(texts);
                if workspace.texts.get(&top).is_some_and(|text| text.starts_with(MARK)) {
                    workspace.pure.push(name.clone());
                }
                workspace.crates.push((name.clone(), it));
            }
        }
        workspace
    }

    fn violations(&self, root: &Path) -> Vec<String> {
        let mut violations = Vec::new();
        let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
        for (name, it) in &self.crates {
            for (path, imports) in it.files() {
                let file = shown(path);
                if !self.is_pure(name, path) {
                    let is_plan = path.ends_with("plan.rs");
                    violations
                        .extend(is_plan.then(|| format!("{file}: a plan is pure; begin the file with `{MARK}: `")));
                    continue;
                }
                violations.extend(impurities(self.text(path)).map(|(line, word)| {
                    let word = word.trim();
                    format!(
                        "{file}:{line}: `{word}` has no place in a pure file; what it gives must come in as an argument"
                    )
                }));
                let impure = imports.iter().filter_map(|import| self.impure(name, it, import));
                violations.extend(impure.map(|(import, from)| {
                    format!(
                        "{file}: `{import}` comes from {}, which is not marked `{MARK}`: mark it, or move what is pure of it into \
                         a file of its own",
                        shown(from)
                    )
                }));
            }
        }
        violations.sort();
        violations.dedup();
        violations
    }

    /// What an import of a file of the crate `name` is called, and the file that it comes from, if that is not pure.
    fn impure<'a>(&'a self, name: &str, it: &'a Crate, import: &Import) -> Option<(String, &'a Path)> {
        let (owner, (path, item)) = match it.definer(import) {
            Some(found) => (name, found),
            None => {
                let (first, below) = import.path.split_first()?;
                (&**first, self.library(first)?.definer(&Import::at_top(below, import))?)
            }
        };
        let is_inert = self.is_pure(owner, path) || is_constant_or_alias(self.text(path), &item);
        (!is_inert).then(|| (import.path.join("::"), path))
    }

    fn library(&self, name: &str) -> Option<&Crate> {
        self.crates.iter().find(|(other, it)| other == name && it.is_library()).map(|(_, it)| it)
    }

    fn is_pure(&self, name: &str, path: &Path) -> bool {
        self.pure.iter().any(|pure| pure == name) || self.text(path).starts_with(MARK)
    }

    fn text(&self, path: &Path) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }
}

fn is_constant_or_alias(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches("pub").trim_start_matches("(crate)").trim_start_matches("(super)");
        let rest = line.trim_start().strip_prefix("const ").or_else(|| line.trim_start().strip_prefix("type "));
        rest.and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with([':', ' ', '<']))
    })
}

fn impurities(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")).flat_map(|(index, line)| {
        // Every other part is in quotes.
        let code: String = line.split('"').step_by(2).collect();
        FORBIDDEN.into_iter().filter(move |word| code.contains(word)).map(move |word| (index + 1, word))
    })
}
