//! Pure: how much of a volume etcd may use, by the size of the volume. Arithmetic in bytes, without dependencies. The operator
//! calculates with the size that a PVC requests, the agent with that of the file system, so both get the same results.
//! docs/etcd-cluster.md explains the numbers.

const MIB: u64 = 1024 * 1024;
/// A segment of etcd's log, in bytes. At each start etcd creates the next one, if it can.
pub const SEGMENT: u64 = 64 * MIB;
/// How many segments etcd keeps by default (`--max-wals`).
pub const KEPT_SEGMENTS: u64 = 5;
/// The size of etcd's log, in bytes: the segments that it keeps, the one that it writes, and the next one.
pub const LOG: u64 = (KEPT_SEGMENTS + 2) * SEGMENT;
/// The largest quota, in bytes: etcd's documentation advises against more.
pub const LARGEST_QUOTA: u64 = 8 * 1024 * MIB;
/// The largest reserve, in bytes.
pub const LARGEST_RESERVE: u64 = 32 * MIB;
/// The largest request that etcd accepts by default (`--max-request-bytes`), in bytes. Each request is one entry of the log.
/// etcd 3.2 always has this limit.
pub const LARGEST_REQUEST: u64 = 3 * MIB / 2;

/// The largest request in bytes with this value of `--max-request-bytes`. A value that is not a number above 0 counts as unset.
#[must_use]
pub fn largest_request(given: Option<&str>) -> u64 {
    given.and_then(number).filter(|bytes| *bytes > 0).unwrap_or(LARGEST_REQUEST)
}

/// Parses a number as etcd parses those of its options and variables: like Go's `strconv.ParseUint` with base 0. `None` for
/// a text with which etcd does not start.
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
/// The bounds of the retention of history, in minutes. Clients are used to the lower one: it is the interval at which
/// Kubernetes' API server compacts its etcd.
pub const COMPACTION_MINUTES: (u64, u64) = (5, 60);
/// The smallest plausible size of a file system, in bytes. Some report 0 because they do not know their size, and etcd does
/// not start on less than this anyway.
const SMALLEST_FILE_SYSTEM: u64 = MIB;

/// What a member may use of its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the agent reserves, in bytes.
    pub reserve: u64,
    /// How large the database may grow (`--quota-backend-bytes`), in bytes. Never 0, which means the default to etcd.
    pub quota: u64,
    /// After how many entries etcd takes a snapshot (`--snapshot-count`).
    pub snapshot_count: u64,
}

impl Limits {
    /// The limits for a volume of `volume` bytes and requests of up to `request` bytes. A smaller volume never has a larger
    /// limit.
    #[must_use]
    pub fn of(volume: u64, request: u64) -> Self {
        Self { reserve: reserve(volume), quota: quota(volume), snapshot_count: snapshot_count(volume, request) }
    }
}

/// What the agent reserves on a volume, in bytes: enough for etcd to start, and to accept compactions and deletions for a while.
#[must_use]
pub fn reserve(volume: u64) -> u64 {
    (volume / 10).min(LARGEST_RESERVE)
}

/// The space of a volume that remains for the database, in bytes, once the log has its largest size.
#[must_use]
pub fn database_space(volume: u64) -> u64 {
    volume.saturating_sub(LOG + reserve(volume))
}

/// How large a database may grow, in bytes. The volume also needs space for the log, and for a second copy of the database,
/// which a snapshot from the leader or a defragmentation creates. So this is half of what log and reserve leave, and at
/// least an eighth of the volume.
#[must_use]
pub fn quota(volume: u64) -> u64 {
    (database_space(volume) / 2).clamp((volume / 8).clamp(1, LARGEST_QUOTA), LARGEST_QUOTA)
}

/// How many segments etcd may keep (`--max-wals`) next to one database of the configured quota `given`, or of [`quota`] if
/// that is smaller or there is none. More than [`KEPT_SEGMENTS`] reduce the space for a second copy of the database.
#[must_use]
pub fn max_segments(volume: u64, given: Option<u64>) -> u64 {
    let database = given.unwrap_or(u64::MAX).min(quota(volume));
    (volume.saturating_sub(reserve(volume) + database) / SEGMENT).saturating_sub(2)
}

/// How large a database that has `database` bytes may grow, in bytes: [`quota`], but at least [`min_quota`], since etcd
/// rejects every write once it starts with a quota below the size of its database.
#[must_use]
pub fn quota_for_database(volume: u64, database: u64, free: u64) -> u64 {
    quota(volume).max(min_quota(database, free))
}

