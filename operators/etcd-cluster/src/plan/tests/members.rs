//! Three running members, and single failures of them.

use runtime::projections::{Pod, Pvc};

use super::*;
use crate::plan::desired::Desired;
use crate::plan::member_set::hex;
use crate::plan::version::Version;

pub(super) const NAMES: [&str; 3] = ["c-aaaaaaaaaa", "c-bbbbbbbbbb", "c-cccccccccc"];

/// Three healthy members of that spec.
pub(super) fn three(spec: &Value) -> Observed {
    let mut seen = observed(spec, &bootstrapped());
    let desired = desired::Desired::of(&seen, &MemberSet::of(&seen, Timestamp::UNIX_EPOCH), true);
    for (id, name) in (1..).zip(NAMES) {
        let mut pod = pod(name, &desired.template, &json!({ "running": { "startedAt": at(0) } }), 0, at(9));
        let placement = (objects::PLACEMENT.to_owned(), objects::placement(&seen.cluster));
        pod.details.as_mut().unwrap().annotations.extend([placement]);
        seen.pods.push(Arc::new(pod));
        let labels = json!({ "multi-operator.example.com/owner-uid": "u" });
        let held = [api::UNSAVED_DATA];
        let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": labels, "finalizers": held },
            "status": { "phase": "Bound" } });
        seen.claims.push(Arc::new(Pvc::decode(&claim.to_string()).unwrap()));
        let endpoint = EndpointStatus {
            cluster_id: 1,
            member_id: id,
            version: "3.6.16".into(),
            leader: 1,
            ..EndpointStatus::default()
        };
        seen.etcd.endpoints.insert(name.into(), Ok(endpoint));
    }
    let member = |(id, name): (u64, &str)| ListedMember {
        id,
        name: name.to_owned(),
        peer_urls: vec![format!("http://{name}.c.n.svc:2380")],
        learner: false,
    };
    seen.etcd.members = Ok((1..).zip(NAMES).map(member).collect());
    seen
}

/// Second `second` of the epoch.
pub(super) fn at(second: u32) -> String {
    format!("1970-01-01T00:00:{second:02}Z")
}

pub(super) fn pod(name: &str, template: &str, state: &Value, restarts: i32, ready_since: String) -> Pod {
    let ended =
        if restarts > 0 { json!({ "terminated": { "exitCode": 2, "message": "panic: x" } }) } else { json!({}) };
    let pod = json!({
        "metadata": {
            "namespace": "n", "name": name, "uid": name,
            "labels": { "multi-operator.example.com/owner-kind": "EtcdCluster.etcd.database.coreos.com",
                "app.kubernetes.io/instance": "c" },
            "ownerReferences": [{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "c",
                "uid": "u", "controller": true }],
            "annotations": { "etcd.version": "3.6.16", "multi-operator.example.com/template": template,
                "multi-operator.example.com/start": "join",
                "multi-operator.example.com/restarts": restarts.min(3).to_string() },
        },
        "status": {
            "podIP": "10.0.0.1",
            "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": ready_since }],
            "initContainerStatuses": [{ "name": "wait", "image": "agent:1", "restartCount": 0,
                "state": { "terminated": { "exitCode": 0, "reason": "Completed" } }, "lastState": {} }],
            "containerStatuses": [{ "name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16", "restartCount": restarts,
                "state": state, "lastState": ended }],
        },
    });
    Pod::decode(&pod.to_string()).unwrap()
}

pub(super) fn after(seen: &Observed, second: i64) -> EtcdPlan {
    plan(seen, Timestamp::from_second(second).unwrap())
}

pub(super) fn message(status: &EtcdClusterStatus) -> &str {
    &status.contract.condition("Ready").unwrap().message
}

/// The last member's etcd does not run, and has restarted that often.
pub(super) fn crashing(restarts: i32, state: &Value) -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    seen.pods[2] = Arc::new(pod(NAMES[2], &template, state, restarts, at(9)));
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    seen
}

pub(super) fn removes(seen: &Observed) -> bool {
    let remove = |effect: &Effect<EtcdAct>| {
        matches!(effect, Effect::Act(EtcdAct::Change { change: EtcdChange::Remove { .. }, .. }))
    };
    after(seen, 60).effects.iter().any(remove)
}

/// Whether a plan only creates the Service that these tests leave out.
pub(super) fn touches_nothing(plan: &EtcdPlan) -> bool {
    plan.effects.iter().all(|effect| matches!(effect, Effect::Apply(apply) if apply.kind.kind == "Service"))
}

#[test]
fn healthy_members_are_ready() {
    let plan = after(&three(&json!({ "size": 3 })), 60);
    assert!(touches_nothing(&plan));
    assert_eq!(reason(&plan.status.unwrap(), "Ready"), (ConditionStatus::True, "Running".to_owned()));
}

