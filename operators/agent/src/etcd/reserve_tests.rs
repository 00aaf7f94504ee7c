//! The reserve, in a directory of the test's own.

use std::io::ErrorKind;

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
fn a_reserve_is_taken_and_grows_with_what_is_requested() {
    let scratch = Scratch::new("held");
    let secure = |bytes| secure(&scratch.0.join("data"), bytes, &scratch.0.join("state"));
    for (asked, held) in [(0, 0), (100_000, 100_000), (3 << 20, 3 << 20), (100_000, 3 << 20)] {
        assert_eq!(secure(asked), Ok(true));
        assert_eq!(scratch.size(), held);
    }
    let left: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "the probe is deleted: {left:?}");
}

#[test]
fn a_full_volume_is_distinguished_from_a_forbidden_write() {
    assert!(is_full(&io::Error::from_raw_os_error(28)) && is_full(&io::Error::from_raw_os_error(122)));
    assert!(!is_full(&io::Error::from(ErrorKind::PermissionDenied)));
    assert!(!is_full(&io::Error::from(ErrorKind::ReadOnlyFilesystem)));
}

#[test]
fn where_nothing_can_be_written_etcd_is_not_held_up() {
    let nowhere = Path::new("/nowhere/data");
    assert_eq!(secure(nowhere, 1, Path::new("/nowhere/state")), Ok(true));
}

#[test]
fn a_released_reserve_is_taken_back_in_parts() {
    let scratch = Scratch::new("regained");
    let begun = || length(&scratch.0.join("reserve.new"));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let complete = regain(&scratch.0.join("data"), PART_BYTES + 1).unwrap();
        seen.push((complete, begun(), scratch.size()));
    }
    let complete = PART_BYTES + 1;
    assert_eq!(seen, [(false, PART_BYTES, 0), (false, complete, 0), (true, 0, complete), (false, 0, complete)]);
}

#[test]
fn while_etcd_runs_space_is_taken_only_if_there_is_plenty() {
    let wanted = 2 * PART_BYTES;
    assert_eq!(part(0, wanted, 3 * wanted), Some(PART_BYTES));
    assert_eq!(part(PART_BYTES, wanted, 3 * wanted - PART_BYTES), Some(PART_BYTES));
    assert_eq!(part(wanted, wanted, 2 * wanted), Some(0));
    assert_eq!(part(0, wanted, 3 * wanted - 1), None);
    assert_eq!(part(wanted, wanted, 2 * wanted - 1), None, "what was begun is given back");
    assert_eq!(part(0, u64::MAX, u64::MAX), Some(PART_BYTES), "no number is too large");
}

#[test]
fn what_a_defragmentation_left_is_removed_and_nothing_else() {
    let scratch = Scratch::new("orphans");
    let snap = scratch.0.join("data/member/snap");
    fs::create_dir_all(&snap).unwrap();
    for name in ["db", "db.tmp.123", "db.tmp", "0000000000000002-0000000000000005.snap", "0000000000000007.snap.db"] {
        fs::write(snap.join(name), "x").unwrap();
    }
    clear(&scratch.0.join("data"));
    let mut left: Vec<_> = fs::read_dir(&snap).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["0000000000000002-0000000000000005.snap", "0000000000000007.snap.db", "db"]);
    clear(Path::new("/nowhere/data"));
}
