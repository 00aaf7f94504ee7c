//! Paths on the command line.

use std::path::{Path, PathBuf};

/// A path from the command line, relative to the current directory.
pub(crate) fn given(path: &Path) -> PathBuf {
    std::env::current_dir().map_or_else(|_| path.to_owned(), |directory| directory.join(path))
}
