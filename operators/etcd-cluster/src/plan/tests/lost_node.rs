//! A member is lost with its node, and the spec says how long that may last.

use runtime::projections::{Pod, PodDetails};

use super::members::{NAMES, after, message, three};
use super::*;

/// When the last member stopped answering, in seconds.
const SINCE: i64 = 100;
/// The seconds of `spec.replaceAfter`.
const LONG: i64 = 600;

fn spec() -> Value {
    json!({ "size": 3, "replaceAfter": "10m", "storage": { "onDelete": "Delete" } })
}

/// Three members, whose PVCs record their configuration as good, but for the last one if it is `untested`. That one does not answer,
/// and `change` says what is known of its pod.
fn silent(spec: &Value, untested: bool, change: impl Fn(&mut Pod)) -> Observed {
    let mut seen = three(spec);
    let desired = desired::Desired::of(&seen, &MemberSet::of(&seen, Timestamp::UNIX_EPOCH), true);
    let mark = if untested { "another".to_owned() } else { known_good::fingerprint_of(&desired) };
    Arc::get_mut(&mut seen.claims[2]).unwrap().labels.insert(objects::KNOWN_GOOD.to_owned(), mark);
    let lost = Arc::get_mut(&mut seen.pods[2]).unwrap();
    details(lost).node = Some("node".into());
    change(lost);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("does not answer".to_owned()));
    let before = after(&seen, SINCE).status.unwrap();
    seen.cluster = observed(spec, &before).cluster;
    seen
}

fn details(pod: &mut Pod) -> &mut PodDetails {
    pod.details.as_mut().unwrap()
}

/// The node's controller reports the pod as not ready.
fn unready(pod: &mut Pod) {
    (details(pod).ready, details(pod).ready_since) = (false, Some(second(SINCE - 1)));
}

/// Its kubelet does not stop it.
fn terminating(pod: &mut Pod) {
    pod.meta.deleting = true;
    details(pod).deleted = Some(second(SINCE + 30));
}

/// No node has its volume.
fn unscheduled(pod: &mut Pod) {
    (details(pod).node, details(pod).ready) = (None, false);
    details(pod).containers.clear();
}

/// Its kubelet restarts its etcd.
fn restarted(pod: &mut Pod) {
    unready(pod);
    details(pod).containers.iter_mut().for_each(|container| container.since = Some(second(SINCE)));
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn is_replaced(seen: &Observed, second: i64) -> bool {
    let removes = |effect: &Effect<EtcdAct>| {
        matches!(effect, Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { id: 3, .. }, .. }))
    };
    after(seen, second).effects.iter().any(removes)
}

#[test]
fn it_is_replaced_after_that_time() {
    for lost in [unready, terminating, unscheduled] {
        let seen = silent(&spec(), false, lost);
        assert!(!is_replaced(&seen, SINCE + LONG - 1));
        let status = after(&seen, SINCE + LONG - 1).status.unwrap();
        assert!(message(&status).ends_with("it is replaced at 1970-01-01T00:11:40Z"), "{}", message(&status));
        assert!(is_replaced(&seen, SINCE + LONG));
        // A pod that is recreated is not lost.
        assert!(!message(&after(&seen, SINCE + 10).status.unwrap()).contains("lost"));
    }
}

#[test]
fn it_is_not_replaced_if_it_may_return_or_the_others_need_it() {
    let ready = |_: &mut Pod| {};
    let late = SINCE + 10 * LONG;
    for seen in [
        silent(&spec(), false, ready),
        silent(&spec(), false, restarted),
        silent(&spec(), true, unscheduled),
        silent(&json!({ "size": 3 }), false, unready),
    ] {
        assert!(!is_replaced(&seen, late));
    }
    let mut two = silent(&spec(), false, unready);
    two.etcd.endpoints.insert(NAMES[1].into(), Err("does not answer".to_owned()));
    assert!(!is_replaced(&two, late));
    two.etcd.members = Err("no leader".to_owned());
    assert!(!is_replaced(&two, late));
}

#[test]
fn its_volume_is_retained_though_the_policy_is_to_delete() {
    let mut seen = silent(&spec(), false, unready);
    let marks = after(&seen, SINCE + LONG).effects.iter().any(|effect| match effect {
        Effect::Apply(apply) => *apply.key.name == *NAMES[2] && apply.body.to_string().contains("\"retain\""),
        _ => false,
    });
    assert!(marks);
    let mut removed = |mark: &str| {
        seen.etcd.members.as_mut().unwrap().truncate(2);
        seen.pods.truncate(2);
        let labels = &mut Arc::get_mut(&mut seen.claims[2]).unwrap().labels;
        labels.insert(objects::RETIRING.to_owned(), mark.to_owned());
        let deletes =
            |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if *delete.key.name == *NAMES[2]);
        after(&seen, SINCE + LONG).effects.iter().any(deletes)
    };
    assert!(removed("true") && !removed("retain"));
}
