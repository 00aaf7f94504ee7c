//! Three members that run, and what single things that befall them come to.

use runtime::views::{Claim, Pod};

use super::*;
use crate::plan::roster::hex;

const NAMES: [&str; 3] = ["c-aaaaaaaaaa", "c-bbbbbbbbbb", "c-cccccccccc"];

/// Three healthy members of that spec.
fn three(spec: &Value) -> Observed {
    let mut seen = observed(spec, &made());
    let wish = wish::Wish::of(&seen, &Roster::of(&seen, Timestamp::UNIX_EPOCH), true);
    for (id, name) in (1..).zip(NAMES) {
        seen.pods.push(Arc::new(pod(name, &wish.template, &json!({ "running": { "startedAt": at(0) } }), 0, at(9))));
        let labels = json!({ "multi-operator.example.com/owner-uid": "u" });
        let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": labels },
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
fn at(second: u32) -> String {
    format!("1970-01-01T00:00:{second:02}Z")
}

fn pod(name: &str, template: &str, state: &Value, restarts: i32, ready_since: String) -> Pod {
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
                "multi-operator.example.com/start": "join", "multi-operator.example.com/restarts": "3" },
        },
        "status": {
            "podIP": "10.0.0.1",
            "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": ready_since }],
            "containerStatuses": [{ "name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16", "restartCount": restarts,
                "state": state, "lastState": ended }],
        },
    });
    Pod::decode(&pod.to_string()).unwrap()
}

fn after(seen: &Observed, second: i64) -> EtcdPlan {
    plan(seen, Timestamp::from_second(second).unwrap())
}

fn message(status: &EtcdClusterStatus) -> &str {
    &status.contract.condition("Ready").unwrap().message
}

/// The last member's etcd does not run, and has been started again so often.
fn crashing(restarts: i32, state: &Value) -> Observed {
    let mut seen = three(&json!({ "size": 3 }));
    let template = seen.pods[0].running.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
    seen.pods[2] = Arc::new(pod(NAMES[2], &template, state, restarts, at(9)));
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    seen
}

fn removes(seen: &Observed) -> bool {
    let remove =
        |effect: &Effect<EtcdAct>| matches!(effect, Effect::Act(EtcdAct { change: Change::Remove { .. }, .. }));
    after(seen, 60).effects.iter().any(remove)
}

/// Whether a plan does no more than make the Service that these tests leave out.
fn touches_nothing(plan: &EtcdPlan) -> bool {
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
}

#[test]
fn a_refusal_does_not_hide_what_befalls_members() {
    let mut seen = crashing(0, &json!({ "waiting": { "reason": "ContainerCreating" } }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1 },
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
    };
    let plan = after(&seen, 60);
    assert!(touches_nothing(&plan));
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "QuorumHealthy"), (ConditionStatus::Unknown, "AuthenticationRequired".to_owned()));
    assert_eq!(reason(&status, "Available"), (ConditionStatus::Unknown, "AuthenticationRequired".to_owned()));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "AuthenticationRequired".to_owned()));
}

/// Three members of which the first leads, with that annotation and status, or paused.
fn asked_to_move(value: &str, change: impl FnOnce(&mut EtcdClusterStatus), paused: bool) -> Observed {
    let mut status = made();
    change(&mut status);
    let mut seen = three(&json!({ "size": 3 }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
        "annotations": { "etcd.database.coreos.com/move-leader": value } },
        "spec": { "size": 3, "paused": paused }, "status": status });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen
}

fn moves(plan: &EtcdPlan) -> Option<u64> {
    plan.effects.iter().find_map(|effect| match effect {
        Effect::Act(EtcdAct { change: Change::MoveLeader { to }, .. }) => Some(*to),
        _ => None,
    })
}

#[test]
fn another_member_leads_after_it_is_written_down_who_led() {
    let first = after(&asked_to_move("a", |_| {}, false), 60);
    assert_eq!((moves(&first), first.next), (None, Next::After(STEP)));
    let latched = first.status.unwrap();
    assert_eq!((latched.leader_moving_from.as_deref(), latched.leader_moved_for), (Some(NAMES[0]), None));
    let from = |status: &mut EtcdClusterStatus| status.leader_moving_from = Some(NAMES[0].to_owned());
    let mut seen = asked_to_move("a", from, false);
    let second = after(&seen, 60);
    assert!(matches!(moves(&second), Some(2 | 3)));
    let status = second.status.unwrap();
    assert_eq!(reason(&status, "Ready").0, ConditionStatus::True, "nothing is missing meanwhile");
    assert!(message(&status).contains("lead, as the annotation etcd.database.coreos.com/move-leader asks"));
    assert_eq!(status.leader_moved_for, None, "nothing is promised");
    for answer in seen.etcd.endpoints.values_mut() {
        answer.as_mut().unwrap().leader = 3;
    }
    let third = after(&seen, 60);
    assert_eq!(moves(&third), None);
    let told = third.events.iter().filter(|event| event.reason == "LeaderMoved" && !event.warning);
    assert_eq!(told.count(), 1);
    let status = third.status.unwrap();
    assert_eq!((status.leader_moved_for.as_deref(), status.leader_moving_from), (Some("a"), None));
}

