//! Members that the manager cannot reach, and that hold quorum with those that it can.

use runtime::projections::Pod;

use super::members::{NAMES, after, at, message, pod, three};
use super::*;

/// The seconds after which a member counts as unreachable.
const LONG: i64 = 120;

/// The first of three answers a linearizable read, the second one does not answer, and the third has neither pod nor PVC.
fn with_a_silent_one() -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    seen.etcd.endpoints.insert(NAMES[1].into(), Err("cannot be reached".to_owned()));
    seen.etcd.endpoints.remove(NAMES[2]);
    seen.pods.remove(2);
    seen.claims.remove(2);
    seen.claim_lookups.absent.insert(NAMES[2].into());
    // Observed before.
    let before = after(&seen, 100).status.unwrap();
    seen.cluster = observed(&json!({ "size": 3 }), &before).cluster;
    seen
}

/// The removed member, and the pods that must stay.
fn removal(plan: &EtcdPlan) -> Option<(u64, Vec<String>)> {
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { id, staying, .. }, .. }) => {
            Some((*id, staying.iter().map(|key| key.name.to_string()).collect()))
        }
        _ => None,
    })
}

#[test]
fn a_lost_member_is_replaced_if_an_unreachable_one_holds_quorum() {
    let seen = with_a_silent_one();
    let last = 100 + LONG - 1;
    let plan = after(&seen, last);
    assert_eq!(removal(&plan), None, "it may only be late");
    let status = plan.status.unwrap();
    assert!(!status.contract.is_true("Stalled") && message(&status).contains(NAMES[1]), "{}", message(&status));
    let counted = NAMES[..2].iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(removal(&after(&seen, last + 1)), Some((3, counted)));
}

#[test]
fn a_lost_member_stays_listed_if_the_others_may_not_hold_quorum() {
    let with = |change: fn(&mut Pod)| {
        let mut seen = with_a_silent_one();
        let template =
            seen.pods[1].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
        let mut silent = pod(NAMES[1], &template, &json!({ "running": { "startedAt": at(0) } }), 0, at(9));
        change(&mut silent);
        seen.pods[1] = Arc::new(silent);
        seen
    };
    let same = with(|_| ());
    assert!(removal(&after(&same, 1_000)).is_some());
    let unready = with(|pod| pod.details.as_mut().unwrap().ready = false);
    let terminating = with(|pod| pod.meta.deleting = true);
    let mut unread = with_a_silent_one();
    unread.etcd.members = Err("no leader".to_owned());
    for seen in [unready, terminating, unread] {
        assert_eq!(removal(&after(&seen, 1_000)), None);
    }
}

/// After an upgrade in place, the pod keeps the probes of its first version, which may only connect.
#[test]
fn a_member_that_hangs_after_an_upgrade_in_place_gets_a_new_pod() {
    let hangs = |upgraded: bool| {
        let mut seen = three(&json!({ "size": 3 }));
        let annotations = &mut Arc::get_mut(&mut seen.pods[1]).unwrap().details.as_mut().unwrap().annotations;
        annotations.remove(objects::RESTARTS);
        annotations.extend(upgraded.then(|| (objects::RESTARTS.to_owned(), "1".to_owned())));
        seen.etcd.endpoints.insert(NAMES[1].into(), Err("does not answer".to_owned()));
        let before = after(&seen, 100).status.unwrap();
        seen.cluster = observed(&json!({ "size": 3 }), &before).cluster;
        let deleted = |second: i64| {
            let plan = after(&seen, second);
            plan.effects.iter().any(|effect| matches!(effect, Effect::Delete(delete) if &*delete.key.name == NAMES[1]))
        };
        [deleted(100 + LONG - 1), deleted(100 + LONG)]
    };
    assert_eq!(hangs(true), [false, true]);
    assert_eq!(hangs(false), [false, false], "its kubelet probes its health");
}
