//! The operator makes room for writes in databases that have reached their quota.

use super::members::{NAMES, after, message, three};
use super::*;

const MIB: i64 = 1 << 20;

/// Members of 1Gi, whose quota is 272 MiB, with NOSPACE after a compaction: the size of each database.
fn full(sizes: [i64; 3]) -> Observed {
    let mut seen = three(&json!({ "size": 3, "storage": { "size": "1Gi" } }));
    for (name, size) in NAMES.into_iter().zip(sizes) {
        let endpoint = seen.etcd.endpoints.get_mut(name).unwrap().as_mut().unwrap();
        (endpoint.db_size, endpoint.in_use, endpoint.revision) = (size * MIB, 40 * MIB, 700);
        endpoint.quota = 272 * MIB;
    }
    seen.etcd.alarms = vec![(2, Alarm::NoSpace)];
    seen.etcd.is_compacted = true;
    seen
}

/// The changes of etcd that a plan makes, and where.
fn changes(seen: &Observed) -> Vec<EtcdChange> {
    let effects = after(seen, 60).effects;
    effects
        .into_iter()
        .filter_map(|effect| if let Effect::Act(EtcdAct::Change { change, .. }) = effect { Some(change) } else { None })
        .collect()
}

fn defragmented(seen: &Observed) -> Option<String> {
    let members = MemberSet::of(seen, Timestamp::from_second(60).unwrap());
    match crate::plan::reclaim::step(seen, &members) {
        Some(EtcdStep::Defragment { name, revision: 700 }) => Some(name),
        _ => None,
    }
}

#[test]
fn history_is_compacted_before_databases_are_defragmented() {
    let mut seen = full([260; 3]);
    assert_eq!(changes(&seen), [EtcdChange::Defragment { revision: 700 }]);
    seen.etcd.is_compacted = false;
    assert_eq!(changes(&seen), [EtcdChange::Compact { revision: 700 }]);
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Reconciling"), (ConditionStatus::True, "NoSpace".to_owned()));
    assert!(message(&status).contains("40.0 MiB of 272.0 MiB are in use"), "{}", message(&status));
}

#[test]
fn followers_are_defragmented_first_and_one_at_a_time() {
    let mut seen = full([260; 3]);
    // The first one leads.
    assert_eq!(defragmented(&seen).as_deref(), Some(NAMES[1]));
    assert_eq!(defragmented(&full([260, 50, 260])).as_deref(), Some(NAMES[2]));
    assert_eq!(defragmented(&full([260, 50, 50])).as_deref(), Some(NAMES[0]));
    seen.etcd.defragmentations.insert(NAMES[1].into(), Defragmentation::Running);
    // It answers nothing.
    seen.etcd.endpoints.insert(NAMES[1].into(), Err("did not answer".to_owned()));
    let plan = after(&seen, 60);
    assert!(
        plan.effects.iter().all(|effect| !matches!(effect, Effect::Act(_) | Effect::Delete(_))),
        "{:?}",
        plan.effects
    );
    assert!(message(&plan.status.unwrap()).contains(&format!("defragmenting the database of member {}", NAMES[1])));
}

#[test]
fn a_member_that_cannot_be_defragmented_does_not_keep_others_from_it() {
    let mut seen = full([260; 3]);
    let why = Defragmentation::Failed { why: "no space left on device".to_owned(), recently: true };
    seen.etcd.defragmentations.insert(NAMES[1].into(), why.clone());
    assert_eq!(defragmented(&seen).as_deref(), Some(NAMES[2]));
    let status = after(&seen, 60).status.unwrap();
    let part = format!("member {} was not defragmented, and is tried again: no space left on device", NAMES[1]);
    assert!(message(&status).contains(&part), "{}", message(&status));
    for name in [NAMES[0], NAMES[2]] {
        seen.etcd.defragmentations.insert(name.into(), why.clone());
    }
    assert_eq!(defragmented(&seen), None);
}

#[test]
fn nothing_is_done_unless_all_members_are_healthy_and_the_alarm_is_raised() {
    let mut silent = full([260; 3]);
    silent.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert_eq!(defragmented(&silent), None);
    let mut quiet = full([260; 3]);
    quiet.etcd.alarms.clear();
    assert_eq!(defragmented(&quiet), None);
    assert_eq!(changes(&full([50; 3])), [EtcdChange::Disarm { id: 2 }]);
}

/// Keys fill the quota: a user has to help.
#[test]
fn once_all_are_defragmented_it_is_stalled_until_a_client_deletes_keys() {
    let done = |revision, recently| Defragmentation::Done { revision, recently };
    let mut seen = full([260; 3]);
    seen.etcd.defragmentations.insert(NAMES[1].into(), done(700, true));
    assert_eq!(defragmented(&seen).as_deref(), Some(NAMES[2]));
    for name in NAMES {
        seen.etcd.defragmentations.insert(name.into(), done(700, false));
    }
    let plan = after(&seen, 90);
    assert!(plan.effects.iter().all(|effect| !matches!(effect, Effect::Act(_))), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "NoSpace".to_owned()));
    assert!(message(&status).contains("if keys need that much, delete some, or raise"), "{}", message(&status));
    for (state, again) in [(done(650, true), false), (done(650, false), true)] {
        seen.etcd.defragmentations.insert(NAMES[1].into(), state);
        assert_eq!(defragmented(&seen).is_some(), again);
    }
}
