//! Snapshots: what they contain, how the agent takes them, and how it deletes them.
//!
//! | file | contents |
//! |---|---|
//! | `dump.rs`, `base_backup.rs`, `prune.rs` | `pg-dump`, a logical snapshot; `pg-basebackup`, a physical one; how snapshots are removed |
//! | `snapshot.rs`, `volume.rs` | a snapshot's directory, staged and then moved to its name; how full its volume is |
//! | `manifest.rs`, `sums.rs` | what a snapshot contains, and how another database differs from it; checksums of rows; pure |
//! | `inventory.rs`, `contents.rs`, `pristine.rs`, `partitions.rs` | a database's tables and rows; its other objects; whether it is as initdb created it; partitions whose rows move |
//! | `globals.rs` | the roles of a snapshot, adapted to another server; pure |
//! | `gaps.rs`, `locks.rs` | what snapshots leave out; how many locks a dump needs |

pub(crate) mod base_backup;
pub(crate) mod contents;
pub(crate) mod dump;
pub(crate) mod gaps;
pub(crate) mod globals;
pub(crate) mod inventory;
pub(crate) mod locks;
pub(crate) mod manifest;
pub(crate) mod partitions;
pub(crate) mod pristine;
pub(crate) mod prune;
pub(crate) mod snapshot;
pub(crate) mod sums;
pub(crate) mod volume;
