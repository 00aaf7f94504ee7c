//! Pure: how large what etcd keeps on a volume may become, by the size of the volume. Pure arithmetic, in bytes, without
//! dependencies: the operator plans with it, by what a claim asks for, and the agent, by what the file system has, so both
//! come to the same. For people it is in docs/etcd-cluster.md.

const MIB: u64 = 1024 * 1024;
/// A segment of etcd's log, in bytes. At each start it makes the next one, if it can.
pub const SEGMENT: u64 = 64 * MIB;
/// How many segments etcd keeps where nothing says otherwise (`--max-wals`).
pub const KEPT_SEGMENTS: u64 = 5;
/// What etcd's log takes, in bytes: the segments that it keeps, the one that it writes, and the next one.
pub const LOG: u64 = (KEPT_SEGMENTS + 2) * SEGMENT;
/// The largest quota, in bytes: etcd's documentation does not advise more.
pub const LARGEST_QUOTA: u64 = 8 * 1024 * MIB;
/// The largest reserve, in bytes.
pub const LARGEST_RESERVE: u64 = 32 * MIB;
/// The largest request that etcd takes where nothing says otherwise (`--max-request-bytes`), in bytes. Each is one entry of the
/// log. 3.2 has no other bound.
pub const LARGEST_REQUEST: u64 = 3 * MIB / 2;

/// The largest request in bytes, where `--max-request-bytes` is given so: what is no number above 0 counts as not given.
#[must_use]
pub fn largest_request(given: Option<&str>) -> u64 {
    given.and_then(number).filter(|bytes| *bytes > 0).unwrap_or(LARGEST_REQUEST)
}

/// A number as etcd reads those of its options and variables: Go's `strconv.ParseUint` with base 0. What etcd does not start with is none.
#[must_use]
pub fn number(text: &str) -> Option<u64> {
    if text.contains('+') || text.contains("__") || text.starts_with('_') || text.ends_with('_') {
        return None;
    }
    let text = text.to_ascii_lowercase().replace('_', "");
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(prefix, radix)| {
        let digits = text.strip_prefix(prefix)?;
        Some(u64::from_str_radix(digits, radix))
    });
    let octal =
        || text.strip_prefix('0').filter(|digits| !digits.is_empty()).map(|digits| u64::from_str_radix(digits, 8));
    prefixed.or_else(octal).unwrap_or_else(|| text.parse()).ok()
}
/// The bounds of the snapshot count, in entries; the upper one is etcd's own default from 3.6 on.
pub const SNAPSHOT_COUNTS: (u64, u64) = (10, 10_000);
/// The bounds of how long history is kept, in minutes. The lower one is how often Kubernetes' API server compacts an etcd of its
/// own accord, so clients are used to it.
pub const COMPACTION_MINUTES: (u64, u64) = (5, 60);
/// The smallest size, in bytes, that a file system is believed: some do not know theirs, and tell 0; and on less than this
/// etcd does not start anyway.
const SMALLEST_FILE_SYSTEM: u64 = MIB;

/// What a member of etcd is given of its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the agent holds back, in bytes.
    pub reserve: u64,
    /// How large the database may grow (`--quota-backend-bytes`), in bytes; never 0, which etcd takes for its default.
    pub quota: u64,
    /// After how many entries etcd takes a snapshot (`--snapshot-count`).
    pub snapshot_count: u64,
}

impl Limits {
    /// What fits a volume of so many bytes, where requests have up to so many. A smaller volume never has a larger limit.
    #[must_use]
    pub fn of(volume: u64, request: u64) -> Self {
        Self { reserve: reserve(volume), quota: quota(volume), snapshot_count: snapshot_count(volume, request) }
    }
}

/// What is held back of a volume, in bytes: enough for etcd to come up, and to take compactions and deletions for a while.
#[must_use]
pub fn reserve(volume: u64) -> u64 {
    (volume / 10).min(LARGEST_RESERVE)
}

/// What of a volume is left to the database, in bytes, once its log is as large as it gets.
#[must_use]
pub fn beside_the_log(volume: u64) -> u64 {
    volume.saturating_sub(LOG + reserve(volume))
}

/// How large a database may grow, in bytes, that shares a volume with its log, and with one more copy of itself, which a
/// snapshot from the leader or a defragmentation is: half of what log and reserve leave, but never less than an eighth of
/// the volume.
#[must_use]
pub fn quota(volume: u64) -> u64 {
    (beside_the_log(volume) / 2).clamp((volume / 8).clamp(1, LARGEST_QUOTA), LARGEST_QUOTA)
}

