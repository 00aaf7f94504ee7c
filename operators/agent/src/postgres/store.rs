//! Copies of snapshots in an object store.
//!
//! | file | contents |
//! |---|---|
//! | `description.rs` | the objects of a snapshot, and whose a prefix is; pure |
//! | `upload.rs`, `download.rs` | `pg-upload`, `pg-download` |
//! | `transfer.rs` | transfers many files at once |

mod description;
pub(crate) mod download;
mod transfer;
pub(crate) mod upload;

use agent_protocol::{BucketArgs, PgPrune, PgPruneResult};

use crate::bucket::Bucket;
use crate::failure::{CommandFailure, Reason};
use crate::postgres::backup::prune;

/// The bucket that a command names.
fn open(args: &BucketArgs) -> Result<Bucket, CommandFailure> {
    Bucket::open(args)?.ok_or_else(|| CommandFailure::new(Reason::BadInput, "--bucket is required"))
}

/// Removes snapshots from their volume, and then their copies in a store.
pub(crate) fn prune(options: &PgPrune) -> Result<PgPruneResult, CommandFailure> {
    let pruned = prune::prune(options)?;
    if let Some(bucket) = Bucket::open(&options.bucket)? {
        options.names.iter().try_for_each(|name| remove(&bucket, name))?;
    }
    Ok(pruned)
}

/// Removes the copy of a snapshot. The description goes first: without it, the other objects count as no snapshot.
fn remove(bucket: &Bucket, name: &str) -> Result<(), CommandFailure> {
    let snapshot = description::key(bucket.key(), name);
    bucket.remove(&description::of(&snapshot))?;
    bucket.remove_below(&snapshot)
}