#[test]
fn leadership_is_not_moved_without_need_or_before_its_time() {
    let answered = |status: &mut EtcdClusterStatus| status.leader_moved_for = Some("a".to_owned());
    let untouched = |seen: &Observed| {
        let plan = after(seen, 60);
        assert_eq!(moves(&plan), None);
        let status = plan.status.unwrap();
        assert_eq!(status.leader_moving_from, None);
        message(&status).to_owned()
    };
    for seen in [asked_to_move("", |_| {}, false), asked_to_move("a", answered, false)] {
        assert!(!untouched(&seen).contains("leader"));
    }
    assert!(untouched(&asked_to_move("a", |_| {}, true)).contains("is not moved while paused"));
    let mut seen = asked_to_move("a", |_| {}, false);
    seen.etcd.alarms = vec![(2, Alarm::Corrupt), (3, Alarm::Corrupt)];
    assert!(untouched(&seen).contains("before another member is ready"));
    seen.etcd = Etcd { members: Err("no leader".to_owned()), ..seen.etcd };
    assert!(untouched(&seen).contains("before there is quorum again"));
    let mut seen = asked_to_move("a", |_| {}, false);
    seen.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert!(untouched(&seen).contains("before the members are as asked"));
}

#[test]
fn a_member_that_is_alone_goes_on_leading_and_says_so_once() {
    let mut seen = three(&json!({ "size": 1 }));
    let cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
        "annotations": { "etcd.database.coreos.com/move-leader": "a" } }, "spec": { "size": 1 }, "status": made() });
    seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
    seen.etcd.members.as_mut().unwrap().truncate(1);
    seen.pods.truncate(1);
    seen.claims.truncate(1);
    seen.etcd.endpoints.retain(|name, _| &**name == NAMES[0]);
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_none() && plan.events.iter().any(|event| event.reason == "LeaderNotMoved"));
    assert_eq!(plan.status.unwrap().leader_moved_for.as_deref(), Some("a"));
}

#[test]
fn a_full_volume_is_named_and_its_member_is_not_given_up() {
    let mut seen = crashing(6, &json!({ "waiting": { "reason": "CrashLoopBackOff" } }));
    let pod = Arc::get_mut(&mut seen.pods[2]).unwrap();
    let ended = pod.running.as_mut().unwrap().containers[0].ended.as_mut().unwrap();
    ended.message = "panic: wal: write /var/etcd/data/member/wal/0.wal: no space left on device".into();
    assert!(!removes(&seen));
    let status = after(&seen, 60).status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "VolumeFull".to_owned()));
    assert!(
        message(&status).contains(NAMES[2]) && message(&status).contains("spec.storage.size"),
        "{}",
        message(&status)
    );
}

#[test]
fn members_fit_their_volumes_and_ask_for_something() {
    let render = |spec: &Value| {
        let seen = observed(spec, &decided());
        let plan = plan(&seen, Timestamp::UNIX_EPOCH);
        let pod = plan.effects.into_iter().find_map(|effect| match effect {
            Effect::Create(create) => Some(create.body),
            _ => None,
        });
        let etcd = pod.unwrap()["spec"]["containers"][0].clone();
        (etcd["command"].to_string(), etcd["resources"]["requests"].clone())
    };
    let (command, requests) = render(&json!({ "size": 3 }));
    for argument in [
        "--quota-backend-bytes=251658240",
        "--reserve=100663296",
        "--snapshot-count=1024",
        "--auto-compaction-retention=1h",
    ] {
        assert!(command.contains(argument), "{argument}: {command}");
    }
    assert_eq!(requests, json!({ "cpu": "50m", "memory": "128Mi" }));
    let (command, requests) = render(&json!({ "size": 3, "quota": "1Gi", "options": { "snapshot-count": "7" },
        "pod": { "resources": { "requests": { "cpu": "1" } },
            "etcdEnv": [{ "name": "ETCD_AUTO_COMPACTION_RETENTION", "value": "5" }] } }));
    assert!(
        command.contains("--quota-backend-bytes=1073741824") && command.contains("--snapshot-count=7"),
        "{command}"
    );
    assert!(!command.contains("auto-compaction") && command.matches("--snapshot-count").count() == 1, "{command}");
    assert_eq!(requests, json!({ "cpu": "1" }));
}

