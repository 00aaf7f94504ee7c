//! A pod checks the image before the first member gets it.

use runtime::projections::Pod;
use runtime::status::conditions;

use super::members::{NAMES, after, three};
use super::*;

const NEXT: &str = "quay.io/coreos/etcd:v3.6.17";

/// Three healthy members of 3.6.16, of a spec with 3.6.17.
pub(super) fn rolling() -> Observed {
    let mut seen = three(&json!({ "size": 3, "version": "3.6.17" }));
    seen.peers = ChildState::Absent;
    seen
}

/// The pod that checks `image` exists, with its etcd container in that state.
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
    seen.image_check = Some(Arc::new(placed(&seen, Pod::decode(&pod.to_string()).unwrap())));
    seen
}

/// The pod, as created for the current spec.
fn placed(seen: &Observed, mut pod: Pod) -> Pod {
    let annotations = &mut pod.details.as_mut().unwrap().annotations;
    annotations.insert(objects::PLACEMENT.to_owned(), objects::placement(&seen.cluster));
    pod
}

/// The effects on pods, and the reason of Ready.
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
fn a_member_gets_an_image_that_was_checked() {
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
    refused.image_check_rejected = true;
    assert_eq!(outcome(&refused).0, [format!("change {}", NAMES[1])], "what cannot be known holds nothing up");
}

