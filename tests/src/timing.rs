//! The machine's exclusive lock for tests that assert how long something takes: one of them runs at a time, across all suites
//! that run at the same time, and background builds are paused meanwhile (`scripts/test.d/timing_lock.sh`).

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names the lock file. Without it there is no lock: a suite that runs alone needs none.
const VARIABLE: &str = "MULTI_OPERATOR_TIMING_LOCK";
/// What is added to the lock file's name for the lock that builds hold while they run.
const RUNNING: &str = ".running";
/// How long builds may take to pause. They get a second; after that, they are part of the measurement.
const STOPPED: Duration = Duration::from_secs(2);
/// How often the locks are tried.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The machine is this test's. Take it last, when the cluster is the test's already ([`crate::cluster::alone`]) and all is
/// prepared, and never wait for another test while holding it; give it back as soon as all is measured.
#[derive(Debug)]
pub struct Timing {
    _lock: Option<File>,
}

impl Timing {
    /// Waits until no other test on this machine measures times, and until builds are paused.
    ///
    /// # Panics
    /// If the lock file cannot be opened or locked.
    pub async fn exclusive() -> Self {
        let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
            return Self { _lock: None };
        };
        Self::of(path.into()).await
    }

    async fn of(path: PathBuf) -> Self {
        let begun = Instant::now();
        let locked = tokio::task::spawn_blocking(move || {
            lock(&path).map_err(|error| format!("{VARIABLE}={}: {error}", path.display()))
        });
        let lock = locked.await.expect("locking does not panic").unwrap_or_else(|error| panic!("{error}"));
        if begun.elapsed() > Duration::from_secs(1) {
            println!("timing: waited {:.1?} for the machine", begun.elapsed());
        }
        Self { _lock: Some(lock) }
    }
}

/// Takes the lock, then waits until the holder of the builds' lock releases it. Both locks end with their holder, so neither a
/// test nor a build that is killed leaves anything behind.
fn lock(path: &Path) -> io::Result<File> {
    let lock = open(path)?;
    lock.lock()?;
    let builds = open(&running(path))?;
    let begun = Instant::now();
    loop {
        match builds.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begun.elapsed() >= STOPPED => {
                println!("timing: builds did not pause within {STOPPED:?}");
                return Ok(lock);
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

fn running(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(RUNNING);
    path.into()
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests;
