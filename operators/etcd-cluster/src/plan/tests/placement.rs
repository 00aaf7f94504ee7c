//! A trial pod shows whether pods of the current spec start, before the first healthy member's pod is replaced.

use runtime::projections::Pod;

use super::members::{NAMES, after, message, three};
use super::*;
use crate::plan::next_check;
use crate::plan::placement::{TrialFeasibility, trial_feasibility};

/// Three healthy members that are to get new pods. The next member's current pod allows a trial pod.
fn moving(pod: &Value) -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    seen.cluster = three(&json!({ "size": 3, "pod": pod })).cluster;
    (seen.peers, seen.trial_feasibility) = (ChildState::Absent, trial_feasibility(&seen.cluster, &present(&json!({}))));
    seen
}

/// The current pod, with more in its spec.
fn present(more: &Value) -> Value {
    let resources = json!({ "requests": { "cpu": "50m", "memory": "128Mi" } });
    let mut pod = json!({ "spec": { "containers": [{ "name": "etcd", "resources": resources }] } });
    let more = more.as_object().cloned().unwrap_or_default();
    pod["spec"].as_object_mut().unwrap().extend(more);
    pod
}

fn ssd() -> Value {
    json!({ "nodeSelector": { "disk": "ssd" } })
}

/// A trial pod exists, in that state.
fn tried(seen: &mut Observed, whole: bool, status: &Value) {
    tried_of(seen, whole, "quay.io/coreos/etcd:v3.6.16", status);
}

fn tried_of(seen: &mut Observed, whole: bool, image: &str, status: &Value) {
    let pod = json!({
        "metadata": { "namespace": "n", "name": names::trial(&seen.cluster, whole), "uid": "t",
            "creationTimestamp": "1970-01-01T00:00:00Z", "labels": objects::trial_labels(&seen.cluster),
            "ownerReferences": [{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "c",
                "uid": "u", "controller": true }],
            "annotations": { "multi-operator.example.com/image": image, objects::MEMBER: NAMES[1], "multi-operator.example.com/agent-image": "agent:1",
                objects::PLACEMENT: objects::placement(&seen.cluster) } },
        "spec": { "nodeName": "two" },
        "status": status,
    });
    seen.trials.push(Arc::new(Pod::decode(&pod.to_string()).unwrap()));
}

fn ended(code: i32) -> Value {
    let state = json!({ "terminated": { "exitCode": code, "reason": "Completed" } });
    json!({ "phase": if code == 0 { "Succeeded" } else { "Failed" }, "containerStatuses": [
        { "name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16", "restartCount": 0, "state": state, "lastState": {} }] })
}

fn homeless() -> Value {
    json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector." }] })
}

/// The effects on pods, and the reason of Ready.
fn outcome_at(seen: &Observed, second: i64) -> (Vec<String>, String) {
    let plan = after(seen, second);
    let done = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Create(create) => Some(format!("create {}", create.key.name)),
        Effect::Delete(delete) => Some(format!("delete {}", delete.key.name)),
        _ => None,
    });
    (done.collect(), plan.status.unwrap().contract.condition("Ready").unwrap().reason.to_string())
}

fn outcome(seen: &Observed) -> (Vec<String>, String) {
    outcome_at(seen, 60)
}

fn renewed() -> Vec<String> {
    vec![format!("delete {}", NAMES[1])]
}

#[test]
fn a_pod_is_replaced_once_a_trial_pod_has_started() {
    let mut seen = moving(&ssd());
    assert_eq!(outcome(&seen), (vec!["create c-placement".to_owned()], "RestartingMember".to_owned()));
    tried(&mut seen, false, &json!({ "phase": "Pending" }));
    assert_eq!(outcome(&seen), (vec![], "RestartingMember".to_owned()));
    seen.trials.clear();
    tried(&mut seen, false, &homeless());
    assert_eq!(outcome(&seen), (vec![], "PodRefused".to_owned()));
    seen.trials.clear();
    tried(&mut seen, false, &ended(0));
    assert_eq!(outcome(&seen).0, renewed());
}

#[test]
fn a_change_that_does_not_affect_the_start_is_not_tried() {
    for pod in [json!({ "labels": { "team": "a" } }), json!({ "annotations": { "a": "b" } })] {
        assert_eq!(outcome(&moving(&pod)).0, renewed(), "{pod}");
    }
}

