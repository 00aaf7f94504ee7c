//! The marker of a finished copy of a major upgrade, which no server has served yet.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::postgres::files;

/// In the data directory until a server is started on it again: from then on the data is no longer a copy.
pub(crate) const MARKER: &str = "multi_operator_upgrade.json";

/// What a finished copy is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CopyMarker {
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
    /// The number that the old server's next transaction was going to have when it was compared last; not in the markers of
    /// earlier agents.
    #[serde(default)]
    pub(crate) next_transaction: Option<u64>,
}

/// The data is going to be served, and may be written from now on.
pub(crate) fn remove(data: &Path) -> io::Result<()> {
    let marker = data.join(MARKER);
    if !marker.exists() {
        return Ok(());
    }
    files::remove(&marker)?;
    files::sync_folder(data)
}
