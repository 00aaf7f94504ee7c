//! Which file of a crate imports which: from names to the files that define what they stand for.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::file::{File, Names};
use super::graph::{self, Edges};

pub(super) mod files;

/// Maximum number of re-exports between an import and its item; more of them form a ring.
const MOST_HOPS: usize = 16;

/// The modules of a crate that have files of their own, by their names from the top.
pub(crate) struct Crate {
    directory: PathBuf,
    modules: BTreeMap<Names, Module>,
}

struct Module {
    path: PathBuf,
    file: File,
}

/// Reads a file; nothing if it is not there.
pub(crate) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

impl Crate {
    /// Reads the file at the top of a crate and those of all modules below it.
    ///
    /// # Errors
    /// If a file is missing, or is not Rust.
    pub(crate) fn read(top: &Path, read: Read<'_>) -> Result<Self, String> {
        let directory = top.parent().unwrap_or(Path::new("")).to_owned();
        let mut all = Self { directory: directory.clone(), modules: BTreeMap::new() };
        all.load(vec![top.to_owned()], &directory, Names::new(), read)?;
        Ok(all)
    }

    /// Reads a module's file, the first of `candidates` that exists, and those of the modules below it.
    fn load(
        &mut self,
        candidates: Vec<PathBuf>,
        directory: &Path,
        module: Names,
        read: Read<'_>,
    ) -> Result<(), String> {
        let missing = || format!("{}: the file of a module is missing", directory.display());
        let found = candidates.into_iter().find_map(|path| Some((read(&path)?, path)));
        let (text, path) = found.ok_or_else(missing)?;
        let file = File::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        for child in &file.children {
            let candidates = vec![directory.join(format!("{child}.rs")), directory.join(child).join("mod.rs")];
            self.load(candidates, &directory.join(child), [&module[..], std::slice::from_ref(child)].concat(), read)?;
        }
        self.modules.insert(module, Module { path, file });
        Ok(())
    }

    /// A message for each group of files that import each other.
    pub(super) fn cycles(&self) -> Vec<String> {
        let edges = self.edges();
        graph::cycles(&edges).iter().map(|cycle| self.describe(cycle, &edges)).collect()
    }

    /// Which modules each module imports from, with a path that does so.
    fn edges(&self) -> Edges<Names, String> {
        let of = |(from, module): (&Names, &Module)| {
            let File { uses, globs, paths, .. } = &module.file;
            let imports = uses.values().chain(globs).chain(paths);
            let edges = imports.filter_map(|path| Some((self.resolve(from, path, 0)?, path.join("::"))));
            (from.clone(), edges.filter(|(to, _)| to != from).collect())
        };
        self.modules.iter().map(of).collect()
    }

    /// The module whose file defines what `path` means in the module `from`; none if that is in another crate.
    fn resolve(&self, from: &Names, path: &[String], hops: usize) -> Option<Names> {
        if hops > MOST_HOPS {
            return None;
        }
        let (mut at, mut rest) = match path {
            [first, rest @ ..] if first == "crate" => (Names::new(), rest),
            [first, rest @ ..] if first == "self" => (from.clone(), rest),
            _ => (from.clone(), path),
        };
        while let [first, others @ ..] = rest
            && first == "super"
        {
            at.pop()?;
            rest = others;
        }
        let is_anchored = rest.len() < path.len();
        let Some((name, below)) = rest.split_first() else { return Some(at) };
        let child = [&at[..], std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&child) {
            return self.resolve(&child, &[&["self".to_owned()], below].concat(), hops + 1);
        }
        let file = &self.modules.get(&at)?.file;
        if file.items.contains(name) {
            return Some(at);
        }
        if let Some(target) = file.uses.get(name) {
            let target = [&target[..], below].concat();
            return if target == path { None } else { self.resolve(&at, &target, hops + 1) };
        }
        // A path that begins with neither crate, self nor super names another crate, rather than an item of a glob.
        let through = |glob: &Names| self.resolve(&at, &[&glob[..], rest].concat(), hops + 1);
        let found = file.globs.iter().filter(|_| is_anchored).find_map(through);
        // A macro may have defined the item, in the file that the path leads to.
        found.or_else(|| is_anchored.then_some(at))
    }

    /// The imports from modules below one at the top of the crate, or from itself, into those below another one.
    pub(super) fn imports(&self, from: &str, to: &str) -> Vec<String> {
        let is_below = |module: &Names, top: &str| module.first().is_some_and(|first| first == top);
        let edges = self.edges();
        let importing = edges.iter().filter(|(module, _)| is_below(module, from));
        let imports = importing.flat_map(|(module, to)| to.iter().map(move |(other, path)| (module, other, path)));
        imports.filter(|(_, other, _)| is_below(other, to)).map(|(from, to, path)| self.line(from, to, path)).collect()
    }

    /// A line that describes an import.
    fn line(&self, from: &Names, to: &Names, path: &str) -> String {
        let name = |module: &Names| {
            let path = self.modules.get(module).map_or(Path::new(""), |module| &*module.path);
            path.strip_prefix(&self.directory).unwrap_or(path).display().to_string()
        };
        format!("{} -> {} ({path})", name(from), name(to))
    }

    fn describe(&self, cycle: &[Names], edges: &Edges<Names, String>) -> String {
        let mut text = format!("{} files import each other:", cycle.len());
        let within = edges.iter().filter(|(from, _)| cycle.contains(from));
        for (from, to) in within.flat_map(|(from, to)| to.iter().map(move |to| (from, to))) {
            if cycle.contains(to.0) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\n  {}", self.line(from, to.0, to.1));
            }
        }
        text
    }
}
