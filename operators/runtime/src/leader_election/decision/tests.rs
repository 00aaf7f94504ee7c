//! Who leads by what was seen, and for how long a claim counts.

use super::*;

const ME: &str = "me_1";

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn now(seconds: u64) -> Now {
    Now { monotonic: at(seconds), wall: wall(seconds) }
}

/// A wall clock that has nothing to do with the monotonic one.
fn wall(seconds: u64) -> Timestamp {
    Timestamp::from_second(1_000 - seconds as i64).unwrap()
}

fn held_by(holder: &str, transitions: i32) -> Record {
    Record { holder: holder.into(), ..claim("", transitions, wall(0)) }
}

fn seen(record: Record, since: u64) -> ObservedRecord {
    ObservedRecord { record: Some(record), deleted: None, since: at(since) }
}

#[test]
fn an_absent_lease_is_claimed_with_no_transition() {
    let step = decide(&ObservedRecord::default(), ME, None, now(3));
    assert_eq!(step, Step::Acquire(claim(ME, 0, wall(3))));
}

#[test]
fn a_held_lease_is_waited_for_from_when_we_saw_it_change() {
    let mut seen = seen(held_by("other", 4), 10);
    assert_eq!(decide(&seen, ME, None, now(12)), Step::Wait(at(13)));
    // The same record again does not restart the wait, a renewed one does.
    seen.observe(Some(held_by("other", 4)), at(20));
    assert_eq!(decide(&seen, ME, None, now(24)), Step::Wait(at(1)));
    seen.observe(Some(Record { renewed: Some(wall(7)), ..held_by("other", 4) }), at(24));
    assert_eq!(decide(&seen, ME, None, now(24)), Step::Wait(at(15)));
}

#[test]
fn an_expired_lease_is_claimed_with_one_more_transition() {
    let seen = seen(held_by("other", 4), 10);
    assert_eq!(decide(&seen, ME, None, now(25)), Step::Acquire(claim(ME, 5, wall(25))));
}

#[test]
fn a_released_lease_is_claimed_at_once() {
    let released = held_by("other", 4).released(wall(1));
    assert_eq!((released.holder.as_str(), released.duration), ("", at(1)));
    assert_eq!(decide(&seen(released, 10), ME, None, now(10)), Step::Acquire(claim(ME, 5, wall(10))));
}

/// Who held it acts until its renew deadline, unless it finds out earlier.
#[test]
fn a_lease_that_is_deleted_while_another_holds_it_is_waited_for_as_if_it_stood_still() {
    let mut seen = seen(held_by("other", 4), 10);
    seen.observe(None, at(20));
    assert_eq!(decide(&seen, ME, None, now(20)), Step::Wait(at(15)));
    seen.observe(None, at(30));
    assert_eq!(decide(&seen, ME, None, now(34)), Step::Wait(at(1)));
    assert_eq!(decide(&seen, ME, None, now(35)), Step::Acquire(claim(ME, 0, wall(35))));
    seen.observe(Some(held_by("other", 0)), at(36));
    assert_eq!(decide(&seen, ME, None, now(36)), Step::Wait(at(15)), "its leader has made it again");
}

#[test]
fn a_lease_that_is_deleted_after_it_was_released_or_while_we_hold_it_is_free_at_once() {
    for record in [held_by("other", 4).released(wall(1)), held_by(ME, 4)] {
        let mut seen = seen(record, 10);
        seen.observe(None, at(11));
        assert_eq!(decide(&seen, ME, None, now(11)), Step::Acquire(claim(ME, 0, wall(11))));
    }
}

#[test]
fn the_times_that_others_wrote_decide_nothing() {
    for far in [Timestamp::MIN, Timestamp::MAX] {
        let record = Record { renewed: Some(far), acquired: Some(far), ..held_by("other", 0) };
        assert_eq!(decide(&seen(record, 0), ME, None, now(14)), Step::Wait(at(1)));
    }
}