/// How many segments etcd may keep (`--max-wals`) beside one database of the quota that is given, or of the one that fits where
/// that is less or none is given. More than [`KEPT_SEGMENTS`] take from what is left for a second copy of it.
#[must_use]
pub fn most_segments(volume: u64, given: Option<u64>) -> u64 {
    let database = given.unwrap_or(u64::MAX).min(quota(volume));
    (volume.saturating_sub(reserve(volume) + database) / SEGMENT).saturating_sub(2)
}

/// How large a database may grow, in bytes, that is that large already: as [`quota`] has it, but never less than it is and a
/// tenth, as far as half of `room` goes, which is what its volume has free. A quota below the database would refuse every
/// write from the next start on.
#[must_use]
pub fn quota_of(volume: u64, database: u64, room: u64) -> u64 {
    quota(volume).max(never_below(database, room))
}

/// The least quota, in bytes, of a database that is that large already, where so much is free; see [`quota_of`].
#[must_use]
pub fn never_below(database: u64, room: u64) -> u64 {
    database.saturating_add((database / 10).min(room / 2))
}

/// After how many entries etcd may drop what came before from its log, where each may be as large as `request`, in bytes. Until
/// then it keeps every segment that they are in, however many that are. So many that they fit beside two databases, the reserve, the
/// segment that the first of them is in, and the next one; within [`SNAPSHOT_COUNTS`].
#[must_use]
pub fn snapshot_count(volume: u64, request: u64) -> u64 {
    let log = volume.saturating_sub(reserve(volume) + 2 * quota(volume));
    (log.saturating_sub(2 * SEGMENT) / request.max(1)).clamp(SNAPSHOT_COUNTS.0, SNAPSHOT_COUNTS.1)
}

/// For how long what keys were before is kept, in minutes (`--auto-compaction-retention`): five for each GiB of the volume,
/// within [`COMPACTION_MINUTES`]. etcd compacts as often as that, so its database holds what was written in twice the time.
#[must_use]
pub fn compaction_minutes(volume: u64) -> u64 {
    (volume / MIB).saturating_mul(5).div_euclid(1024).clamp(COMPACTION_MINUTES.0, COMPACTION_MINUTES.1)
}