#[test]
fn an_impossible_trial_is_skipped() {
    let mut seen = moving(&ssd());
    seen.trial_feasibility = Some(TrialFeasibility::Impossible);
    assert_eq!(outcome(&seen).0, renewed());
    seen.trial_feasibility = None;
    assert_eq!(outcome(&seen), (vec![], "RestartingMember".to_owned()), "the present pod is yet to be read");
    let apart = json!([{ "labelSelector": {}, "topologyKey": "kubernetes.io/hostname" }]);
    let affinity = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": apart } });
    assert_eq!(
        trial_feasibility(&seen.cluster, &present(&json!({ "affinity": affinity }))),
        Some(TrialFeasibility::Impossible)
    );
    assert_eq!(trial_feasibility(&seen.cluster, &json!({ "spec": 1 })), None);
}

#[test]
fn a_trial_on_another_node_is_repeated_with_the_full_requests() {
    let mut seen = moving(&ssd());
    Arc::get_mut(&mut seen.pods[1]).unwrap().details.as_mut().unwrap().node = Some("one".into());
    tried(&mut seen, false, &ended(0));
    assert_eq!(outcome(&seen).0, ["create c-placement-whole"]);
    tried(&mut seen, true, &homeless());
    assert_eq!(outcome(&seen), (vec![], "PodRefused".to_owned()));
    seen.trials.pop();
    tried(&mut seen, true, &ended(0));
    assert_eq!(outcome(&seen).0, renewed());
    seen.trials.pop();
    Arc::get_mut(&mut seen.pods[1]).unwrap().details.as_mut().unwrap().node = Some("two".into());
    assert_eq!(outcome(&seen).0, renewed(), "what the present pod has is free there");
}

#[test]
fn a_failure_of_the_image_is_reported_as_such() {
    let mut seen = moving(&ssd());
    tried(&mut seen, false, &ended(127));
    assert_eq!(outcome(&seen), (vec![], "ImageUnavailable".to_owned()));
    seen.trials.clear();
    let waiting = |reason: &str| {
        let state = json!({ "waiting": { "reason": reason, "message": "why" } });
        json!({ "containerStatuses": [{ "name": "etcd", "image": "", "restartCount": 0, "state": state, "lastState": {} }] })
    };
    tried(&mut seen, false, &waiting("ImagePullBackOff"));
    assert_eq!(outcome(&seen), (vec![], "ImageUnavailable".to_owned()));
    seen.trials.clear();
    tried(&mut seen, false, &waiting("CreateContainerConfigError"));
    assert_eq!(outcome(&seen), (vec![], "PodRefused".to_owned()), "a Secret that a variable refers to is not there");
}

#[test]
fn a_trial_that_a_kubelet_ends_or_rejects_is_reported_and_repeated_later() {
    let rejected = json!({ "phase": "Failed", "reason": "SysctlForbidden", "message": "forbidden sysctl" });
    for (status, why) in [(ended(137), "killed with exit code 137"), (rejected, "forbidden sysctl")] {
        let mut seen = moving(&ssd());
        tried(&mut seen, false, &status);
        assert_eq!(outcome_at(&seen, 60), (vec![], "PodRefused".to_owned()), "{status}");
        assert!(message(&after(&seen, 60).status.unwrap()).contains(why), "{status}");
        assert_eq!(outcome_at(&seen, 600).0, ["delete c-placement"], "{status}");
    }
}

#[test]
fn a_trial_container_that_could_not_be_started_is_reported_and_repeated_later() {
    let state = json!({ "terminated": { "exitCode": 128, "reason": "StartError", "message": "container init was OOM-killed" } });
    let of = |name: &str| json!([{ "name": name, "image": "i", "restartCount": 0, "state": state, "lastState": {} }]);
    for status in [
        json!({ "phase": "Failed", "containerStatuses": of("etcd") }),
        json!({ "phase": "Failed", "initContainerStatuses": of("agent") }),
    ] {
        let mut seen = moving(&ssd());
        tried(&mut seen, false, &status);
        assert_eq!(outcome_at(&seen, 60), (vec![], "PodRefused".to_owned()), "{status}");
        assert!(message(&after(&seen, 60).status.unwrap()).contains("OOM-killed"), "{status}");
        assert_eq!(outcome_at(&seen, 600).0, ["delete c-placement"], "{status}");
    }
}

