//! The image is tried before the first member gets it.

use runtime::projections::Pod;
use runtime::status::conditions;

use super::members::{NAMES, after, three};
use super::*;

const NEXT: &str = "quay.io/coreos/etcd:v3.6.17";

/// Three members that are well, of 3.6.16, and are to run 3.6.17.
pub(super) fn rolling() -> Observed {
    let mut seen = three(&json!({ "size": 3, "version": "3.6.17" }));
    seen.peers = ChildState::Absent;
    seen
}

/// The pod that tries `image` is there, and its etcd container is in that state.
pub(super) fn trying(image: &str, state: &Value) -> Observed {
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
    seen.pull = Some(Arc::new(placed(&seen, Pod::decode(&pod.to_string()).unwrap())));
    seen
}

/// The pod as it is made now, by what the spec says of pods.
fn placed(seen: &Observed, mut pod: Pod) -> Pod {
    let annotations = &mut pod.running.as_mut().unwrap().annotations;
    annotations.insert(objects::PLACEMENT.to_owned(), objects::placement(&seen.cluster));
    pod
}

/// What is done to pods, and why Ready says what it does.
pub(super) fn outcome(seen: &Observed) -> (Vec<String>, String) {
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

/// As kubelets tell of a container that could not be started: reason StartError.
fn not_started(why: &str) -> Value {
    json!({ "terminated": { "exitCode": 128, "reason": "StartError", "message": why } })
}

const TOO_SLOW: &str = "failed to create containerd task: context deadline exceeded";
const NO_ETCD: &str = "OCI runtime create failed: runc create failed: unable to start container process: exec: \"etcd\": \
    executable file not found in $PATH: unknown";

#[test]
fn a_container_that_could_not_be_started_is_held_against_no_image_that_has_its_program() {
    let mut seen = trying(NEXT, &not_started(TOO_SLOW));
    let mut created = |at: i64| {
        let running = Arc::get_mut(seen.pull.as_mut().unwrap()).unwrap().running.as_mut().unwrap();
        running.created = Some(Timestamp::from_second(at).unwrap());
        outcome(&seen)
    };
    let (done, reason) = created(0);
    assert!(done.is_empty() && reason != "ImageUnavailable", "nothing has been found out: {reason}");
    assert_eq!(created(-600).0, ["delete c-pull"], "it is tried anew");
    assert_eq!(outcome(&trying(NEXT, &not_started(NO_ETCD))), (vec![], "ImageUnavailable".to_owned()));
}

/// As runc, crun, gVisor and kata tell of an image without etcd: all name what they were to run.
#[test]
fn every_runtime_names_the_program_that_is_not_in_the_image() {
    for why in [
        "runc create failed: unable to start container process: exec: \"/usr/local/bin/etcd\": stat /usr/local/bin/etcd: no such \
         file or directory: unknown",
        "crun: executable file `etcd` not found in $PATH: No such file or directory: unknown",
        "OCI runtime start failed: starting container: starting root container: failed to load /usr/local/bin/etcd: no such file or \
         directory: unknown",
        "failed to create shim task: the file /usr/local/bin/etcd was not found: unknown",
    ] {
        assert_eq!(outcome(&trying(NEXT, &not_started(why))), (vec![], "ImageUnavailable".to_owned()), "{why}");
    }
}

/// A trace of kata's own agent names no program of the image.
#[test]
fn a_stack_trace_of_a_runtime_is_not_of_the_agent() {
    let trace = "failed to create shim task: src/agent/rustjail/src/container.rs:1: deadline exceeded";
    let image = |why: &str| outcome(&trying_both(&not_started(why), &json!({ "waiting": {} }))).1;
    assert_eq!(image(trace), "PullingImage");
    assert_eq!(image("failed to create shim task: the file /agent was not found: unknown"), "ImageUnavailable");
}

/// Whatever a runtime calls it; and however long the cluster has not been Ready for another reason.
#[test]
fn an_image_that_starts_at_no_try_is_told_of_at_the_second_one_and_tried_on() {
    let mut seen = rolling();
    let mut before = after(&seen, 0).status.unwrap();
    let unready = before.contract.conditions.iter_mut().find(|condition| condition.type_ == "Ready").unwrap();
    (unready.reason, unready.message) =
        (EtcdClusterReason::MemberUnhealthy.into(), "2 of 3 members are ready".to_owned());
    let mut pass = |pod: Option<i64>, second: i64| {
        seen.cluster = observed(&json!({ "size": 3, "version": "3.6.17" }), &before).cluster;
        seen.pull = pod.and_then(|created| {
            let mut pull = trying(NEXT, &not_started(TOO_SLOW)).pull;
            let running = Arc::get_mut(pull.as_mut().unwrap()).unwrap().running.as_mut().unwrap();
            running.created = Some(Timestamp::from_second(created).unwrap());
            pull
        });
        let plan = after(&seen, second);
        let deletes = plan.effects.iter().any(|effect| matches!(effect, Effect::Delete(_)));
        let mut status = plan.status.unwrap();
        conditions::merge(&mut status.contract, &before.contract, 1, "m");
        before = status;
        let ready = before.contract.condition("Ready").unwrap();
        (deletes, ready.reason.to_string(), ready.message.contains("deadline exceeded"))
    };
    let (pulling, told) = ((false, "PullingImage".to_owned(), false), (false, "ImageUnavailable".to_owned(), true));
    assert_eq!(
        [pass(None, 6_000), pass(Some(6_000), 6_001), pass(Some(6_000), 6_599)],
        [(); 3].map(|()| pulling.clone())
    );
    assert!(pass(Some(6_000), 6_600).0, "it is tried anew");
    assert_eq!(pass(None, 6_601), pulling);
    assert_eq!([pass(Some(6_601), 6_602), pass(Some(6_601), 6_603)], [told.clone(), told.clone()]);
    assert!(pass(Some(6_601), 7_201).0, "and again");
    assert_eq!([pass(None, 7_202), pass(Some(7_202), 7_203)], [pulling, told]);
}

/// No spec corrects the manager's own image.
#[test]
fn the_agents_image_is_tried_anew_after_a_while() {
    let tried = |created: i64, state: &Value| {
        let mut seen = trying_both(state, &json!({ "waiting": { "reason": "PodInitializing" } }));
        let running = Arc::get_mut(seen.pull.as_mut().unwrap()).unwrap().running.as_mut().unwrap();
        running.created = Some(Timestamp::from_second(created).unwrap());
        outcome(&seen)
    };
    let failed = json!({ "terminated": { "exitCode": 1, "reason": "Error" } });
    assert_eq!(tried(-539, &failed), (vec![], "ImageUnavailable".to_owned()));
    assert_eq!(tried(-541, &failed).0, ["delete c-pull"]);
    assert!(tried(0, &not_started(TOO_SLOW)).0.is_empty(), "nothing has been found out");
    assert_eq!(tried(-541, &not_started(TOO_SLOW)).0, ["delete c-pull"]);
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

/// The manager has another image by now, and members are to get other pods.
pub(super) fn with_another_agent() -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    seen.cluster = three(&json!({ "size": 3, "pod": { "labels": { "team": "a" } } })).cluster;
    seen.agent_image = "agent:2".into();
    seen
}

/// The pod that tries both images is there, and its containers fare like that.
pub(super) fn trying_both(agent: &Value, etcd: &Value) -> Observed {
    let mut seen = with_another_agent();
    let image = "quay.io/coreos/etcd:v3.6.16";
    let pull = trying(image, etcd).pull.unwrap();
    let mut pull = Arc::into_inner(pull).unwrap();
    let of = |name: &str, image: &str, state: &Value| json!({ "name": name, "image": image, "restartCount": 0, "state": state, "lastState": {} });
    let pod = json!({
        "metadata": { "namespace": "n", "name": "c-pull", "uid": "p",
            "labels": { "multi-operator.example.com/owner-kind": "EtcdCluster.etcd.database.coreos.com",
                "multi-operator.example.com/owner-uid": "u", "app.kubernetes.io/instance": "c" },
            "annotations": { "multi-operator.example.com/image": image, "multi-operator.example.com/agent-image": "agent:2" } },
        "status": { "initContainerStatuses": [of("agent", "agent:2", agent)],
            "containerStatuses": [of("etcd", image, etcd)] },
    });
    let pod = placed(&seen, Pod::decode(&pod.to_string()).unwrap());
    (pull.diagnosis, pull.running) = (pod.diagnosis, pod.running);
    seen.pull = Some(Arc::new(pull));
    seen
}