#[test]
fn a_claim_whose_answer_was_lost_is_ours() {
    let step = decide(&seen(held_by(ME, 2), 0), ME, None, now(1));
    assert!(matches!(step, Step::Renew(record) if record.transitions == 2 && record.acquired == Some(wall(0))));
}

#[test]
fn a_leader_renews_every_two_seconds_and_keeps_when_it_acquired() {
    let seen = seen(held_by(ME, 2), 0);
    assert_eq!(decide(&seen, ME, Some(at(5)), now(6)), Step::Wait(at(1)));
    let Step::Renew(record) = decide(&seen, ME, Some(at(5)), now(7)) else { panic!("no renewal") };
    assert_eq!((record.transitions, record.acquired, record.renewed), (2, Some(wall(0)), Some(wall(7))));
}

/// The write is of the version that was seen, so it is refused if anybody has led meanwhile.
#[test]
fn a_leader_that_missed_its_deadline_renews_a_lease_that_nobody_has_taken() {
    assert!(
        matches!(decide(&ObservedRecord::default(), ME, Some(at(5)), now(15)), Step::Lost(_)),
        "somebody may have led"
    );
    let seen = seen(held_by(ME, 2), 5);
    assert!(matches!(decide(&seen, ME, Some(at(5)), now(14)), Step::Renew(_)));
    assert!(matches!(decide(&seen, ME, Some(at(5)), now(1000)), Step::Renew(record) if record.transitions == 2));
    assert!(matches!(decide(&seen, "other", None, now(19)), Step::Wait(_)));
    assert!(matches!(decide(&seen, "other", None, now(20)), Step::Acquire(_)));
}

#[test]
fn a_leader_that_was_replaced_is_lost_at_once_and_one_whose_lease_was_deleted_writes_it_anew() {
    assert!(matches!(decide(&seen(held_by("other", 3), 6), ME, Some(at(5)), now(6)), Step::Lost(_)));
    assert!(
        matches!(decide(&ObservedRecord::default(), ME, Some(at(5)), now(7)), Step::Renew(record) if record.holder == ME)
    );
}

#[test]
fn a_record_survives_the_way_through_a_lease() {
    let mut spec = LeaseSpec { strategy: Some("kept".into()), ..LeaseSpec::default() };
    let record = held_by("other", 7);
    record.write(&mut spec);
    assert_eq!(Record::read(&spec), record);
    assert_eq!(spec.strategy.as_deref(), Some("kept"));
    for junk in [None, Some(0), Some(-5)] {
        spec.lease_duration_seconds = junk;
        assert_eq!(Record::read(&spec).duration, LEASE_DURATION);
    }
}

#[test]
fn a_foreign_lease_lives_until_it_was_seen_still_for_its_duration_and_two_seconds() {
    let mut seen = seen(held_by("them", 0), 100);
    assert!(foreign_is_live(&seen, at(100)));
    assert!(foreign_is_live(&seen, at(116)));
    assert!(!foreign_is_live(&seen, at(117)));
    seen.observe(Some(Record { renewed: Some(wall(9)), ..held_by("them", 0) }), at(117));
    assert!(foreign_is_live(&seen, at(117)));
    seen.observe(Some(held_by("", 0)), at(118));
    assert!(!foreign_is_live(&seen, at(118)));
    seen.observe(None, at(119));
    assert!(!foreign_is_live(&seen, at(119)), "it was released before it was deleted");
}

/// Its leader makes it again within 2 s, and a look may come between.
#[test]
fn a_deleted_foreign_lease_lives_as_long_as_one_that_stands_still() {
    let mut seen = ObservedRecord::default();
    assert!(!foreign_is_live(&seen, at(100)), "never seen");
    seen.observe(Some(held_by("them", 0)), at(100));
    seen.observe(None, at(115));
    assert!(foreign_is_live(&seen, at(115)));
    seen.observe(None, at(130));
    assert!(foreign_is_live(&seen, at(131)), "what is still absent does not begin anew");
    assert!(!foreign_is_live(&seen, at(132)));
    seen.observe(Some(held_by("them", 0)), at(133));
    assert!(foreign_is_live(&seen, at(133)));
}
