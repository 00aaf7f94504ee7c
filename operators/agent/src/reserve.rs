//! Room on the volume of etcd's data. etcd ends when a write fails for want of room, and cannot start again where there is
//! none at all. So a file is held back, which is given up when that happens; and where it has been given up already, etcd is
//! started as soon as there is room again, however long that takes.
//!
//! Room is measured by taking it: what a file system says of its free space is not what a quota or a device leaves.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Reason};
use crate::progress::Progress;

/// What etcd needs at least to come up.
const NEEDED: u64 = 4 << 20;
/// How often to look whether there is room.
const AGAIN: Duration = Duration::from_secs(2);
/// How long to wait before saying once more that there is none; the kubelet ends a container that has not started after
/// half an hour.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// Whether there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// There is, and the reserve is there.
    Kept,
    /// There was none, and the reserve has been given up.
    GivenUp,
    /// There is none.
    None,
}

/// Sees to it that there is room beside `data_dir`, holding that many bytes back. Fails the first time that there is none,
/// for operators to see; waits from then on, as `state` tells, which lives as long as the pod.
pub(crate) fn secure(data_dir: &Path, reserve: u64, state: &Path) -> Result<(), Failure> {
    let volume = data_dir.parent().unwrap_or(data_dir);
    let told = state.join("full");
    let room = || {
        look(volume, reserve).unwrap_or_else(|error| {
            // Data that is there must not stay down because of a reserve.
            eprintln!("no room can be held back in {}: {error}", volume.display());
            Room::Kept
        })
    };
    let mut found = room();
    if found == Room::None && told.exists() {
        let mut progress = Progress::towards(format!("there is room in {}", volume.display()));
        let deadline = Instant::now() + PATIENCE;
        while found == Room::None && Instant::now() < deadline {
            progress.still("no space left on device");
            thread::sleep(AGAIN);
            found = room();
        }
    }
    match found {
        Room::None => {
            // Without the note it fails once more, and no worse.
            let _ = File::create(&told);
            let sentence = format!(
                "the volume of {} is full (no space left on device); etcd is started as soon as there is room",
                volume.display()
            );
            return Err(Failure::new(Reason::NoSpace, sentence));
        }
        Room::GivenUp => eprintln!("{} was full: its reserve has been given up", volume.display()),
        Room::Kept => {}
    }
    let _ = fs::remove_file(&told);
    Ok(())
}

fn look(volume: &Path, reserve: u64) -> io::Result<Room> {
    let held = volume.join("reserve");
    let probe = volume.join("reserve.probe");
    let taken = take(&probe, NEEDED);
    discard(&probe)?;
    match taken {
        Ok(()) => {}
        Err(error) if is_full(&error) => return Ok(if discard(&held)? { Room::GivenUp } else { Room::None }),
        Err(error) => return Err(error),
    }
    if fs::metadata(&held).map_or(0, |file| file.len()) < reserve {
        let new = PathBuf::from(format!("{}.new", held.display()));
        match take(&new, reserve) {
            Ok(()) => fs::rename(&new, &held)?,
            Err(error) => {
                discard(&new)?;
                if !is_full(&error) {
                    return Err(error);
                }
            }
        }
    }
    Ok(Room::Kept)
}

/// Makes a file of that many bytes, written, so that they are taken.
fn take(path: &Path, bytes: u64) -> io::Result<()> {
    const BLOCK: usize = 1 << 20;
    let block = vec![0xA5; BLOCK];
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&block[..part])?;
        left -= part as u64;
    }
    // It is not synced: that room is taken matters, not what is in it.
    Ok(())
}

/// Whether there was such a file.
fn discard(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("agent-reserve-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("data")).unwrap();
            fs::create_dir_all(path.join("state")).unwrap();
            Self(path)
        }

        fn size(&self) -> u64 {
            fs::metadata(self.0.join("reserve")).map_or(0, |file| file.len())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_reserve_is_held_back_and_grows_with_what_is_asked_for() {
        let scratch = Scratch::new("held");
        let secure = |bytes| secure(&scratch.0.join("data"), bytes, &scratch.0.join("state"));
        for (asked, held) in [(0, 0), (100_000, 100_000), (3 << 20, 3 << 20), (100_000, 3 << 20)] {
            secure(asked).unwrap();
            assert_eq!(scratch.size(), held);
        }
        let left: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "the probe is gone: {left:?}");
    }

    #[test]
    fn what_is_full_is_told_from_what_is_forbidden() {
        assert!(is_full(&io::Error::from_raw_os_error(28)) && is_full(&io::Error::from_raw_os_error(122)));
        assert!(!is_full(&io::Error::from(ErrorKind::PermissionDenied)));
        assert!(!is_full(&io::Error::from(ErrorKind::ReadOnlyFilesystem)));
    }

    #[test]
    fn where_nothing_can_be_written_etcd_is_not_held_up() {
        let nowhere = Path::new("/nowhere/data");
        assert_eq!(secure(nowhere, 1, Path::new("/nowhere/state")), Ok(()));
    }
}
