//! Checks that plans are pure: a file whose first line begins with `//! Pure` has no access to clients, clocks or files, nor does
//! any file that it imports. In `lib.rs`, the mark applies to the complete crate.
//!
//! Constants and type aliases may come from any file: they have no effects by themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::imports::{self, Crate, Import, Read};

#[cfg(test)]
mod tests;

/// What a pure file must not contain outside of comments, texts and tests.
const FORBIDDEN: [&str; 18] = [
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
    "clock::random",
    "clock::fill_random",
    "getrandom",
    "tracing::",
];
/// A point in time is a value, whichever clock it comes from.
const INSTANT: &str = "tokio::time::Instant";
/// The start of the first line of a pure file.
const MARK: &str = "//! Pure";

pub(crate) fn violations(root: &Path) -> Vec<String> {
    Workspace::read(&root.join("operators"), &imports::crates(root), &imports::text).violations(root)
}

/// Crates by the names that code has for them. A library and a program of one name are two.
struct Workspace {
    crates: Vec<(String, Crate)>,
    texts: BTreeMap<PathBuf, String>,
    /// Crates all of whose files are pure.
    pure: Vec<String>,
}

impl Workspace {
    fn read(directory: &Path, names: &[String], read: Read<'_>) -> Self {
        let mut workspace = Self { crates: Vec::new(), texts: BTreeMap::new(), pure: Vec::new() };
        for name in names {
            let source = directory.join(name).join("src");
            let name = name.replace('-', "_");
            for top in imports::tops(&source, read) {
                // The check of import cycles reports a file that cannot be read.
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

    /// The path of an import in a file of the crate `name`, and the file that it comes from, if that is not pure.
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
        FORBIDDEN.into_iter().filter(move |word| has(&code, word)).map(move |word| (index + 1, word))
    })
}

/// Whether code contains the word, not only as the beginning of a longer word: `ClientError` is no `Client`, but `tokio_util`
/// counts.
fn has(code: &str, word: &str) -> bool {
    let code = &code.replace(INSTANT, "");
    let is_longer =
        |end: usize| word.ends_with(char::is_alphanumeric) && code[end..].starts_with(char::is_alphanumeric);
    code.match_indices(word).any(|(at, _)| !is_longer(at + word.len()))
}
