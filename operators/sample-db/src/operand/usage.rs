//! Pure: how full volumes are.

/// From how many percent on a volume is nearly full: early enough to let it grow before writes fail.
pub(crate) const NEARLY_FULL: i32 = 80;
/// The step of reported percentages, so that status changes seldom.
const STEPS: i32 = 5;

/// The percentage of inodes in use; none for a file system without a limit.
pub(crate) fn inodes_used((all, free): (i64, i64)) -> Option<i32> {
    i32::try_from(i128::from(all.saturating_sub(free)) * 100 / i128::from(all).max(1)).ok().filter(|_| all > 0)
}

/// The reported percentage of a volume in use, by its bytes or its inodes.
pub(crate) fn percent(bytes: i128, room: i128, inodes: Option<i32>) -> Option<i32> {
    let percent = (bytes * 100 / room.max(1)).max(inodes.unwrap_or(0).into());
    let percent = i32::try_from(percent.clamp(0, 100)).ok()?;
    Some(percent / STEPS * STEPS)
}