/// The smallest quota, in bytes, for a database of `database` bytes on a volume with `free` bytes of free space: a tenth
/// more than the database has, but at most half of the free space more.
#[must_use]
pub fn min_quota(database: u64, free: u64) -> u64 {
    database.saturating_add((database / 10).min(free / 2))
}

/// After how many entries of up to `request` bytes etcd takes a snapshot, and may then delete earlier segments. Until then
/// it keeps all segments with these entries. They fit next to two databases, the reserve, the segment in which the first
/// entry is, and the next segment; within [`SNAPSHOT_COUNTS`].
#[must_use]
pub fn snapshot_count(volume: u64, request: u64) -> u64 {
    let log = volume.saturating_sub(reserve(volume) + 2 * quota(volume));
    (log.saturating_sub(2 * SEGMENT) / request.max(1)).clamp(SNAPSHOT_COUNTS.0, SNAPSHOT_COUNTS.1)
}

/// How long etcd keeps earlier values of keys, in minutes (`--auto-compaction-retention`): five for each GiB of the volume,
/// within [`COMPACTION_MINUTES`]. etcd compacts at this interval, so its database contains what was written in up to twice
/// the time.
#[must_use]
pub fn compaction_minutes(volume: u64) -> u64 {
    (volume / MIB).saturating_mul(5).div_euclid(1024).clamp(COMPACTION_MINUTES.0, COMPACTION_MINUTES.1)
}

/// The size of a file system, in bytes, if the reported size is plausible.
#[must_use]
pub fn known_size(bytes: u64) -> Option<u64> {
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

    /// Sizes in steps of 300 KB up to 24 GiB, which is beyond each bound, and larger ones.
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
        assert_eq!(snapshot_count(24 << 30, LARGEST_REQUEST), 5_354, "from 17 GiB on, only the log has more space");
        assert_eq!(quota(256 << 20), 32 << 20, "too small for the log anyway");
        assert_eq!(quota(10 << 30) / (MIB / 10) / 1024, 47, "4.7 GiB");
    }

    #[test]
    fn the_retention_of_history_grows_with_the_volume() {
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

    /// etcd keeps the segments with the entries after the last snapshot. The first of these may have started just before the
    /// snapshot, and the next segment exists as well.
    #[test]
    fn the_largest_requests_between_two_snapshots_fit_next_to_two_databases() {
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
    fn max_segments_fit_next_to_one_database() {
        let most = [1 << 26, 1 << 30, 10 << 30, u64::MAX].map(|volume| max_segments(volume, None));
        assert_eq!(most[..3], [0, 9, 81]);
        assert_eq!(max_segments(1 << 30, Some(64 << 20)), 12, "a smaller database leaves more space");
        assert_eq!(max_segments(1 << 30, Some(8 << 30)), 9, "a quota that does not fit does not count");
        for volume in volumes().filter(|volume| *volume >= (LOG + LARGEST_RESERVE) / 3 * 4) {
            let most = max_segments(volume, None);
            assert!(most >= KEPT_SEGMENTS, "{volume}");
            assert!((most + 2) * SEGMENT + quota(volume) + reserve(volume) <= volume, "{volume}: {most}");
        }
    }

    #[test]
    fn a_database_above_its_quota_may_grow_by_a_tenth_if_there_is_space() {
        assert_eq!(quota_for_database(1 << 30, 0, 1 << 30), 272 << 20);
        assert_eq!(quota_for_database(1 << 30, 247 << 20, 1 << 30), 272 << 20, "the quota of the volume is larger");
        assert_eq!(quota_for_database(1 << 30, 400 << 20, 1 << 30), 440 << 20);
        assert_eq!(quota_for_database(1 << 30, 400 << 20, 30 << 20), 415 << 20, "the other half is for the log");
        assert_eq!(quota_for_database(1 << 30, 400 << 20, 0), 400 << 20);
        assert_eq!(
            quota_for_database(1 << 40, 20 << 30, 1 << 40),
            22 << 30,
            "created with a larger quota that a user set"
        );
        assert_eq!(quota_for_database(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn an_implausible_size_of_a_file_system_is_ignored() {
        assert_eq!([0, 1, MIB - 1].map(known_size), [None; 3]);
        assert_eq!(known_size(MIB), Some(MIB));
    }
}