#[test]
fn a_member_is_replaced_only_for_crashes_with_its_own_cause() {
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    assert!(!removes(&crashing(4, &waiting)), "three restarts were changes of the image");
    assert!(!removes(&crashing(6, &json!({ "terminated": { "exitCode": 2, "message": "panic: x" } }))));
    assert!(removes(&crashing(6, &waiting)), "three crashes, each soon after a start");
}

/// etcd answers as soon as it runs, and the kubelet reports a second later that it has started it. It reports the image by its
/// tag, or as some runtimes do by a digest.
#[test]
fn a_report_about_the_previous_image_makes_no_member_ready() {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    let state = json!({ "running": { "startedAt": at(1) } });
    let mut ready = |image: &str, reported: i32| {
        let mut pod = pod(NAMES[0], &template, &state, reported, at(9));
        let running = pod.details.as_mut().unwrap();
        running.annotations.insert("multi-operator.example.com/restarts".to_owned(), "3".to_owned());
        running.containers.iter_mut().for_each(|etcd| etcd.image = image.into());
        seen.pods[0] = Arc::new(pod);
        after(&seen, 60).status.unwrap().ready.unwrap()
    };
    let (before, now, digest) = ("quay.io/coreos/etcd:v3.6.15", "quay.io/coreos/etcd:v3.6.16", "sha256:a");
    assert_eq!([ready(before, 2), ready(now, 3), ready(now, 0)], ["2/3", "3/3", "3/3"]);
    assert_eq!([ready(digest, 2), ready(digest, 3)], ["2/3", "3/3"]);
}

/// The kubelet counts from zero once the first image can be pulled.
#[test]
fn an_etcd_that_has_never_run_has_no_restarts() {
    let restarts = |state: &Value, restarts: i32| {
        let pod = pod(NAMES[0], "t", state, restarts, at(9));
        let desired = {
            let seen = three(&json!({ "size": 3 }));
            let desired = Desired::of(&seen, &MemberSet::of(&seen, Timestamp::UNIX_EPOCH), true);
            Desired { version: Version::parse("3.6.17").unwrap(), ..desired }
        };
        let change = objects::next_image(&pod, &desired).body;
        change["metadata"]["annotations"]["multi-operator.example.com/restarts"].as_str().unwrap().to_owned()
    };
    assert_eq!(restarts(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), 0), "0");
    assert_eq!(restarts(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), 2), "3");
    assert_eq!(restarts(&json!({ "running": { "startedAt": at(1) } }), 0), "1");
}

#[test]
fn readiness_counts_once_it_is_stable() {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    let mut ready_at = |started: u32, ready: u32, now: i64| {
        let state = json!({ "running": { "startedAt": at(started) } });
        seen.pods[2] = Arc::new(pod(NAMES[2], &template, &state, 1, at(ready)));
        after(&seen, now).status.unwrap().ready.unwrap()
    };
    assert_eq!(ready_at(50, 51, 52), "2/3", "the startup probe has not restarted");
    assert_eq!(ready_at(50, 51, 56), "2/3", "the kubelet may be short of processor time");
    assert_eq!(ready_at(50, 51, 59), "3/3", "and it will not");
    assert_eq!(ready_at(50, 53, 53), "3/3", "it has passed again");
    assert_eq!(ready_at(50, 20, 51), "2/3", "that is of the container before");
}

#[test]
fn an_alarm_is_reported_with_its_member_and_the_remedy() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.etcd.alarms = vec![(2, Alarm::Corrupt)];
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Available"), (ConditionStatus::False, "DataCorrupt".to_owned()));
    assert!(message(&status).contains(NAMES[1]) && message(&status).contains("etcdctl alarm disarm"));
    seen.etcd.alarms = vec![(77, Alarm::Corrupt)];
    let status = after(&seen, 60).status.unwrap();
    assert!(message(&status).contains(&hex(77)) && message(&status).contains("etcdctl alarm disarm"));
    seen.etcd.alarms = vec![(0, Alarm::Corrupt)];
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Available"), (ConditionStatus::False, "DataCorrupt".to_owned()));
    assert!(!message(&status).contains("no longer a member"), "{}", message(&status));
    assert!(message(&status).contains("does not know of which") && message(&status).contains("endpoint hashkv"));
}

#[test]
fn a_rejection_does_not_hide_problems_of_members() {
    let mut seen = crashing(0, &json!({ "waiting": { "reason": "ContainerCreating" } }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
        "finalizers": [ETCD_VOLUMES] },
        "spec": { "size": 3, "version": "3.5.35" }, "status": bootstrapped() });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "UpgradeRefused".to_owned()));
    assert!(message(&status).contains("spec.version to 3.6.16 or later") && message(&status).contains(NAMES[2]));
}

