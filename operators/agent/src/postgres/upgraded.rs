//! The note of a finished copy of a major upgrade, which nobody has served yet.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files;

/// In the data folder until a server is started on it again: from then on the data is nobody's copy any more.
pub(crate) const NOTE: &str = "multi_operator_upgrade.json";

/// What a finished copy is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Upgraded {
    pub(crate) system_identifier: String,
    pub(crate) from_system_identifier: String,
    pub(crate) version: String,
    /// The old server's.
    pub(crate) from: String,
    pub(crate) databases: usize,
    pub(crate) tables: usize,
    pub(crate) rows: u64,
    /// When writers were shut out, and when the copy was complete: milliseconds since 1970.
    pub(crate) closed_at: u64,
    pub(crate) copied_at: u64,
    /// The number that the old server's next transaction was going to have when it was compared last; not in the notes of
    /// earlier agents.
    #[serde(default)]
    pub(crate) next_transaction: Option<u64>,
}

/// The data is going to be served, and may be written from now on.
pub(crate) fn in_use(data: &Path) -> io::Result<()> {
    let note = data.join(NOTE);
    if !note.exists() {
        return Ok(());
    }
    files::remove(&note)?;
    files::sync_folder(data)
}
