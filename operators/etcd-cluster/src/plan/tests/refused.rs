//! Pods of joining members that the API server rejects: existing members are not affected.

use api::etcd_cluster::{MemberRole, MemberStatus};

use super::members::{NAMES, after, at, message, pod, three};
use super::*;

/// The objects that a plan creates.
fn created(plan: &EtcdPlan) -> Vec<&str> {
    let created = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Create(create) => Some(&*create.key.name),
        _ => None,
    });
    created.collect()
}

/// Three members of which two have no pods, and a fourth that was never listed and has no pod either.
fn without_quorum() -> Observed {
    let mut seen = three(&json!({ "size": 5 }));
    let mut status = after(&seen, 60).status.unwrap();
    let joining = MemberStatus {
        name: "c-000000000d".to_owned(),
        id: None,
        role: MemberRole::Joining,
        since: Some(Timestamp::UNIX_EPOCH),
        version: None,
        db_size: None,
    };
    status.member_statuses.insert(0, joining);
    Arc::get_mut(&mut seen.cluster).unwrap().status = status;
    seen.pods.truncate(1);
    seen.etcd.endpoints.retain(|name, _| **name == *NAMES[0]);
    seen.etcd.members = Err("no leader".to_owned());
    seen
}

#[test]
fn without_quorum_members_with_data_restart_first() {
    let mut seen = without_quorum();
    assert_eq!(created(&after(&seen, 60)), [NAMES[1]]);
    seen.names_taken.insert(NAMES[1].into());
    assert_eq!(created(&after(&seen, 60)), [NAMES[2]], "what keeps one down keeps no other down");
    seen.names_taken.insert(NAMES[2].into());
    assert_eq!(created(&after(&seen, 60)), ["c-000000000d"], "before 3.4 that may be who quorum needs");
}

#[test]
fn a_new_member_is_dry_run_before_it_gets_a_volume() {
    let seen = three(&json!({ "size": 3 }));
    assert_eq!(pod_to_dry_run(&seen, Timestamp::UNIX_EPOCH), None, "all are there");
    let mut seen = three(&json!({ "size": 4 }));
    let (pod, replaced) = pod_to_dry_run(&seen, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!((pod.kind.kind, replaced), ("Pod", None));
    assert_eq!(created(&after(&seen, 60)), ["c-aaaaaaaaaa"]);
    seen.pod_rejected = Some("exceeded quota".to_owned());
    let plan = after(&seen, 60);
    let claims = plan.effects.iter().filter(|effect| match effect {
        Effect::Apply(apply) => apply.kind.kind == "PersistentVolumeClaim",
        _ => false,
    });
    assert_eq!((created(&plan).len(), claims.count()), (0, 0), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "PodRefused".to_owned()));
    assert!(message(&status).ends_with("the pod of the next member: exceeded quota"), "{}", message(&status));
}

/// Each attempt has another name, so the status of the cluster records since when they fail.
#[test]
fn a_new_member_that_kubelets_reject_is_retried_less_often_after_a_minute() {
    let dropped = |unready_since: i64| {
        let mut seen = three(&json!({ "size": 4 }));
        let mut cluster = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1,
            "finalizers": [ETCD_VOLUMES] }, "spec": { "size": 4 }, "status": bootstrapped() });
        cluster["status"]["conditions"] = json!([{ "type": "Ready", "status": "False", "reason": "MemberJoining", "message": "",
            "lastTransitionTime": Timestamp::from_second(unready_since).unwrap(), "observedGeneration": 1 }]);
        seen.cluster = Arc::new(EtcdCluster::decode(&cluster.to_string()).unwrap());
        let template =
            seen.pods[0].details.as_ref().unwrap().annotations["multi-operator.example.com/template"].clone();
        let mut joins = pod("c-dddddddddd", &template, &json!({ "waiting": {} }), 0, at(9));
        let running = joins.details.as_mut().unwrap();
        (running.terminal, running.created) = (true, Some(Timestamp::from_second(970).unwrap()));
        running.containers.clear();
        seen.pods.push(Arc::new(joins));
        after(&seen, 1000).effects.iter().any(|effect| matches!(effect, Effect::Delete(_)))
    };
    assert!(dropped(960), "a first time");
    assert!(!dropped(900), "again and again");
}
