//! Which requests begin a recovery, and from which member.

use super::*;

#[test]
fn a_request_that_names_the_wrong_members_is_refused_with_the_reason() {
    let [a, b, c] = NAMES;
    for (value, why) in [
        (format!("{a},{b},{c}"), "names all voting members"),
        (b.to_owned(), "the other members have quorum without that"),
        (format!("{b},{c},web-0"), "names web-0, which is no voting member"),
    ] {
        let mut lost = Lost::new().silent(&[b, c]).requested(&value);
        assert!(touched(&lost.reconcile(LOST)).is_empty());
        assert_eq!(lost.status.recovery, None, "{value}");
        assert!(message(&lost.status).contains(why), "{}", message(&lost.status));
    }
    let mut ready = Lost::new().requested(&format!("{b},{c}"));
    ready.reconcile(LOST);
    assert!(message(&ready.status).contains("is ready by the report of its kubelet"), "{}", message(&ready.status));
    let mut empty = Lost::new().silent(&[b, c]).without_volumes(&[a]).requested(&format!("{b},{c}"));
    empty.reconcile(LOST);
    assert!(message(&empty.status).contains(&format!("member {a} has no data")), "{}", message(&empty.status));
}

#[test]
fn nothing_begins_before_quorum_counts_as_lost() {
    let mut lost = Lost::new().without_volumes(&NAMES[1..]).requested(&NAMES[1..].join(","));
    lost.status.contract.conditions.clear();
    lost.reconcile(150);
    lost.reconcile(159);
    assert_eq!(lost.status.recovery, None);
    lost.reconcile(160);
    assert_eq!(lost.recovery().from, NAMES[0]);
}

#[test]
fn the_longest_log_is_chosen_among_those_that_are_left() {
    let [a, b, c] = NAMES;
    let mut lost = Lost::new().without_volumes(&[c]);
    // A fourth voter that does not exist any more.
    let mut gone = lost.status.member_statuses[2].clone();
    gone.name = "c-dddddddddd".to_owned();
    lost.status.member_statuses.push(gone);
    lost.seen.claim_lookups.absent.insert("c-dddddddddd".into());
    lost.annotation = Some(format!("{c},c-dddddddddd"));
    lost.seen.etcd.endpoints.insert(b.into(), Err("cannot be reached".to_owned()));
    lost.reconcile(LOST);
    assert!(message(&lost.status).contains(&format!("member {b} does not answer")), "{}", message(&lost.status));
    let endpoint = EndpointStatus { raft_index: 11, ..lost.seen.etcd.endpoints[a].clone().unwrap() };
    lost.seen.etcd.endpoints.insert(b.into(), Ok(endpoint));
    lost.reconcile(201);
    assert_eq!(lost.recovery().from, b, "its index is 11, that of the other one 10");
    assert_eq!(lost.recovery().without, [a, c, "c-dddddddddd"]);
}

#[test]
fn the_operator_decides_itself_only_if_volumes_are_gone_and_after_the_delay() {
    let automatic = json!({ "size": 3, "recovery": { "policy": "Automatic", "delaySeconds": 60 } });
    let mut lost = Lost::of(&automatic).without_volumes(&NAMES[1..]);
    lost.reconcile(159);
    assert_eq!(lost.status.recovery, None);
    lost.reconcile(160);
    assert_eq!(lost.recovery().from, NAMES[0]);
    let mut down = Lost::of(&automatic).silent(&NAMES[1..]);
    down.reconcile(9000);
    assert_eq!(down.status.recovery, None, "nodes may come back");
    let mut manual = Lost::new().without_volumes(&NAMES[1..]);
    manual.reconcile(9000);
    assert_eq!(manual.status.recovery, None);
    let mut all = Lost::of(&automatic).without_volumes(&NAMES);
    all.reconcile(9000);
    assert_eq!(all.status.recovery, None);
    assert!(message(&all.status).contains("restore the cluster from a backup"), "{}", message(&all.status));
}

#[test]
fn a_request_that_came_while_there_was_quorum_or_was_canceled_has_no_effect_later() {
    let [_, b, c] = NAMES;
    let mut lost = Lost::new().requested(&format!("{b},{c}"));
    lost.seen.etcd.members = three(&json!({ "size": 3 })).etcd.members;
    let plan = lost.reconcile(1000);
    assert_eq!(warnings(&plan), ["RecoveryCanceled"]);
    assert!(warnings(&lost.reconcile(1001)).is_empty(), "once");
    lost = lost.silent(&[b, c]);
    lost.seen.etcd.members = Err("no leader".to_owned());
    lost.reconcile(2000);
    lost.reconcile(2200);
    assert_eq!(lost.status.recovery, None);
    let command = format!("{RECOVER_WITHOUT}={b},{c}, --overwrite");
    assert!(message(&lost.status).contains(&command), "another value: {}", message(&lost.status));
    lost.annotation = Some(format!("{b},{c},"));
    lost.reconcile(2201);
    assert_eq!(lost.recovery().from, NAMES[0]);
}

#[test]
fn it_is_canceled_if_quorum_returns_or_the_request_is_taken_back() {
    let [_, b, c] = NAMES;
    let begun = || {
        let mut lost = Lost::new().silent(&[b, c]).requested(&format!("{b},{c}"));
        lost.reconcile(LOST);
        lost
    };
    let mut back = begun();
    back.seen.etcd.members = three(&json!({ "size": 3 })).etcd.members;
    let plan = back.reconcile(201);
    assert_eq!(back.recovery().outcome, Some(RecoveryOutcome::Canceled));
    assert!(touched(&plan).is_empty());
    let mut withdrawn = begun();
    withdrawn.annotation = None;
    let plan = withdrawn.reconcile(201);
    assert_eq!(withdrawn.recovery().outcome, Some(RecoveryOutcome::Canceled));
    assert!(touched(&plan).is_empty());
    let mut lost_too = begun();
    lost_too.seen.claims.remove(0);
    lost_too.reconcile(201);
    assert_eq!(lost_too.recovery().outcome, Some(RecoveryOutcome::Canceled));
}
