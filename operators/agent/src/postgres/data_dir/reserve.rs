//! Room that is held back on the volume of the data. A server that finds none for its WAL ends, and where there is none at all
//! it does not start again, as recovery writes WAL, too. So a file beside the data takes some, and is given up then.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::held_room::{self, discard, fill, free, is_full, length, take};
use crate::postgres::files::beside;

/// What a server needs at least to come up: two segments of WAL.
const NEEDED: u64 = 32 << 20;
/// How much is taken at a time beside a server that runs: a probe has seconds.
const PART: u64 = 16 << 20;

/// Gives the room up that is held back for the data, if there is no other.
pub(crate) fn make_room(data: &Path) {
    if let Err(error) = give_up(data) {
        log_failure(data, &error);
    }
}

/// Holds that many bytes back, as long as there is room besides; or gives them up if there is none. A server starts without a
/// reserve, too.
pub(crate) fn keep(data: &Path, bytes: u64) {
    if let Err(error) = give_up(data).and_then(|full| if full { Ok(()) } else { hold(data, bytes) }) {
        log_failure(data, &error);
    }
}

/// Takes one part more of a reserve that was given up: beside a server that runs, and so only once there is plenty of room.
pub(crate) fn regain(data: &Path, bytes: u64) {
    if let Err(error) = regain_part(data, bytes) {
        log_failure(data, &error);
    }
}

fn regain_part(data: &Path, bytes: u64) -> io::Result<()> {
    let (held, new) = (beside(data, ".reserve"), beside(data, ".reserve.new"));
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

/// How much more to take, where so much has been taken, of so much, and so much is free. Nothing more, once all has been; none,
/// and what has been is to be given back, where a server that fills the rest might miss it.
fn part(begun: u64, bytes: u64, free: u64) -> Option<u64> {
    let left = bytes.saturating_sub(begun);
    (free >= left + bytes + NEEDED).then(|| left.min(PART))
}

fn log_failure(data: &Path, error: &io::Error) {
    eprintln!("cannot reserve space next to {}: {error}", data.display());
}

/// Whether there is no room but for what was given up.
fn give_up(data: &Path) -> io::Result<bool> {
    let full = !has_room(data)?;
    if full && (discard(&beside(data, ".reserve.new"))? | discard(&beside(data, ".reserve"))?) {
        eprintln!("the volume of {} is full: released the reserved space", data.display());
    }
    Ok(full)
}

fn hold(data: &Path, bytes: u64) -> io::Result<()> {
    let (held, new) = (beside(data, ".reserve"), beside(data, ".reserve.new"));
    if length(&held) >= bytes {
        return Ok(());
    }
    let taken = take(&new, bytes);
    if taken.is_ok() && has_room(data)? {
        return fs::rename(&new, &held);
    }
    discard(&new)?;
    taken.or_else(|error| if is_full(&error) { Ok(()) } else { Err(error) })
}

fn has_room(data: &Path) -> io::Result<bool> {
    held_room::has_room(&beside(data, ".probe"), NEEDED)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn a_reserve_is_held_back_and_grows_with_what_is_asked_for() {
        let folder = std::env::temp_dir().join(format!("agent-reserve-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let data = folder.join("pgdata");
        fs::create_dir_all(&data).unwrap();
        for (asked, held) in [(0, 0), (100_000, 100_000), (3 << 20, 3 << 20), (100_000, 3 << 20)] {
            keep(&data, asked);
            assert_eq!(fs::metadata(folder.join("pgdata.reserve")).map_or(0, |file| file.len()), held);
        }
        make_room(&data);
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "there is room, and nothing else is left: {left:?}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_reserve_that_was_given_up_comes_back_in_parts() {
        let folder = std::env::temp_dir().join(format!("agent-regain-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let data = folder.join("pgdata");
        fs::create_dir_all(&data).unwrap();
        let lengths = || (length(&folder.join("pgdata.reserve.new")), length(&folder.join("pgdata.reserve")));
        let mut seen = Vec::new();
        for _ in 0..4 {
            regain(&data, PART + 1);
            seen.push(lengths());
        }
        assert_eq!(seen, [(PART, 0), (PART + 1, 0), (0, PART + 1), (0, PART + 1)]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn beside_a_server_that_runs_only_plenty_of_room_is_taken_from() {
        let wanted = 2 * PART;
        assert_eq!(part(0, wanted, 2 * wanted + NEEDED), Some(PART));
        assert_eq!(part(PART, wanted, 2 * wanted + NEEDED - PART), Some(PART));
        assert_eq!(part(wanted, wanted, wanted + NEEDED), Some(0));
        assert_eq!(part(0, wanted, 2 * wanted + NEEDED - 1), None);
        assert_eq!(part(wanted, wanted, wanted + NEEDED - 1), None, "what was begun is given back");
    }

    #[test]
    fn what_is_full_is_told_from_what_is_forbidden() {
        assert!(is_full(&io::Error::from_raw_os_error(28)) && is_full(&io::Error::from_raw_os_error(122)));
        assert!(!is_full(&io::Error::from(ErrorKind::PermissionDenied)));
    }

    #[test]
    fn where_nothing_can_be_written_the_server_is_not_held_up() {
        keep(Path::new("/nowhere/pgdata"), 1);
        make_room(Path::new("/nowhere/pgdata"));
    }
}
