//! Locks on directories. A server's own lock file has the number of a process, which is meaningless in another pod. So the agent
//! works on a directory only under a lock of the kernel, and a server that it starts holds that lock as long as one of its
//! processes lives.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::progress::WaitLogger;

/// What to do on a volume without support for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockPolicy {
    /// Continue: the database must start nevertheless; it is on its own volume, and has only one pod.
    BestEffort,
    Required,
}

/// The lock of a data directory.
pub(crate) fn path(directory: &Path) -> PathBuf {
    files::sibling(directory, ".lock")
}

/// Takes the lock, and waits for it for up to `timeout`. It is held until the file, and every copy of it, is closed.
pub(crate) fn take(path: &Path, timeout: Duration, policy: LockPolicy) -> Result<File, CommandFailure> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = opened.map_err(|error| files::failed("opened", path, &error, Reason::DataUnreadable))?;
    let end = Instant::now() + timeout;
    let mut progress: Option<WaitLogger> = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                let goal = || WaitLogger::new(format!("no other process holds {}", path.display()));
                let progress = progress.get_or_insert_with(goal);
                progress.heartbeat();
                progress.pause();
            }
            Err(TryLockError::WouldBlock) => {
                let message = format!("{} is held: another server or command uses the directory", path.display());
                return Err(CommandFailure::new(Reason::DataInUse, message));
            }
            Err(TryLockError::Error(error)) if policy == LockPolicy::BestEffort => {
                eprintln!("{} cannot be locked: {error}; continuing without a lock", path.display());
                return Ok(file);
            }
            Err(TryLockError::Error(error)) => return Err(files::failed("locked", path, &error, Reason::DataInUse)),
        }
    }
}