/// It is bound to a node whose kubelet neither starts nor removes it.
#[test]
fn a_trial_on_a_lost_node_is_reported() {
    let mut seen = moving(&ssd());
    tried(&mut seen, false, &json!({ "phase": "Pending" }));
    assert_eq!(outcome_at(&seen, 600), (vec![], "RestartingMember".to_owned()), "a slow node is not lost");
    let trial = Arc::get_mut(&mut seen.trials[0]).unwrap();
    trial.meta.deleting = true;
    trial.details.as_mut().unwrap().deleted = Some(Timestamp::from_second(630).unwrap());
    assert_eq!(outcome_at(&seen, 689), (vec![], "RestartingMember".to_owned()), "it is about to go");
    assert_eq!(outcome_at(&seen, 690), (vec![], "PodRefused".to_owned()));
    let status = after(&seen, 690).status.unwrap();
    assert!(message(&status).contains("node two"), "{}", message(&status));
    assert!(message(&status).ends_with("kubectl delete pod -n n c-placement --force"), "{}", message(&status));
}

#[test]
fn a_trial_pod_that_is_no_longer_needed_is_deleted() {
    let mut seen = moving(&ssd());
    tried(&mut seen, false, &homeless());
    seen.cluster = three(&json!({ "size": 3 })).cluster;
    assert_eq!(outcome(&seen).0, ["delete c-placement"], "the change is taken back");
    let mut seen = moving(&ssd());
    tried_of(&mut seen, false, "quay.io/coreos/etcd:v3.6.99", &homeless());
    assert_eq!(outcome(&seen).0, ["delete c-placement"], "another image is asked for by now");
}

#[test]
fn the_trial_pod_is_like_a_members_without_what_the_current_one_has() {
    let variable =
        json!({ "name": "ETCD_LOG_LEVEL", "valueFrom": { "configMapKeyRef": { "name": "etcd", "key": "level" } } });
    let spec = json!({ "nodeSelector": { "disk": "ssd" }, "affinity": { "podAntiAffinity": {}, "nodeAffinity": {} },
        "resources": { "requests": { "cpu": "1" } }, "etcdEnv": [variable.clone()], "priorityClassName": "high",
        "tolerations": [{ "operator": "Exists" }], "imagePullSecrets": [{ "name": "pull" }] });
    let mut seen = moving(&spec);
    seen.trial_feasibility = trial_feasibility(&seen.cluster, &present(&json!({ "priorityClassName": "low" })));
    let now = Timestamp::from_second(60).unwrap();
    let (_, create) = next_check(&seen, now).unwrap();
    let pod = &create.unwrap().body;
    for field in ["nodeSelector", "tolerations", "imagePullSecrets"] {
        assert_eq!(pod["spec"][field], spec[field]);
    }
    assert_eq!(pod["spec"]["affinity"], json!({ "nodeAffinity": {} }));
    assert_eq!(pod["spec"]["priorityClassName"], "low");
    let etcd = &pod["spec"]["containers"][0];
    assert_eq!((&etcd["resources"]["requests"]["cpu"], &etcd["env"][0]), (&json!("950m"), &variable));
    assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], NAMES[1]);
    assert_eq!(etcd["volumeMounts"], Value::Null, "no kubelet waits for it");
    let labels = &pod["metadata"]["labels"];
    assert!(labels["app"].is_null() && labels["etcd_cluster"].is_null(), "no Service selects it: {labels}");
    let claim =
        json!({ "persistentVolumeClaimSpec": { "accessModes": ["ReadWriteOncePod"] }, "nodeSelector": { "a": "b" } });
    let (_, create) = next_check(&moving(&claim), now).unwrap();
    assert_eq!(create.unwrap().body["spec"]["volumes"], Value::Null, "no other pod may have it");
}

/// A volume stays attached to a node as long as a pod on that node refers to it, started or not.
#[test]
fn a_trial_does_not_keep_the_volume_of_a_member_without_a_pod() {
    for listed in [true, false] {
        let mut seen = moving(&ssd());
        let known = after(&three(&json!({ "size": 3 })), 60).status.unwrap();
        Arc::get_mut(&mut seen.cluster).unwrap().status = known;
        let waiting =
            json!({ "waiting": { "reason": "CreateContainerConfigError", "message": "configmap \"a\" not found" } });
        let etcd = json!({ "name": "etcd", "image": "i", "restartCount": 0, "state": waiting, "lastState": {} });
        tried(&mut seen, false, &json!({ "phase": "Pending", "containerStatuses": [etcd] }));
        seen.pods.retain(|pod| *pod.meta.key.name != *NAMES[1]);
        seen.etcd.endpoints.remove(NAMES[1]);
        if !listed {
            seen.etcd.members = Err("no leader".into());
        }
        assert_eq!(outcome(&seen).0, ["delete c-placement"], "{listed}");
        seen.trials.clear();
        assert_eq!(outcome(&seen).0, [format!("create {}", NAMES[1])], "{listed}");
    }
}
