//! Pure: SHA-256 checksums, and the files of a snapshot with theirs.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// A file of a snapshot, as its manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// Relative to the snapshot's directory, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// In hexadecimal.
    pub(crate) sha256: String,
}