/// The size of a file system, in bytes, as far as what is told of it can be one.
#[must_use]
pub fn file_system(bytes: u64) -> Option<u64> {
    (bytes >= SMALLEST_FILE_SYSTEM).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_etcd_reads_them() {
        let read = ["0", "00", "0x0", "0b0", "0o0", "0_0", "7", "010", "0x10", "0x_10", "1_000"].map(number);
        assert_eq!(read, [0, 0, 0, 0, 0, 0, 7, 8, 16, 16, 1000].map(Some));
        assert_eq!(["", "many", "-1", "+1", "08", "0x", "0x+1", "1.5", "_1", "1_", "1__0"].map(number), [None; 11]);
        let requests = [None, Some("0"), Some("many"), Some("0xA00000"), Some("10_000")].map(largest_request);
        assert_eq!(requests, [LARGEST_REQUEST, LARGEST_REQUEST, LARGEST_REQUEST, 10 << 20, 10_000]);
    }

    /// Every few hundred kilobytes up to 24 GiB, which is beyond each bound, and what comes after.
    fn volumes() -> impl Iterator<Item = u64> {
        let large = (0..40).map(|power| (24 << 30) + (1 << power));
        (0..24 << 30).step_by(314_159).chain(large).chain([1 << 40, 1 << 50, u64::MAX])
    }

    #[test]
    fn known_volumes() {
        let gib = Limits { reserve: 32 << 20, quota: 272 << 20, snapshot_count: 213 };
        assert_eq!(Limits::of(1 << 30, LARGEST_REQUEST), gib);
        let large = Limits { reserve: 32 << 20, quota: 8 << 30, snapshot_count: 10_000 };
        assert_eq!(Limits::of(1 << 40, LARGEST_REQUEST), large);
        let counts = [0, 16 << 10, 64 << 10, 8 << 20, u64::MAX].map(|request| snapshot_count(1 << 30, request));
        assert_eq!(counts, [10_000, 10_000, 5_120, 40, 10]);
        assert_eq!(
            snapshot_count(24 << 30, LARGEST_REQUEST),
            5_354,
            "databases grow no more from 17 GiB on, and the log may"
        );
        assert_eq!(quota(256 << 20), 32 << 20, "too small for the log anyway");
        assert_eq!(quota(10 << 30) / (MIB / 10) / 1024, 47, "4.7 GiB");
    }

    #[test]
    fn history_is_kept_as_long_as_its_volume_has_room_for() {
        let minutes = |gib: u64| compaction_minutes(gib << 30);
        assert_eq!([0, 1, 2, 10, 12, 100, u64::MAX >> 30].map(minutes), [5, 5, 10, 50, 60, 60, 60]);
        assert_eq!(compaction_minutes(u64::MAX), 60);
        for volume in volumes().filter(|volume| *volume >= 1 << 30) {
            let a_minute = quota(volume) / (2 * compaction_minutes(volume));
            assert!(a_minute >= 27 * MIB, "{volume}: {a_minute} bytes can be written a minute");
        }
    }

    #[test]
    fn a_smaller_volume_never_has_a_larger_limit() {
        for request in [1, 64 << 10, LARGEST_REQUEST, 10 << 20] {
            let mut before = Limits::of(0, request);
            for volume in volumes() {
                let now = Limits::of(volume, request);
                assert!(now.reserve >= before.reserve && now.quota >= before.quota, "{volume}: {before:?}, {now:?}");
                assert!(now.snapshot_count >= before.snapshot_count, "{volume}: {before:?}, {now:?}");
                before = now;
            }
        }
    }

    /// etcd keeps the segments that hold what came after the last snapshot: the first of them may have begun just before that, and
    /// the next one is there as well.
    #[test]
    fn the_largest_requests_between_two_snapshots_fit_beside_two_databases() {
        for request in [1, 64 << 10, LARGEST_REQUEST, 10 << 20, 32 << 20] {
            for volume in volumes().filter(|volume| *volume >= (LOG + LARGEST_RESERVE) / 3 * 4) {
                let Limits { reserve, quota, snapshot_count } = Limits::of(volume, request);
                let log = snapshot_count * request + 2 * SEGMENT;
                assert!(log + 2 * quota + reserve <= volume, "{volume}: {snapshot_count} entries of {request}");
            }
        }
    }

    #[test]
    fn database_log_reserve_and_a_second_copy_fit_the_volume() {
        for volume in volumes() {
            let Limits { reserve, quota, .. } = Limits::of(volume, LARGEST_REQUEST);
            assert!((1..=LARGEST_QUOTA).contains(&quota) && reserve <= LARGEST_RESERVE, "{volume}");
            // Below this the log alone may be too large, and the quota is an eighth.
            if volume >= (LOG + LARGEST_RESERVE) / 3 * 4 {
                assert!(2 * quota + LOG + reserve <= volume, "{volume}: {quota}");
            } else if volume >= 8 {
                assert!(2 * quota + reserve <= volume, "{volume}: {quota}");
            }
        }
    }

    #[test]
    fn so_many_segments_fit_beside_one_database() {
        let most = [1 << 26, 1 << 30, 10 << 30, u64::MAX].map(|volume| most_segments(volume, None));
        assert_eq!(most[..3], [0, 9, 81]);
        assert_eq!(most_segments(1 << 30, Some(64 << 20)), 12, "a smaller database leaves more");
        assert_eq!(most_segments(1 << 30, Some(8 << 30)), 9, "one that does not fit is told of otherwise");
        for volume in volumes().filter(|volume| *volume >= (LOG + LARGEST_RESERVE) / 3 * 4) {
            let most = most_segments(volume, None);
            assert!(most >= KEPT_SEGMENTS, "{volume}");
            assert!((most + 2) * SEGMENT + quota(volume) + reserve(volume) <= volume, "{volume}: {most}");
        }
    }

    #[test]
    fn a_database_that_is_larger_than_its_quota_may_grow_by_a_tenth_where_there_is_room() {
        assert_eq!(quota_of(1 << 30, 0, 1 << 30), 272 << 20);
        assert_eq!(quota_of(1 << 30, 247 << 20, 1 << 30), 272 << 20, "what fits is enough");
        assert_eq!(quota_of(1 << 30, 400 << 20, 1 << 30), 440 << 20);
        assert_eq!(quota_of(1 << 30, 400 << 20, 30 << 20), 415 << 20, "the other half is for the log");
        assert_eq!(quota_of(1 << 30, 400 << 20, 0), 400 << 20);
        assert_eq!(quota_of(1 << 40, 20 << 30, 1 << 40), 22 << 30, "made under a quota of the user's own");
        assert_eq!(quota_of(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_file_system_that_does_not_know_its_size_tells_nothing() {
        assert_eq!([0, 1, MIB - 1].map(file_system), [None; 3]);
        assert_eq!(file_system(MIB), Some(MIB));
    }
}
