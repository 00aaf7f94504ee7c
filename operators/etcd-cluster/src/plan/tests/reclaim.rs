//! Room for writes is made in databases that have reached their quota.

use super::members::{NAMES, after, message, three};
use super::*;

const MIB: i64 = 1 << 20;

/// Members of 1Gi, whose quota is 272 MiB, with NOSPACE: the size of each database, and how much of it is in use.
fn full(sizes: [i64; 3], in_use: i64) -> Observed {
    let mut seen = three(&json!({ "size": 3, "storage": { "size": "1Gi" } }));
    for (name, size) in NAMES.into_iter().zip(sizes) {
        let endpoint = seen.etcd.endpoints.get_mut(name).unwrap().as_mut().unwrap();
        (endpoint.db_size, endpoint.in_use, endpoint.revision) = (size * MIB, in_use * MIB, 700);
        endpoint.quota = 272 * MIB;
    }
    seen.etcd.alarms = vec![(2, Alarm::NoSpace)];
    seen
}

/// The changes of etcd that a plan makes, and where.
fn changes(seen: &Observed) -> Vec<EtcdChange> {
    let effects = after(seen, 60).effects;
    effects
        .into_iter()
        .filter_map(|effect| if let Effect::Act(act) = effect { Some(act.change) } else { None })
        .collect()
}

fn defragmented(seen: &Observed) -> Option<String> {
    let members = MemberSet::of(seen, Timestamp::from_second(60).unwrap());
    match crate::plan::reclaim::step(seen, &members, Timestamp::from_second(60).unwrap()) {
        Some(EtcdStep::Defragment { name }) => Some(name),
        _ => None,
    }
}

#[test]
fn history_is_compacted_before_databases_are_defragmented() {
    let seen = full([260; 3], 250);
    assert_eq!(changes(&seen), [EtcdChange::Compact { revision: 700 }]);
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Reconciling"), (ConditionStatus::True, "NoSpace".to_owned()));
    assert!(message(&status).contains("250.0 MiB of 272.0 MiB are in use"), "{}", message(&status));
    assert_eq!(changes(&full([260; 3], 40)), [EtcdChange::Defragment]);
    // Versions before 3.4 do not report what is in use.
    assert!(changes(&full([260; 3], 0)).is_empty());
}

#[test]
fn followers_are_defragmented_first_and_one_at_a_time() {
    let mut seen = full([260; 3], 40);
    // The first one leads.
    assert_eq!(defragmented(&seen).as_deref(), Some(NAMES[1]));
    assert_eq!(defragmented(&full([260, 50, 260], 40)).as_deref(), Some(NAMES[2]));
    assert_eq!(defragmented(&full([260, 50, 50], 40)).as_deref(), Some(NAMES[0]));
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
    let mut seen = full([260; 3], 40);
    let why = Defragmentation::Failed("no space left on device".to_owned());
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
    let mut silent = full([260; 3], 40);
    silent.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert_eq!(defragmented(&silent), None);
    let mut quiet = full([260; 3], 40);
    quiet.etcd.alarms.clear();
    assert_eq!(defragmented(&quiet), None);
    assert_eq!(changes(&full([50; 3], 40)), [EtcdChange::Disarm { id: 2 }]);
}

/// Keys that are in use fill the quota: a user has to help.
#[test]
fn after_half_a_minute_without_room_it_is_stalled_and_other_steps_continue() {
    let mut seen = full([260; 3], 250);
    let mut status = after(&seen, 60).status.unwrap();
    runtime::status::conditions::merge(&mut status.contract, &api::Contract::default(), 1, "m");
    seen.cluster = observed(&json!({ "size": 3, "storage": { "size": "1Gi" } }), &status).cluster;
    assert_eq!(changes(&seen), [EtcdChange::Compact { revision: 700 }]);
    let plan = after(&seen, 90);
    assert!(plan.effects.iter().all(|effect| !matches!(effect, Effect::Act(_))), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "NoSpace".to_owned()));
    assert!(message(&status).contains("if keys need that much, delete some, or raise"), "{}", message(&status));
}
