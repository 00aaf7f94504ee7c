//! The files of a crate with what each imports, for checks that follow imports.

use std::path::Path;

use super::{Crate, File, Names};

/// What a file names of another one.
pub(crate) struct Import {
    /// The module of the file.
    from: Names,
    /// The path, from the top of another crate or as the file's own module would write it.
    pub(crate) path: Names,
    is_glob: bool,
    is_of_another_crate: bool,
}

impl Import {
    /// A path from the top of a crate, as another one names it.
    pub(crate) fn at_top(below: &[String], like: &Self) -> Self {
        let path = [&["crate".to_owned()], below].concat();
        Self { from: Names::new(), path, is_glob: like.is_glob, is_of_another_crate: true }
    }
}

impl Crate {
    /// Each file with its imports. A path whose first name is imported counts as the path with the import's target.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, Vec<Import>)> {
        self.modules.iter().map(|(from, module)| {
            let File { uses, globs, paths, .. } = &module.file;
            let whole =
                |path: &Names| match path.split_first().and_then(|(first, below)| Some((uses.get(first)?, below))) {
                    Some((target, below)) => [&target[..], below].concat(),
                    None => path.clone(),
                };
            let import =
                |path: Names, is_glob| Import { from: from.clone(), path, is_glob, is_of_another_crate: false };
            let names = uses.values().cloned().chain(paths.iter().map(whole)).map(|path| import(path, false));
            let globs = globs.iter().map(|path| import(path.clone(), true));
            (&*module.path, names.chain(globs).collect())
        })
    }

    /// Each file with the names of its types that other files can see.
    pub(crate) fn types(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.modules.values().flat_map(|module| module.file.types.iter().map(|name| (&*module.path, &**name)))
    }

    /// The file that defines what is imported, and its name there; none if that is in another crate. None also for a module, of
    /// which only imports through it count.
    pub(crate) fn definer(&self, import: &Import) -> Option<(&Path, String)> {
        let of = |path: &[String]| self.resolve(&import.from, path, 0);
        let module = of(&import.path)?;
        let path = &*self.modules.get(&module)?.path;
        if import.is_glob {
            return Some((path, "*".to_owned()));
        }
        let is_own = module == import.from && !import.is_of_another_crate;
        if is_own || self.is_module(import, &import.path) {
            return None;
        }
        // A constant of a type, or a variant, belongs to the type.
        let mut item = &import.path[..];
        while let Some((_, before)) = item.split_last()
            && !before.is_empty()
            && !self.is_module(import, before)
            && of(before).as_ref() == Some(&module)
        {
            item = before;
        }
        Some((path, item.last()?.clone()))
    }

    fn is_module(&self, import: &Import, path: &[String]) -> bool {
        let Some((last, before)) = path.split_last() else { return true };
        if ["crate", "self", "super"].contains(&last.as_str()) {
            return true;
        }
        let parent = if before.is_empty() { Some(import.from.clone()) } else { self.resolve(&import.from, before, 0) };
        parent.is_some_and(|parent| self.modules.contains_key(&[&parent[..], std::slice::from_ref(last)].concat()))
    }

    /// Whether other crates can import from it.
    pub(crate) fn is_library(&self) -> bool {
        self.modules.get(&Names::new()).is_some_and(|top| top.path.ends_with("lib.rs"))
    }
}
