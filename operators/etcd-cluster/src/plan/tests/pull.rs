//! The image is tried before the first member gets it.

use runtime::views::Pod;

use super::members::{NAMES, after, three};
use super::*;

const NEXT: &str = "quay.io/coreos/etcd:v3.6.17";

/// Three members that are well, of 3.6.16, and are to run 3.6.17.
fn rolling() -> Observed {
    let mut seen = three(&json!({ "size": 3, "version": "3.6.17" }));
    seen.peers = Seen::Absent;
    seen
}

/// The pod that tries `image` is there, and its etcd container is in that state.
fn trying(image: &str, state: &Value) -> Observed {
    let mut seen = rolling();
    let pod = json!({
        "metadata": { "namespace": "n", "name": "c-pull", "uid": "p",
            "labels": { "multi-operator.example.com/owner-kind": "EtcdCluster.etcd.database.coreos.com",
                "app.kubernetes.io/instance": "c" },
            "ownerReferences": [{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "c",
                "uid": "u", "controller": true }],
            "annotations": { "multi-operator.example.com/image": image } },
        "status": { "containerStatuses": [
            { "name": "etcd", "image": image, "restartCount": 0, "state": state, "lastState": {} }] },
    });
    seen.pull = Some(Arc::new(Pod::decode(&pod.to_string()).unwrap()));
    seen
}

/// What is done to pods, and why Ready says what it does.
fn outcome(seen: &Observed) -> (Vec<String>, String) {
    let plan = after(seen, 60);
    let done = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Create(create) => Some(format!("create {}", create.key.name)),
        Effect::Delete(delete) => Some(format!("delete {}", delete.key.name)),
        Effect::Apply(apply) if apply.kind.kind == "Pod" => Some(format!("change {}", apply.key.name)),
        _ => None,
    });
    (done.collect(), plan.status.unwrap().contract.condition("Ready").unwrap().reason.to_string())
}

#[test]
fn a_member_gets_an_image_that_has_been_tried() {
    assert_eq!(outcome(&rolling()), (vec!["create c-pull".to_owned()], "PullingImage".to_owned()));
    let waits = trying(NEXT, &json!({ "waiting": { "reason": "ContainerCreating" } }));
    assert_eq!(outcome(&waits), (vec![], "PullingImage".to_owned()));
    let ended = |code: i32| json!({ "terminated": { "exitCode": code, "reason": "Completed" } });
    let (done, _) = outcome(&trying(NEXT, &ended(0)));
    assert_eq!(done, [format!("change {}", NAMES[1])], "the first follower");
    for useless in [json!({ "waiting": { "reason": "ImagePullBackOff" } }), ended(127)] {
        assert_eq!(outcome(&trying(NEXT, &useless)), (vec![], "ImageUnavailable".to_owned()), "{useless}");
    }
    let mut refused = rolling();
    refused.pull_refused = true;
    assert_eq!(outcome(&refused).0, [format!("change {}", NAMES[1])], "what cannot be known holds nothing up");
}

#[test]
fn a_check_of_which_nothing_will_come_holds_nothing_up() {
    let waits = json!({ "waiting": { "reason": "ContainerCreating" } });
    let at = |second: i64| Some(Timestamp::from_second(second).unwrap());
    let stuck = |created: i64, deleted: Option<i64>, image: &str| {
        let mut seen = trying(image, &waits);
        let pull = Arc::get_mut(seen.pull.as_mut().unwrap()).unwrap();
        pull.meta.deleting = deleted.is_some();
        let running = pull.running.as_mut().unwrap();
        (running.created, running.deleted) = (at(created), deleted.and_then(at));
        outcome(&seen).0
    };
    let changed = [format!("change {}", NAMES[1])];
    assert!(stuck(0, None, NEXT).is_empty() && stuck(-541, None, NEXT) == changed, "its node never starts it");
    for image in [NEXT, "quay.io/coreos/etcd:v3.6.99"] {
        assert!(stuck(-3600, Some(30), image).is_empty(), "it is about to go");
        assert_eq!(stuck(-3600, Some(-1), image), changed, "its node never removes it");
    }
}

#[test]
fn an_image_that_was_found_to_be_of_no_use_stays_so_until_another_one_is_asked_for() {
    let after_long = |state: &Value, over: bool| {
        let mut seen = trying(NEXT, state);
        let running = Arc::get_mut(seen.pull.as_mut().unwrap()).unwrap().running.as_mut().unwrap();
        (running.created, running.over) = (Some(Timestamp::from_second(-541).unwrap()), over);
        outcome(&seen)
    };
    let ended = |code: i32| json!({ "terminated": { "exitCode": code, "reason": "Error" } });
    for code in [1, 127] {
        assert_eq!(after_long(&ended(code), true), (vec![], "ImageUnavailable".to_owned()), "{code}");
    }
    for killed in [137, 143] {
        let (done, _) = after_long(&ended(killed), true);
        assert_eq!(done, [format!("change {}", NAMES[1])], "{killed}: etcd did not end by itself");
    }
}

#[test]
fn what_was_tried_is_cleared_away() {
    let ended = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
    let other = trying("quay.io/coreos/etcd:v3.6.99", &ended);
    assert_eq!(outcome(&other).0, ["delete c-pull"], "another image is asked for by now");
    let mut back = trying(NEXT, &json!({ "waiting": { "reason": "ImagePullBackOff" } }));
    back.cluster = three(&json!({ "size": 3 })).cluster;
    assert_eq!(outcome(&back).0, ["delete c-pull"], "the change is taken back");
}

#[test]
fn no_service_selects_the_pod_that_tries_an_image() {
    let create = after(&rolling(), 60).effects.into_iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create),
        _ => None,
    });
    let labels = create.unwrap().body["metadata"]["labels"].clone();
    assert!(labels["app"].is_null() && labels["etcd_cluster"].is_null(), "{labels}");
}
