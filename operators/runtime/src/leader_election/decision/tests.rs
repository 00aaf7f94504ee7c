//! Who leads, and how long a Lease is valid.

use super::*;

const ME: &str = "me_1";

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn now(seconds: u64) -> Now {
    Now { monotonic: at(seconds), wall: wall(seconds) }
}

/// A wall clock that is unrelated to the monotonic one.
fn wall(seconds: u64) -> Timestamp {
    Timestamp::from_second(1_000 - seconds as i64).unwrap()
}

fn held_by(holder: &str, transitions: i32) -> LeaseRecord {
    LeaseRecord { holder: holder.into(), ..new_record("", transitions, wall(0)) }
}

fn observed(record: LeaseRecord, since: u64) -> ObservedRecord {
    ObservedRecord { record: Some(record), deleted: None, since: at(since) }
}

#[test]
fn an_absent_lease_is_acquired_without_a_transition() {
    let step = decide(&ObservedRecord::default(), ME, None, now(3));
    assert_eq!(step, ElectionStep::Acquire(new_record(ME, 0, wall(3))));
}

#[test]
fn a_held_lease_is_waited_for_from_its_last_observed_change() {
    let mut observed = observed(held_by("other", 4), 10);
    assert_eq!(decide(&observed, ME, None, now(12)), ElectionStep::Wait(at(13)));
    // The same record again does not restart the wait, a renewed one does.
    observed.observe(Some(held_by("other", 4)), at(20));
    assert_eq!(decide(&observed, ME, None, now(24)), ElectionStep::Wait(at(1)));
    observed.observe(Some(LeaseRecord { renewed: Some(wall(7)), ..held_by("other", 4) }), at(24));
    assert_eq!(decide(&observed, ME, None, now(24)), ElectionStep::Wait(at(15)));
}

#[test]
fn an_expired_lease_is_acquired_with_one_more_transition() {
    let observed = observed(held_by("other", 4), 10);
    assert_eq!(decide(&observed, ME, None, now(25)), ElectionStep::Acquire(new_record(ME, 5, wall(25))));
}

#[test]
fn a_released_lease_is_acquired_at_once() {
    let released = held_by("other", 4).released(wall(1));
    assert_eq!((released.holder.as_str(), released.duration), ("", at(1)));
    assert_eq!(decide(&observed(released, 10), ME, None, now(10)), ElectionStep::Acquire(new_record(ME, 5, wall(10))));
}

/// Its holder acts until its renew deadline, unless it notices the deletion earlier.
#[test]
fn a_deleted_lease_of_another_holder_is_waited_for_like_an_unchanged_one() {
    let mut observed = observed(held_by("other", 4), 10);
    observed.observe(None, at(20));
    assert_eq!(decide(&observed, ME, None, now(20)), ElectionStep::Wait(at(15)));
    observed.observe(None, at(30));
    assert_eq!(decide(&observed, ME, None, now(34)), ElectionStep::Wait(at(1)));
    assert_eq!(decide(&observed, ME, None, now(35)), ElectionStep::Acquire(new_record(ME, 0, wall(35))));
    observed.observe(Some(held_by("other", 0)), at(36));
    assert_eq!(decide(&observed, ME, None, now(36)), ElectionStep::Wait(at(15)), "its leader has recreated it");
}

#[test]
fn a_deleted_lease_that_was_released_or_ours_is_free_at_once() {
    for record in [held_by("other", 4).released(wall(1)), held_by(ME, 4)] {
        let mut observed = observed(record, 10);
        observed.observe(None, at(11));
        assert_eq!(decide(&observed, ME, None, now(11)), ElectionStep::Acquire(new_record(ME, 0, wall(11))));
    }
}

#[test]
fn times_that_others_wrote_are_ignored() {
    for far in [Timestamp::MIN, Timestamp::MAX] {
        let record = LeaseRecord { renewed: Some(far), acquired: Some(far), ..held_by("other", 0) };
        assert_eq!(decide(&observed(record, 0), ME, None, now(14)), ElectionStep::Wait(at(1)));
    }
}

