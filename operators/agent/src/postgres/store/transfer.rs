//! Transfers many files at once: an object store takes longer to answer than to transfer a small file.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use agent_protocol::BucketArgs;

use super::open;
use crate::bucket::Bucket;
use crate::failure::{CommandFailure, Reason};
use crate::files::FileEntry;

/// How long the transfer of one file may take.
pub(super) const FILE_TIMEOUT: Duration = Duration::from_secs(6 * 3600);
/// How many files are transferred at once. Each may take the memory of one part of an upload.
const WORKERS: usize = 4;

/// Calls `transfer` for each file, with a connection per worker. Returns how many calls returned true. After the first failure, no other file is begun.
pub(super) fn each(
    args: &BucketArgs,
    files: &[FileEntry],
    transfer: impl Fn(&Bucket, &FileEntry) -> Result<bool, CommandFailure> + Sync,
) -> Result<usize, CommandFailure> {
    let left = Mutex::new(files.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    // Without files left, the other workers end, too.
    let stop = || *left.lock().unwrap_or_else(PoisonError::into_inner) = [].iter();
    let work = || -> Result<usize, CommandFailure> {
        let bucket = open(args)?;
        let mut transferred = 0;
        while let Some(file) = next() {
            transferred += usize::from(transfer(&bucket, file).inspect_err(|_| stop())?);
        }
        Ok(transferred)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS.min(files.len())).map(|_| scope.spawn(work)).collect();
        let mut total = Ok(0);
        for worker in workers {
            let ended = worker
                .join()
                .unwrap_or_else(|_| Err(CommandFailure::new(Reason::ToolFailed, "a transfer ended unexpectedly")));
            total = total.and_then(|total| ended.map(|more| total + more));
        }
        total
    })
}
