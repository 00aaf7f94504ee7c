//! Pure: how full volumes are.

/// From how full on a volume is trouble, in percent: early enough to let it grow before nothing can be written.
pub(crate) const NEARLY_FULL: i32 = 80;
/// In which steps that is told, so that it is told seldom.
const STEPS: i32 = 5;

/// How many percent of the inodes are in use, of all and the free ones; nothing of a file system without a limit.
pub(crate) fn inodes_used((all, free): (i64, i64)) -> Option<i32> {
    i32::try_from(i128::from(all.saturating_sub(free)) * 100 / i128::from(all).max(1)).ok().filter(|_| all > 0)
}

/// How full a volume is, by its bytes or its inodes, as it is told.
pub(crate) fn percent(bytes: i128, room: i128, inodes: Option<i32>) -> Option<i32> {
    let percent = (bytes * 100 / room.max(1)).max(inodes.unwrap_or(0).into());
    let percent = i32::try_from(percent.clamp(0, 100)).ok()?;
    Some(percent / STEPS * STEPS)
}