#[test]
fn a_write_whose_response_was_lost_counts() {
    let step = decide(&observed(held_by(ME, 2), 0), ME, None, now(1));
    assert!(matches!(step, ElectionStep::Renew(record) if record.transitions == 2 && record.acquired == Some(wall(0))));
}

#[test]
fn a_leader_renews_every_two_seconds_and_keeps_its_acquire_time() {
    let observed = observed(held_by(ME, 2), 0);
    assert_eq!(decide(&observed, ME, Some(at(5)), now(6)), ElectionStep::Wait(at(1)));
    let ElectionStep::Renew(record) = decide(&observed, ME, Some(at(5)), now(7)) else { panic!("no renewal") };
    assert_eq!((record.transitions, record.acquired, record.renewed), (2, Some(wall(0)), Some(wall(7))));
}

/// The write has the observed version, so it is rejected if another candidate has led in the meantime.
#[test]
fn a_leader_that_missed_its_deadline_renews_a_lease_that_no_other_has_taken() {
    assert!(
        matches!(decide(&ObservedRecord::default(), ME, Some(at(5)), now(15)), ElectionStep::Lost(_)),
        "another candidate may have led"
    );
    let observed = observed(held_by(ME, 2), 5);
    assert!(matches!(decide(&observed, ME, Some(at(5)), now(14)), ElectionStep::Renew(_)));
    assert!(
        matches!(decide(&observed, ME, Some(at(5)), now(1000)), ElectionStep::Renew(record) if record.transitions == 2)
    );
    assert!(matches!(decide(&observed, "other", None, now(19)), ElectionStep::Wait(_)));
    assert!(matches!(decide(&observed, "other", None, now(20)), ElectionStep::Acquire(_)));
}

#[test]
fn a_replaced_leader_ends_at_once_and_one_whose_lease_was_deleted_recreates_it() {
    assert!(matches!(decide(&observed(held_by("other", 3), 6), ME, Some(at(5)), now(6)), ElectionStep::Lost(_)));
    assert!(
        matches!(decide(&ObservedRecord::default(), ME, Some(at(5)), now(7)), ElectionStep::Renew(record) if record.holder == ME)
    );
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let mut spec = LeaseSpec { strategy: Some("kept".into()), ..LeaseSpec::default() };
    let record = held_by("other", 7);
    record.write(&mut spec);
    assert_eq!(LeaseRecord::read(&spec), record);
    assert_eq!(spec.strategy.as_deref(), Some("kept"));
    for junk in [None, Some(0), Some(-5)] {
        spec.lease_duration_seconds = junk;
        assert_eq!(LeaseRecord::read(&spec).duration, LEASE_DURATION);
    }
}

#[test]
fn a_foreign_lease_is_held_until_it_was_unchanged_for_its_duration_and_two_seconds() {
    let mut observed = observed(held_by("them", 0), 100);
    assert!(is_foreign_held(&observed, at(100)));
    assert!(is_foreign_held(&observed, at(116)));
    assert!(!is_foreign_held(&observed, at(117)));
    observed.observe(Some(LeaseRecord { renewed: Some(wall(9)), ..held_by("them", 0) }), at(117));
    assert!(is_foreign_held(&observed, at(117)));
    observed.observe(Some(held_by("", 0)), at(118));
    assert!(!is_foreign_held(&observed, at(118)));
    observed.observe(None, at(119));
    assert!(!is_foreign_held(&observed, at(119)), "it was released before it was deleted");
}

/// Its leader recreates it within 2 s, and a read may come before.
#[test]
fn a_deleted_foreign_lease_is_held_as_long_as_an_unchanged_one() {
    let mut observed = ObservedRecord::default();
    assert!(!is_foreign_held(&observed, at(100)), "never observed");
    observed.observe(Some(held_by("them", 0)), at(100));
    observed.observe(None, at(115));
    assert!(is_foreign_held(&observed, at(115)));
    observed.observe(None, at(130));
    assert!(is_foreign_held(&observed, at(131)), "the time does not start again while it is absent");
    assert!(!is_foreign_held(&observed, at(132)));
    observed.observe(Some(held_by("them", 0)), at(133));
    assert!(is_foreign_held(&observed, at(133)));
}
