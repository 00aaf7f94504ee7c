//! Room on the volume of etcd's data. etcd ends when a write fails for want of room, and cannot start again where there is
//! none at all. So a file is held back, which is given up when that happens; and where it has been given up already, etcd is
//! started as soon as there is room again, however long that takes. Beside an etcd that runs, it is taken back once there is
//! plenty of room (`keeper.rs`).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Reason};
use crate::held_room::{self, discard, fill, free, is_full, length, take};
use crate::progress::WaitLogger;

/// What etcd needs at least to come up.
const NEEDED: u64 = 4 << 20;
/// How often to look whether there is room.
const AGAIN: Duration = Duration::from_secs(2);
/// How long to wait before saying once more that there is none; the kubelet ends a container that has not started after
/// half an hour.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// How much is taken at a time beside an etcd that runs, so that its own writes hardly wait.
const PART: u64 = 16 << 20;

/// Whether there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// There is, and the reserve is there.
    Kept,
    /// There is for etcd, and not for a reserve besides.
    Short,
    /// There was none, and the reserve has been given up.
    GivenUp,
    /// There is none.
    None,
}

/// Sees to it that there is room beside `data_dir`, holding that many bytes back, and returns whether they are. Fails the first
/// time that there is none, for operators to see; waits from then on, by a marker in `state`, which lives as long as the pod.
pub(crate) fn secure(data_dir: &Path, reserve: u64, state: &Path) -> Result<bool, Failure> {
    let volume = data_dir.parent().unwrap_or(data_dir);
    let full_marker = state.join("full");
    let room = || {
        look(volume, reserve).unwrap_or_else(|error| {
            // Data that is there must not stay down because of a reserve.
            eprintln!("no room can be held back in {}: {error}", volume.display());
            Room::Kept
        })
    };
    let mut found = room();
    if found == Room::None && full_marker.exists() {
        let mut progress = WaitLogger::new(format!("there is room in {}", volume.display()));
        let deadline = Instant::now() + PATIENCE;
        while found == Room::None && Instant::now() < deadline {
            progress.update("no space left on device");
            thread::sleep(AGAIN);
            found = room();
        }
    }
    match found {
        Room::None => {
            // Without the marker it fails once more, and no worse.
            let _ = File::create(&full_marker);
            let message = format!(
                "the volume of {} is full (no space left on device); etcd is started as soon as there is room",
                volume.display()
            );
            return Err(Failure::new(Reason::NoSpace, message));
        }
        Room::GivenUp => eprintln!("{} was full: its reserve has been given up", volume.display()),
        Room::Short => eprintln!("{} has no room for a reserve of {reserve} bytes", volume.display()),
        Room::Kept => {}
    }
    let _ = fs::remove_file(&full_marker);
    Ok(found == Room::Kept)
}

/// Removes what a defragmentation left that failed or was interrupted, which may be as large as the database. etcd does the same
/// when it starts; but it does not start as long as there is no room.
pub(crate) fn clear(data_dir: &Path) {
    let entries = fs::read_dir(data_dir.join("member/snap")).into_iter().flatten().flatten();
    for orphan in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"db.tmp")) {
        match fs::remove_file(orphan.path()) {
            Ok(()) => eprintln!("{} is removed: a defragmentation has left it", orphan.path().display()),
            Err(error) => eprintln!("{} cannot be removed: {error}", orphan.path().display()),
        }
    }
}

fn has_room(volume: &Path) -> io::Result<bool> {
    held_room::has_room(&volume.join("reserve.probe"), NEEDED)
}

fn look(volume: &Path, reserve: u64) -> io::Result<Room> {
    let Files { held, new } = Files::of(volume);
    if !has_room(volume)? {
        return Ok(if discard(&new)? | discard(&held)? { Room::GivenUp } else { Room::None });
    }
    if length(&held) >= reserve {
        return Ok(Room::Kept);
    }
    let taken = take(&new, reserve);
    if taken.is_ok() && has_room(volume)? {
        fs::rename(&new, &held)?;
        return Ok(Room::Kept);
    }
    discard(&new)?;
    match taken {
        Err(error) if !is_full(&error) => Err(error),
        _ => Ok(Room::Short),
    }
}

/// Takes one part more of a reserve that was given up, beside an etcd that runs, and so only once there is plenty of room.
/// Whether that has made it whole.
pub(crate) fn regain(data_dir: &Path, reserve: u64) -> io::Result<bool> {
    let volume = data_dir.parent().unwrap_or(data_dir);
    let Files { held, new } = Files::of(volume);
    if length(&held) >= reserve {
        return Ok(false);
    }
    match part(length(&new), reserve, free(volume)?) {
        Some(0) => fs::rename(&new, &held).map(|()| true),
        Some(more) => fill(File::options().create(true).append(true).open(&new)?, more).map(|()| false),
        None => discard(&new).map(|_| false),
    }
}

/// Gives the reserve up beside an etcd that runs. Whether there was one.
pub(crate) fn release(data_dir: &Path) -> io::Result<bool> {
    discard(&Files::of(data_dir.parent().unwrap_or(data_dir)).held)
}

/// How much more to take, where so much has been taken, of so much, and so much is free. Nothing more, once all has been; none,
/// and what has been is to be given back, where less than twice as much would be left to etcd.
fn part(begun: u64, reserve: u64, free: u64) -> Option<u64> {
    let left = reserve.saturating_sub(begun);
    (free >= left.saturating_add(reserve.saturating_mul(2))).then(|| left.min(PART))
}

/// The reserve, and what it is made of.
struct Files {
    held: PathBuf,
    new: PathBuf,
}

impl Files {
    fn of(volume: &Path) -> Self {
        Self { held: volume.join("reserve"), new: volume.join("reserve.new") }
    }
}

#[cfg(test)]
#[path = "reserve_tests.rs"]
mod tests;
