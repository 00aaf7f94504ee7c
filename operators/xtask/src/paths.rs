//! Paths on the command line.

use std::path::{Path, PathBuf};

/// A path as people give it, below the folder they are in.
pub(crate) fn given(path: &Path) -> PathBuf {
    std::env::current_dir().map_or_else(|_| path.to_owned(), |folder| folder.join(path))
}
