//! The marker of a finished copy of a major upgrade that no server has served yet.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files;

/// Its file in the data directory, until a server starts on it again: from then on the data is no longer a copy.
pub(crate) const MARKER: &str = "multi_operator_upgrade.json";

/// The contents of the marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CopyMarker {
    pub(crate) system_identifier: String,
    pub(crate) from_system_identifier: String,
    pub(crate) version: String,
    /// The version of the old server.
    pub(crate) from: String,
    pub(crate) databases: usize,
    pub(crate) tables: usize,
    pub(crate) rows: u64,
    /// When clients were blocked, and when the copy was complete: milliseconds since 1970.
    pub(crate) closed_at: u64,
    pub(crate) copied_at: u64,
    /// The number of the old server's next transaction when it was last compared; none in the markers of earlier agents.
    #[serde(default)]
    pub(crate) next_transaction: Option<u64>,
}

/// Removes the marker before the data is served, as clients may write to it from then on.
pub(crate) fn remove(data: &Path) -> io::Result<()> {
    let marker = data.join(MARKER);
    if !marker.exists() {
        return Ok(());
    }
    files::remove(&marker)?;
    files::sync_directory(data)
}
