//! The reserve: space on the volume of the data, reserved by a file next to it. A server without space for its WAL exits, and it
//! cannot start again without any, as recovery writes WAL too. The agent then releases the reserve.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::files::sibling;
use crate::held_space::{self, discard, fill, free, is_full, length, take};

/// The space that a server needs at least to start: two segments of WAL.
const NEEDED_BYTES: u64 = 32 << 20;
/// How much a probe takes at a time while the server runs: it has only seconds.
const PART_BYTES: u64 = 16 << 20;

/// Releases the reserve if there is no other space.
pub(crate) fn release(data: &Path) {
    if let Err(error) = release_if_full(data) {
        log_failure(data, &error);
    }
}

/// Reserves that many bytes if there is more space, and releases them if there is none. A server also starts without a reserve.
pub(crate) fn keep(data: &Path, bytes: u64) {
    if let Err(error) = release_if_full(data).and_then(|full| if full { Ok(()) } else { hold(data, bytes) }) {
        log_failure(data, &error);
    }
}

/// Takes one more part of a released reserve while the server runs, and only if there is plenty of space.
pub(crate) fn regain(data: &Path, bytes: u64) {
    if let Err(error) = regain_part(data, bytes) {
        log_failure(data, &error);
    }
}

fn regain_part(data: &Path, bytes: u64) -> io::Result<()> {
    let (held, new) = (sibling(data, ".reserve"), sibling(data, ".reserve.new"));
    if length(&held) >= bytes {
        return Ok(());
    }
    let begun = length(&new);
    match part(begun, bytes, free(data)?) {
        Some(0) => fs::rename(&new, &held),
        Some(more) => fill(File::options().create(true).append(true).open(&new)?, more),
        None => discard(&new).map(|_| ()),
    }
}

/// How many more bytes to take: 0 if all have been taken. None if the server would have too little free space; what has been
/// taken is released then.
fn part(begun: u64, bytes: u64, free: u64) -> Option<u64> {
    let left = bytes.saturating_sub(begun);
    (free >= left + bytes + NEEDED_BYTES).then(|| left.min(PART_BYTES))
}

fn log_failure(data: &Path, error: &io::Error) {
    eprintln!("cannot reserve space next to {}: {error}", data.display());
}

/// Releases the reserve if there is no other space. Returns whether that is so.
fn release_if_full(data: &Path) -> io::Result<bool> {
    let full = !has_space(data)?;
    if full && (discard(&sibling(data, ".reserve.new"))? | discard(&sibling(data, ".reserve"))?) {
        eprintln!("the volume of {} is full: released the reserved space", data.display());
    }
    Ok(full)
}

fn hold(data: &Path, bytes: u64) -> io::Result<()> {
    let (held, new) = (sibling(data, ".reserve"), sibling(data, ".reserve.new"));
    if length(&held) >= bytes {
        return Ok(());
    }
    let taken = take(&new, bytes);
    if taken.is_ok() && has_space(data)? {
        return fs::rename(&new, &held);
    }
    discard(&new)?;
    taken.or_else(|error| if is_full(&error) { Ok(()) } else { Err(error) })
}

fn has_space(data: &Path) -> io::Result<bool> {
    held_space::has_space(&sibling(data, ".probe"), NEEDED_BYTES)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_reserve_is_taken_and_grows_with_what_is_requested() {
        let directory = std::env::temp_dir().join(format!("agent-reserve-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let data = directory.join("pgdata");
        fs::create_dir_all(&data).unwrap();
        for (asked, held) in [(0, 0), (100_000, 100_000), (3 << 20, 3 << 20), (100_000, 3 << 20)] {
            keep(&data, asked);
            assert_eq!(fs::metadata(directory.join("pgdata.reserve")).map_or(0, |file| file.len()), held);
        }
        release(&data);
        let left: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "there is space, and no other file is left: {left:?}");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_released_reserve_is_taken_back_in_parts() {
        let directory = std::env::temp_dir().join(format!("agent-regain-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let data = directory.join("pgdata");
        fs::create_dir_all(&data).unwrap();
        let lengths = || (length(&directory.join("pgdata.reserve.new")), length(&directory.join("pgdata.reserve")));
        let mut seen = Vec::new();
        for _ in 0..4 {
            regain(&data, PART_BYTES + 1);
            seen.push(lengths());
        }
        assert_eq!(seen, [(PART_BYTES, 0), (PART_BYTES + 1, 0), (0, PART_BYTES + 1), (0, PART_BYTES + 1)]);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn while_a_server_runs_space_is_taken_only_if_there_is_plenty() {
        let wanted = 2 * PART_BYTES;
        assert_eq!(part(0, wanted, 2 * wanted + NEEDED_BYTES), Some(PART_BYTES));
        assert_eq!(part(PART_BYTES, wanted, 2 * wanted + NEEDED_BYTES - PART_BYTES), Some(PART_BYTES));
        assert_eq!(part(wanted, wanted, wanted + NEEDED_BYTES), Some(0));
        assert_eq!(part(0, wanted, 2 * wanted + NEEDED_BYTES - 1), None);
        assert_eq!(part(wanted, wanted, wanted + NEEDED_BYTES - 1), None, "what was begun is given back");
    }

    #[test]
    fn a_full_volume_is_distinguished_from_a_forbidden_write() {
        assert!(is_full(&io::Error::from_raw_os_error(28)) && is_full(&io::Error::from_raw_os_error(122)));
        assert!(!is_full(&io::Error::from(ErrorKind::PermissionDenied)));
    }

    #[test]
    fn where_nothing_can_be_written_the_server_is_not_held_up() {
        keep(Path::new("/nowhere/pgdata"), 1);
        release(Path::new("/nowhere/pgdata"));
    }
}