#[test]
fn a_cluster_that_requires_authentication_has_not_lost_quorum() {
    let mut seen = three(&json!({ "size": 3 }));
    let denied = "requires authentication: user name is empty";
    seen.etcd = Etcd {
        endpoints: NAMES.iter().map(|name| ((*name).into(), Err(denied.to_owned()))).collect(),
        members: Err(format!("{} {denied}", NAMES[0])),
        auth_required: true,
        ..Etcd::default()
    };
    let plan = after(&seen, 60);
    assert!(touches_nothing(&plan));
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "QuorumHealthy"), (ConditionStatus::Unknown, "AuthenticationRequired".to_owned()));
    assert_eq!(reason(&status, "Available"), (ConditionStatus::Unknown, "AuthenticationRequired".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "AuthenticationRequired".to_owned()));
}

#[test]
fn a_failed_pod_is_replaced_with_or_without_quorum() {
    for members in [None, Some("no leader".to_owned())] {
        let mut seen = three(&json!({ "size": 3 }));
        seen.etcd.members = members.map_or(seen.etcd.members, Err);
        seen.etcd.endpoints.insert(NAMES[1].into(), Err("cannot be reached".to_owned()));
        Arc::get_mut(&mut seen.pods[1]).unwrap().details.as_mut().unwrap().terminal = true;
        let plan = after(&seen, 60);
        let deleted =
            |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if &*delete.key.name == NAMES[1]);
        assert!(plan.effects.iter().any(deleted), "{:?}", plan.effects);
    }
}

#[test]
fn a_pod_that_fails_at_once_is_kept_for_a_while_and_reported() {
    let failed = |created: i64, since: i64| {
        let mut seen = three(&json!({ "size": 3 }));
        let status = json!({ "name": NAMES[1], "id": "2", "role": "Unreachable", "since": Timestamp::from_second(since).unwrap() });
        let mut cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
            "finalizers": [ETCD_VOLUMES] }, "spec": { "size": 3 }, "status": bootstrapped() });
        cluster["status"]["memberStatuses"] = json!([status]);
        seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
        seen.etcd.endpoints.remove(NAMES[1]);
        let running = Arc::get_mut(&mut seen.pods[1]).unwrap().details.as_mut().unwrap();
        (running.terminal, running.created) = (true, Some(Timestamp::from_second(created).unwrap()));
        running.failure = Some("OutOfpods: no room".into());
        running.containers.clear();
        let plan = after(&seen, 1000);
        let deleted = plan.effects.iter().any(|effect| matches!(effect, Effect::Delete(_)));
        (deleted, message(&plan.status.unwrap()).contains("OutOfpods: no room"))
    };
    assert_eq!(failed(999, 990), (false, true), "it would fail again");
    assert!(failed(984, 990).0 && failed(0, 999).0, "it ran for a while");
    assert_eq!(failed(950, 100), (false, true), "pods have been failing for long");
    assert!(failed(930, 100).0);
}

#[test]
fn a_restart_for_a_larger_volume_is_no_lost_quorum() {
    let mut seen = three(&json!({ "size": 1 }));
    let desired = desired::Desired::of(&seen, &MemberSet::of(&seen, Timestamp::UNIX_EPOCH), true);
    let mark = known_good::fingerprint_of(&desired);
    let labels = json!({ "multi-operator.example.com/owner-uid": "u", objects::KNOWN_GOOD: mark, objects::NEXT: mark });
    let claim = json!({ "metadata": { "namespace": "n", "name": NAMES[0], "uid": "p", "labels": labels },
        "status": { "phase": "Bound" } });
    seen.claims = vec![Arc::new(Pvc::decode(&claim.to_string()).unwrap())];
    seen.pods.clear();
    let mut cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
        "finalizers": [ETCD_VOLUMES] }, "spec": { "size": 1 }, "status": bootstrapped() });
    cluster["status"]["memberStatuses"] = json!([{ "name": NAMES[0], "id": "1", "role": "Unreachable" }]);
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen.etcd = Etcd::default();
    let plan = after(&seen, 60);
    let forgets = |apply: &Apply| apply.kind == Pvc::KIND && apply.manager_prefix == Some("next");
    assert!(!plan.independent.iter().any(forgets), "it is remembered until the member is back");
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Ready").1, "RestartingMember");
    assert_eq!(reason(&status, "Available").1, "RestartingMember");
}

#[test]
fn a_member_whose_pod_is_terminating_is_not_ready() {
    let mut seen = three(&json!({ "size": 3 }));
    assert_eq!(after(&seen, 60).status.unwrap().members.ready, NAMES);
    Arc::get_mut(&mut seen.pods[0]).unwrap().meta.deleting = true;
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::False);
    assert_eq!(status.members.ready, NAMES[1..]);
    assert_eq!(status.members.unready, NAMES[..1]);
}