#[test]
fn a_leader_that_cannot_hand_over_is_rolled_last_and_another_is_elected() {
    let mut seen = three(&json!({ "size": 3 }));
    seen.pods[0] = Arc::new(pod(NAMES[0], "older", &json!({ "running": { "startedAt": at(0) } }), 0, at(9)));
    let drops = |plan: &EtcdPlan| {
        let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if &*delete.key.name == NAMES[0]);
        plan.effects.iter().any(pod)
    };
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_some() && !drops(&plan), "{:?}", plan.effects);
    seen.etcd.endpoints.get_mut(NAMES[0]).unwrap().as_mut().unwrap().keeps_leading = true;
    let plan = after(&seen, 60);
    assert!(moves(&plan).is_none() && drops(&plan), "{:?}", plan.effects);
}

/// Three members of which the largest database is of that size, on volumes of that size, and whose pods were made for 1Gi.
fn filled(db_size: i64, volumes: &str) -> Observed {
    let mut seen = three(&json!({ "size": 3, "storage": { "size": volumes } }));
    for (pod, claim) in seen.pods.iter_mut().zip(&mut seen.claims) {
        let running = Arc::get_mut(pod).unwrap().running.as_mut().unwrap();
        running.annotations.insert("multi-operator.example.com/quota".into(), (240 << 20).to_string());
        let claim = Arc::get_mut(claim).unwrap();
        (claim.requested, claim.capacity) = (Some(volumes.to_owned()), Some(volumes.to_owned()));
    }
    for endpoint in seen.etcd.endpoints.values_mut() {
        let endpoint = endpoint.as_mut().unwrap();
        (endpoint.db_size, endpoint.quota) = (db_size, 240 << 20);
    }
    seen
}

#[test]
fn little_room_is_warned_of_before_there_is_none() {
    let warning = |seen: &Observed| {
        let status = after(seen, 60).status.unwrap();
        status.contract.condition("Warning").map(|warning| (warning.reason.to_string(), warning.message.clone()))
    };
    assert_eq!(warning(&filled(180 << 20, "1Gi")), None);
    let (reason, message) = warning(&filled(200 << 20, "1Gi")).unwrap();
    assert_eq!(reason, "SpaceLow");
    assert!(message.contains("200.0 MiB of the 240.0 MiB") && message.contains("spec.storage.size"), "{message}");
    let mut large = filled(1 << 20, "1Gi");
    large.etcd.endpoints.values_mut().for_each(|endpoint| endpoint.as_mut().unwrap().quota = 2 << 30);
    let (reason, message) = warning(&large).unwrap();
    assert!(reason == "QuotaTooLarge" && message.contains("2.0 GiB, and volumes of 1.0 GiB"), "{message}");
}

#[test]
fn once_volumes_have_grown_databases_that_need_it_may_grow_too() {
    let dropped = |seen: &Observed| {
        let pod = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if delete.kind.kind == "Pod");
        after(seen, 60).effects.iter().filter(|effect| pod(effect)).count()
    };
    assert_eq!(dropped(&filled(200 << 20, "1Gi")), 0, "there is no more to be had");
    assert_eq!(dropped(&filled(20 << 20, "10Gi")), 0, "there is no need");
    assert_eq!(dropped(&filled(200 << 20, "10Gi")), 1, "one after the other");
    let mut refused = filled(200 << 20, "10Gi");
    refused.refused = Some("no".to_owned());
    assert_eq!(dropped(&refused), 0);
}

#[test]
fn the_alarm_is_taken_back_once_there_is_room_and_all_are_well() {
    let disarms = |seen: &Observed| {
        let disarm =
            |effect: &Effect<EtcdAct>| matches!(effect, Effect::Act(EtcdAct { change: Change::Disarm { id: 2 }, .. }));
        after(seen, 60).effects.iter().any(disarm)
    };
    let alarmed = |mut seen: Observed, alarm: Alarm| {
        seen.etcd.alarms = vec![(2, alarm)];
        seen
    };
    assert!(disarms(&alarmed(filled(100 << 20, "1Gi"), Alarm::NoSpace)));
    assert!(!disarms(&alarmed(filled(230 << 20, "1Gi"), Alarm::NoSpace)), "it would be on again with the next write");
    assert!(!disarms(&alarmed(filled(100 << 20, "1Gi"), Alarm::Corrupt)), "that is for a person to judge");
    let mut silent = alarmed(filled(100 << 20, "1Gi"), Alarm::NoSpace);
    silent.etcd.endpoints.insert(NAMES[2].into(), Err("refuses connections".to_owned()));
    assert!(!disarms(&silent));
}
