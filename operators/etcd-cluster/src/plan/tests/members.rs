//! Three members that run, and what single things that befall them come to.

use runtime::projections::{Claim, Pod};

use super::*;
use crate::plan::roster::hex;
use crate::plan::version::Version;
use crate::plan::wish::Wish;

pub(super) const NAMES: [&str; 3] = ["c-aaaaaaaaaa", "c-bbbbbbbbbb", "c-cccccccccc"];

/// Three healthy members of that spec.
pub(super) fn three(spec: &Value) -> Observed {
    let mut seen = observed(spec, &made());
    let wish = wish::Wish::of(&seen, &Roster::of(&seen, Timestamp::UNIX_EPOCH), true);
    for (id, name) in (1..).zip(NAMES) {
        let mut pod = pod(name, &wish.template, &json!({ "running": { "startedAt": at(0) } }), 0, at(9));
        let placement = (objects::PLACEMENT.to_owned(), objects::placement(&seen.cluster));
        pod.running.as_mut().unwrap().annotations.extend([placement]);
        seen.pods.push(Arc::new(pod));
        let labels = json!({ "multi-operator.example.com/owner-uid": "u" });
        let held = [api::UNSAVED_DATA];
        let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": labels, "finalizers": held },
            "status": { "phase": "Bound" } });
        seen.claims.push(Arc::new(Claim::decode(&claim.to_string()).unwrap()));
        let endpoint =
            Endpoint { cluster_id: 1, member_id: id, version: "3.6.16".into(), leader: 1, ..Endpoint::default() };
        seen.etcd.endpoints.insert(name.into(), Ok(endpoint));
    }
    let member = |(id, name): (u64, &str)| Member {
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

/// The last member's etcd does not run, and has been started again so often.
pub(super) fn crashing(restarts: i32, state: &Value) -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].running.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    seen.pods[2] = Arc::new(pod(NAMES[2], &template, state, restarts, at(9)));
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    seen
}

pub(super) fn removes(seen: &Observed) -> bool {
    let remove =
        |effect: &Effect<EtcdAct>| matches!(effect, Effect::Act(EtcdAct { change: Change::Remove { .. }, .. }));
    after(seen, 60).effects.iter().any(remove)
}

/// Whether a plan does no more than make the Service that these tests leave out.
pub(super) fn touches_nothing(plan: &EtcdPlan) -> bool {
    plan.effects.iter().all(|effect| matches!(effect, Effect::Apply(apply) if apply.kind.kind == "Service"))
}

#[test]
fn all_well_is_ready() {
    let plan = after(&three(&json!({ "size": 3 })), 60);
    assert!(touches_nothing(&plan));
    assert_eq!(reason(&plan.status.unwrap(), "Ready"), (ConditionStatus::True, "Running".to_owned()));
}

#[test]
fn a_member_is_given_up_for_crashes_of_its_own_only() {
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    assert!(!removes(&crashing(4, &waiting)), "three restarts were changes of the image");
    assert!(!removes(&crashing(6, &json!({ "terminated": { "exitCode": 2, "message": "panic: x" } }))));
    assert!(removes(&crashing(6, &waiting)), "three crashes, each soon after a start");
}

/// etcd answers as soon as it runs, and the kubelet reports a second later that it has started it. It tells the image by its tag,
/// or as some runtimes do by a digest.
#[test]
fn a_report_on_the_etcd_of_the_image_before_makes_no_member_ready() {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].running.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    let state = json!({ "running": { "startedAt": at(1) } });
    let mut ready = |image: &str, reported: i32| {
        let mut pod = pod(NAMES[0], &template, &state, reported, at(9));
        let running = pod.running.as_mut().unwrap();
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
fn an_etcd_that_has_never_run_is_not_started_again() {
    let restarts = |state: &Value, restarts: i32| {
        let pod = pod(NAMES[0], "t", state, restarts, at(9));
        let wish = {
            let seen = three(&json!({ "size": 3 }));
            let wish = Wish::of(&seen, &Roster::of(&seen, Timestamp::UNIX_EPOCH), true);
            Wish { version: Version::parse("3.6.17").unwrap(), ..wish }
        };
        let change = objects::next_image(&pod, &wish).body;
        change["metadata"]["annotations"]["multi-operator.example.com/restarts"].as_str().unwrap().to_owned()
    };
    assert_eq!(restarts(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), 0), "0");
    assert_eq!(restarts(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), 2), "3");
    assert_eq!(restarts(&json!({ "running": { "startedAt": at(1) } }), 0), "1");
}

#[test]
fn ready_is_ready_for_good() {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].running.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    let mut ready_at = |started: u32, ready: u32, now: i64| {
        let state = json!({ "running": { "startedAt": at(started) } });
        seen.pods[2] = Arc::new(pod(NAMES[2], &template, &state, 1, at(ready)));
        after(&seen, now).status.unwrap().ready.unwrap()
    };
    assert_eq!(ready_at(50, 51, 52), "2/3", "the start-up probe has not begun anew");
    assert_eq!(ready_at(50, 51, 54), "3/3", "and it will not");
    assert_eq!(ready_at(50, 53, 53), "3/3", "it has passed again");
    assert_eq!(ready_at(50, 20, 51), "2/3", "that is of the container before");
}

#[test]
fn an_alarm_tells_of_whom_and_what_to_do() {
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
    assert!(!message(&status).contains("no member any more"), "{}", message(&status));
    assert!(message(&status).contains("cannot tell whose") && message(&status).contains("endpoint hashkv"));
}

#[test]
fn a_refusal_does_not_hide_what_befalls_members() {
    let mut seen = crashing(0, &json!({ "waiting": { "reason": "ContainerCreating" } }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
        "finalizers": [ETCD_VOLUMES] },
        "spec": { "size": 3, "version": "3.5.35" }, "status": made() });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "UpgradeRefused".to_owned()));
    assert!(message(&status).contains("spec.version to 3.6.16 or later") && message(&status).contains(NAMES[2]));
}

