//! Pure: times that somebody else's clock told: the API server's, a kubelet's, or that of a manager before this one.

use jiff::{SignedDuration, Timestamp};

/// How far clocks may differ without anybody taking note.
const DIFFERENCE: SignedDuration = SignedDuration::from_secs(5);

/// For how long something has lasted that began at a time which was told. One that is clearly yet to come was told by a clock that was
/// ahead, or is looked at by one that is behind: what is waited for must not wait until the clocks agree, so it has lasted for long.
pub(super) fn lasted(since: Timestamp, now: Timestamp) -> SignedDuration {
    let lasted = now.duration_since(since);
    if lasted < -DIFFERENCE { SignedDuration::MAX } else { lasted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_yet_to_come_has_lasted_for_long() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let lasted = |since, now| lasted(at(since), at(now)).as_secs();
        assert_eq!([lasted(0, 60), lasted(60, 60), lasted(65, 60)], [60, 0, -5], "as clocks differ anyway");
        assert_eq!([lasted(66, 60), lasted(9_000, 60)], [i64::MAX; 2]);
    }
}
