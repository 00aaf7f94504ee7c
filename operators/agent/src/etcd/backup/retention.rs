//! Pure: which backups are removed.

use agent_protocol::StoredBackup;

/// The backups that are removed, of all of an owner, the newest first. The newest one always stays.
pub(super) fn expired(all: &[StoredBackup], keep: Option<u32>, keep_for: Option<u64>, now: i64) -> Vec<&StoredBackup> {
    let keep = keep.map_or(usize::MAX, |keep| usize::try_from(keep).unwrap_or(usize::MAX)).max(1);
    let oldest = keep_for.and_then(|seconds| now.checked_sub(i64::try_from(seconds).ok()?)).unwrap_or(i64::MIN);
    let is_expired = |place: usize, backup: &StoredBackup| place >= keep || backup.taken_at < oldest;
    all.iter()
        .enumerate()
        .skip(1)
        .filter(|(place, backup)| is_expired(*place, backup))
        .map(|(_, backup)| backup)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(keep: Option<u32>, keep_for: Option<u64>) -> Vec<i64> {
        let all: Vec<StoredBackup> =
            [400, 300, 200, 100].map(|taken_at| StoredBackup { taken_at, ..StoredBackup::default() }).into();
        expired(&all, keep, keep_for, 1000).iter().map(|backup| backup.taken_at).collect()
    }

    #[test]
    fn count_and_age_limit_what_is_kept_and_the_newest_stays() {
        assert_eq!(removed(None, None), Vec::<i64>::new());
        assert_eq!(removed(Some(3), None), [100]);
        assert_eq!(removed(Some(1), None), [300, 200, 100]);
        assert_eq!(removed(None, Some(750)), [200, 100]);
        assert_eq!(removed(Some(3), Some(750)), [200, 100]);
        assert_eq!(removed(None, Some(1)), [300, 200, 100]);
        assert_eq!(removed(None, Some(u64::MAX)), Vec::<i64>::new());
    }
}
