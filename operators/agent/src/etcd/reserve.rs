//! The reserve: space on the volume of etcd's data, reserved by a file. etcd exits when a write fails for lack of space, and
//! cannot start again without any. The agent then releases the reserve. If it has been released already, the agent starts etcd as
//! soon as there is space again, however long that takes. While etcd runs, the keeper takes the reserve back once there is plenty
//! of space (`keeper.rs`).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::held_space::{self, discard, fill, free, is_full, length, take};
use crate::progress::WaitLogger;

/// The space that etcd needs at least to start.
const NEEDED_BYTES: u64 = 4 << 20;
/// How often to check whether there is space.
const POLL_SPACE: Duration = Duration::from_secs(2);
/// How long to wait before failing again because there is none; the kubelet ends a container that has not started after half an
/// hour.
const SPACE_TIMEOUT: Duration = Duration::from_secs(20 * 60);

/// How much the keeper takes at a time, so that etcd's own writes hardly wait.
const PART_BYTES: u64 = 16 << 20;

/// Whether there is space on the volume, and a reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReserveState {
    /// There is space, and the reserve is complete.
    Kept,
    /// There is space for etcd, and not for a reserve.
    Short,
    /// There was no space, and the reserve has been released.
    GivenUp,
    /// There is no space, and no reserve.
    None,
}

/// Ensures that there is space next to `data_dir`, and reserves that many bytes; returns whether they are reserved. Without space
/// it fails the first time, so that the operator sees that. From then on it waits, by a marker in `state`, which lives as long as
/// the pod.
pub(crate) fn secure(data_dir: &Path, reserve: u64, state: &Path) -> Result<bool, CommandFailure> {
    let volume = data_dir.parent().unwrap_or(data_dir);
    let full_marker = state.join("full");
    let observe = || {
        state_of(volume, reserve).unwrap_or_else(|error| {
            // A member that has its data must not stay down because of a reserve.
            eprintln!("no space can be reserved in {}: {error}", volume.display());
            ReserveState::Kept
        })
    };
    let mut found = observe();
    if found == ReserveState::None && full_marker.exists() {
        let mut progress = WaitLogger::new(format!("there is space in {}", volume.display()));
        let deadline = Instant::now() + SPACE_TIMEOUT;
        while found == ReserveState::None && Instant::now() < deadline {
            progress.update("no space left on device");
            thread::sleep(POLL_SPACE);
            found = observe();
        }
    }
    match found {
        ReserveState::None => {
            // Without the marker, the next start fails as well instead of waiting.
            let _ = File::create(&full_marker);
            let message = format!(
                "the volume of {} is full (no space left on device); etcd is started as soon as there is space",
                volume.display()
            );
            return Err(CommandFailure::new(Reason::NoSpace, message));
        }
        ReserveState::GivenUp => eprintln!("{} was full: its reserve has been released", volume.display()),
        ReserveState::Short => eprintln!("{} has no space for a reserve of {reserve} bytes", volume.display()),
        ReserveState::Kept => {}
    }
    let _ = fs::remove_file(&full_marker);
    Ok(found == ReserveState::Kept)
}

/// Removes the files of a failed or interrupted defragmentation, which may be as large as the database. etcd does the same when
/// it starts; but it does not start as long as there is no space.
pub(crate) fn clear(data_dir: &Path) {
    let entries = fs::read_dir(data_dir.join("member/snap")).into_iter().flatten().flatten();
    for orphan in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"db.tmp")) {
        match fs::remove_file(orphan.path()) {
            Ok(()) => eprintln!("removed {}, which a defragmentation has left", orphan.path().display()),
            Err(error) => eprintln!("{} cannot be removed: {error}", orphan.path().display()),
        }
    }
}

fn has_space(volume: &Path) -> io::Result<bool> {
    held_space::has_space(&volume.join("reserve.probe"), NEEDED_BYTES)
}

fn state_of(volume: &Path, reserve: u64) -> io::Result<ReserveState> {
    let ReserveFiles { held, new } = ReserveFiles::of(volume);
    if !has_space(volume)? {
        return Ok(if discard(&new)? | discard(&held)? { ReserveState::GivenUp } else { ReserveState::None });
    }
    if length(&held) >= reserve {
        return Ok(ReserveState::Kept);
    }
    let taken = take(&new, reserve);
    if taken.is_ok() && has_space(volume)? {
        fs::rename(&new, &held)?;
        return Ok(ReserveState::Kept);
    }
    discard(&new)?;
    match taken {
        Err(error) if !is_full(&error) => Err(error),
        _ => Ok(ReserveState::Short),
    }
}

/// Takes one more part of a released reserve while etcd runs, and only if there is plenty of space. Returns whether that has
/// completed it.
pub(crate) fn regain(data_dir: &Path, reserve: u64) -> io::Result<bool> {
    let volume = data_dir.parent().unwrap_or(data_dir);
    let ReserveFiles { held, new } = ReserveFiles::of(volume);
    if length(&held) >= reserve {
        return Ok(false);
    }
    match part(length(&new), reserve, free(volume)?) {
        Some(0) => fs::rename(&new, &held).map(|()| true),
        Some(more) => fill(File::options().create(true).append(true).open(&new)?, more).map(|()| false),
        None => discard(&new).map(|_| false),
    }
}

/// Releases the reserve while etcd runs. Returns whether there was one.
pub(crate) fn release(data_dir: &Path) -> io::Result<bool> {
    discard(&ReserveFiles::of(data_dir.parent().unwrap_or(data_dir)).held)
}

/// How many more bytes to take: 0 if all have been taken. None if etcd would have less free space than twice the reserve; what
/// has been taken is released then.
fn part(begun: u64, reserve: u64, free: u64) -> Option<u64> {
    let left = reserve.saturating_sub(begun);
    (free >= left.saturating_add(reserve.saturating_mul(2))).then(|| left.min(PART_BYTES))
}

/// The file of the complete reserve, and that of a growing one.
struct ReserveFiles {
    held: PathBuf,
    new: PathBuf,
}

impl ReserveFiles {
    fn of(volume: &Path) -> Self {
        Self { held: volume.join("reserve"), new: volume.join("reserve.new") }
    }
}

#[cfg(test)]
#[path = "reserve_tests.rs"]
mod tests;