#[test]
fn a_check_that_cannot_finish_does_not_block_members() {
    let waits = json!({ "waiting": { "reason": "ContainerCreating" } });
    let at = |second: i64| Some(Timestamp::from_second(second).unwrap());
    let stuck = |created: i64, deleted: Option<i64>, image: &str| {
        let mut seen = trying(image, &waits);
        let image_check = Arc::get_mut(seen.image_check.as_mut().unwrap()).unwrap();
        image_check.meta.deleting = deleted.is_some();
        let running = image_check.details.as_mut().unwrap();
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
fn a_failed_image_stays_failed_until_the_spec_changes() {
    let after_long = |state: &Value, over: bool| {
        let mut seen = trying(NEXT, state);
        let running = Arc::get_mut(seen.image_check.as_mut().unwrap()).unwrap().details.as_mut().unwrap();
        (running.created, running.terminal) = (Some(Timestamp::from_second(-541).unwrap()), over);
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

/// The kubelet's report of a container that could not be started: reason StartError.
fn not_started(why: &str) -> Value {
    json!({ "terminated": { "exitCode": 128, "reason": "StartError", "message": why } })
}

const TOO_SLOW: &str = "failed to create containerd task: context deadline exceeded";
const NO_ETCD: &str = "OCI runtime create failed: runc create failed: unable to start container process: exec: \"etcd\": \
    executable file not found in $PATH: unknown";

#[test]
fn a_container_that_could_not_be_started_does_not_count_against_an_image_with_the_program() {
    let mut seen = trying(NEXT, &not_started(TOO_SLOW));
    let mut created = |at: i64| {
        let running = Arc::get_mut(seen.image_check.as_mut().unwrap()).unwrap().details.as_mut().unwrap();
        running.created = Some(Timestamp::from_second(at).unwrap());
        outcome(&seen)
    };
    let (done, reason) = created(0);
    assert!(done.is_empty() && reason != "ImageUnavailable", "nothing has been found out: {reason}");
    assert_eq!(created(-600).0, ["delete c-pull"], "it is checked again");
    assert_eq!(outcome(&trying(NEXT, &not_started(NO_ETCD))), (vec![], "ImageUnavailable".to_owned()));
}

/// The messages of runc, crun, gVisor and kata for an image without etcd: all name the program.
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

/// A stack trace of kata's own agent names no program of the image.
#[test]
fn a_stack_trace_of_a_runtime_is_not_of_the_agent() {
    let trace = "failed to create shim task: src/agent/rustjail/src/container.rs:1: deadline exceeded";
    let image = |why: &str| outcome(&trying_both(&not_started(why), &json!({ "waiting": {} }))).1;
    assert_eq!(image(trace), "PullingImage");
    assert_eq!(image("failed to create shim task: the file /agent was not found: unknown"), "ImageUnavailable");
}

/// Whatever message the runtime has, and however long the cluster has not been Ready for another reason.
#[test]
fn an_image_that_never_starts_is_reported_at_the_second_try_and_checked_further() {
    let mut seen = rolling();
    let mut before = after(&seen, 0).status.unwrap();
    let unready = before.contract.conditions.iter_mut().find(|condition| condition.type_ == "Ready").unwrap();
    (unready.reason, unready.message) =
        (EtcdClusterReason::MemberUnhealthy.into(), "2 of 3 members are ready".to_owned());
    let mut pass = |pod: Option<i64>, second: i64| {
        seen.cluster = observed(&json!({ "size": 3, "version": "3.6.17" }), &before).cluster;
        seen.image_check = pod.and_then(|created| {
            let mut image_check = trying(NEXT, &not_started(TOO_SLOW)).image_check;
            let running = Arc::get_mut(image_check.as_mut().unwrap()).unwrap().details.as_mut().unwrap();
            running.created = Some(Timestamp::from_second(created).unwrap());
            image_check
        });
        let plan = after(&seen, second);
        let deletes = plan.effects.iter().any(|effect| matches!(effect, Effect::Delete(_)));
        let mut status = plan.status.unwrap();
        conditions::merge(&mut status.contract, &before.contract, 1, "m");
        before = status;
        let ready = before.contract.condition("Ready").unwrap();
        (deletes, ready.reason.to_string(), ready.message.contains("deadline exceeded"))
    };
    let (pulling, reported) = ((false, "PullingImage".to_owned(), false), (false, "ImageUnavailable".to_owned(), true));
    assert_eq!(
        [pass(None, 6_000), pass(Some(6_000), 6_001), pass(Some(6_000), 6_599)],
        [(); 3].map(|()| pulling.clone())
    );
    assert!(pass(Some(6_000), 6_600).0, "it is checked again");
    assert_eq!(pass(None, 6_601), pulling);
    assert_eq!([pass(Some(6_601), 6_602), pass(Some(6_601), 6_603)], [reported.clone(), reported.clone()]);
    assert!(pass(Some(6_601), 7_201).0, "and again");
    assert_eq!([pass(None, 7_202), pass(Some(7_202), 7_203)], [pulling, reported]);
}

/// No change of the spec corrects the manager's image.
#[test]
fn the_agents_image_is_checked_again_after_a_while() {
    let tried = |created: i64, state: &Value| {
        let mut seen = trying_both(state, &json!({ "waiting": { "reason": "PodInitializing" } }));
        let running = Arc::get_mut(seen.image_check.as_mut().unwrap()).unwrap().details.as_mut().unwrap();
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
fn the_pod_of_a_finished_check_is_deleted() {
    let ended = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
    let other = trying("quay.io/coreos/etcd:v3.6.99", &ended);
    assert_eq!(outcome(&other).0, ["delete c-pull"], "another image is asked for by now");
    let mut back = trying(NEXT, &json!({ "waiting": { "reason": "ImagePullBackOff" } }));
    back.cluster = three(&json!({ "size": 3 })).cluster;
    assert_eq!(outcome(&back).0, ["delete c-pull"], "the change is taken back");
}

#[test]
fn no_service_selects_the_pod_of_an_image_check() {
    let create = after(&rolling(), 60).effects.into_iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create),
        _ => None,
    });
    let labels = create.unwrap().body["metadata"]["labels"].clone();
    assert!(labels["app"].is_null() && labels["etcd_cluster"].is_null(), "{labels}");
}

/// The manager has another image, and members are to get new pods.
pub(super) fn with_another_agent() -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    seen.cluster = three(&json!({ "size": 3, "pod": { "labels": { "team": "a" } } })).cluster;
    seen.agent_image = "agent:2".into();
    seen
}

/// The pod that checks both images exists, with its containers in these states.
pub(super) fn trying_both(agent: &Value, etcd: &Value) -> Observed {
    let mut seen = with_another_agent();
    let image = "quay.io/coreos/etcd:v3.6.16";
    let image_check = trying(image, etcd).image_check.unwrap();
    let mut image_check = Arc::into_inner(image_check).unwrap();
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
    (image_check.diagnosis, image_check.details) = (pod.diagnosis, pod.details);
    seen.image_check = Some(Arc::new(image_check));
    seen
}