#[test]
fn a_cluster_that_asks_who_we_are_has_not_lost_quorum() {
    let mut seen = three(&json!({ "size": 3 }));
    let denied = "demands authentication: user name is empty";
    seen.etcd = Etcd {
        endpoints: NAMES.iter().map(|name| ((*name).into(), Err(denied.to_owned()))).collect(),
        members: Err(format!("{} {denied}", NAMES[0])),
        alarms: Vec::new(),
        denied: true,
        alone: false,
    };
    let plan = after(&seen, 60);
    assert!(touches_nothing(&plan));
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "QuorumHealthy"), (ConditionStatus::Unknown, "AuthenticationRequired".to_owned()));
    assert_eq!(reason(&status, "Available"), (ConditionStatus::Unknown, "AuthenticationRequired".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "AuthenticationRequired".to_owned()));
}

#[test]
fn a_pod_that_the_kubelet_is_done_with_is_replaced_with_quorum_or_without() {
    for members in [None, Some("no leader".to_owned())] {
        let mut seen = three(&json!({ "size": 3 }));
        seen.etcd.members = members.map_or(seen.etcd.members, Err);
        seen.etcd.endpoints.insert(NAMES[1].into(), Err("cannot be reached".to_owned()));
        Arc::get_mut(&mut seen.pods[1]).unwrap().running.as_mut().unwrap().over = true;
        let plan = after(&seen, 60);
        let deleted =
            |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if &*delete.key.name == NAMES[1]);
        assert!(plan.effects.iter().any(deleted), "{:?}", plan.effects);
    }
}

#[test]
fn a_pod_that_fails_at_once_is_left_for_a_while_and_told_of() {
    let failed = |created: i64, since: i64| {
        let mut seen = three(&json!({ "size": 3 }));
        let status = json!({ "name": NAMES[1], "id": "2", "role": "Unreachable", "since": Timestamp::from_second(since).unwrap() });
        let mut cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
            "finalizers": [ETCD_VOLUMES] }, "spec": { "size": 3 }, "status": made() });
        cluster["status"]["memberStatuses"] = json!([status]);
        seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
        seen.etcd.endpoints.remove(NAMES[1]);
        let running = Arc::get_mut(&mut seen.pods[1]).unwrap().running.as_mut().unwrap();
        (running.over, running.created) = (true, Some(Timestamp::from_second(created).unwrap()));
        running.failure = Some("OutOfpods: no room".into());
        running.containers.clear();
        let plan = after(&seen, 1000);
        let deleted = plan.effects.iter().any(|effect| matches!(effect, Effect::Delete(_)));
        (deleted, message(&plan.status.unwrap()).contains("OutOfpods: no room"))
    };
    assert_eq!(failed(999, 990), (false, true), "it would fail again");
    assert!(failed(984, 990).0 && failed(0, 999).0, "it ran for a while");
    assert_eq!(failed(950, 100), (false, true), "that has been going on for long");
    assert!(failed(930, 100).0);
}

#[test]
fn a_restart_for_a_larger_volume_is_no_lost_quorum() {
    let mut seen = three(&json!({ "size": 1 }));
    let wish = wish::Wish::of(&seen, &Roster::of(&seen, Timestamp::UNIX_EPOCH), true);
    let mark = proven::mark_of(&wish);
    let labels = json!({ "multi-operator.example.com/owner-uid": "u", objects::PROVEN: mark, objects::NEXT: mark });
    let claim = json!({ "metadata": { "namespace": "n", "name": NAMES[0], "uid": "p", "labels": labels },
        "status": { "phase": "Bound" } });
    seen.claims = vec![Arc::new(Claim::decode(&claim.to_string()).unwrap())];
    seen.pods.clear();
    let mut cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
        "finalizers": [ETCD_VOLUMES] }, "spec": { "size": 1 }, "status": made() });
    cluster["status"]["memberStatuses"] = json!([{ "name": NAMES[0], "id": "1", "role": "Unreachable" }]);
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen.etcd = Etcd::default();
    let plan = after(&seen, 60);
    let forgets = |apply: &Apply| apply.kind == Claim::KIND && apply.hand_over == Some("next");
    assert!(!plan.independent.iter().any(forgets), "it is remembered until the member is back");
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Ready").1, "RestartingMember");
    assert_eq!(reason(&status, "Available").1, "RestartingMember");
}

#[test]
fn quantities_that_earlier_managers_read_as_numbers_restart_nobody() {
    let mut seen = three(&json!({ "size": 3, "pod": { "resources": { "requests": { "cpu": 1 } } } }));
    let earlier = wish::template(&seen.cluster, true);
    assert_ne!(earlier, wish::template(&seen.cluster, false));
    for pod in &mut seen.pods {
        let running = Arc::get_mut(pod).unwrap().running.as_mut().unwrap();
        running.annotations.insert("multi-operator.example.com/template".into(), earlier.clone());
    }
    let plan = after(&seen, 60);
    assert!(touches_nothing(&plan), "{:?}", plan.effects);
    assert_eq!(reason(&plan.status.unwrap(), "Ready").1, "Running");
}

#[test]
fn a_member_whose_pod_is_going_is_not_ready() {
    let mut seen = three(&json!({ "size": 3 }));
    assert_eq!(after(&seen, 60).status.unwrap().members.ready, NAMES);
    Arc::get_mut(&mut seen.pods[0]).unwrap().meta.deleting = true;
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::False);
    assert_eq!(status.members.ready, NAMES[1..]);
    assert_eq!(status.members.unready, NAMES[..1]);
}
