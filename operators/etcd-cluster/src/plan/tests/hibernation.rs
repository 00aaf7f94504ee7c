//! A cluster hibernates: what is deleted, what is reported, and what ends first.

use api::etcd_cluster::{EtcdRestoreProgress, MemberRole};

use super::members::three;
use super::*;

/// A reconcile at that second of a cluster with three members, whose previous status is `before`; with their pods, or without.
fn reconcile(spec: &Value, before: EtcdClusterStatus, pods: bool, second: i64) -> (EtcdPlan, EtcdClusterStatus) {
    let mut seen = three(spec);
    if !pods {
        seen.pods.clear();
        seen.etcd = Etcd { members: Err("no member answers".to_owned()), ..Etcd::default() };
    }
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.status = before;
    seen.cluster = Arc::new(cluster);
    let plan = plan(&seen, Timestamp::from_second(second).unwrap());
    let status = plan.status.clone().unwrap();
    (plan, status)
}

/// The status of three members that run.
fn running() -> EtcdClusterStatus {
    reconcile(&json!({ "size": 3 }), bootstrapped(), true, 1).1
}

fn deleted_and_created(plan: &EtcdPlan) -> (usize, usize) {
    let deletes = plan.effects.iter().filter(|effect| matches!(effect, Effect::Delete(of) if of.kind.kind == "Pod"));
    let creates = plan.effects.iter().filter(|effect| matches!(effect, Effect::Create(_)));
    (deletes.count(), creates.count())
}

fn hibernating() -> Value {
    json!({ "size": 3, "hibernate": true })
}

#[test]
fn all_pods_are_deleted_at_once_and_none_is_created() {
    let (plan, status) = reconcile(&hibernating(), running(), true, 2);
    assert_eq!(deleted_and_created(&plan), (3, 0));
    assert_eq!(reason(&status, "Ready"), (ConditionStatus::False, "Hibernating".to_owned()));
    let (plan, status) = reconcile(&hibernating(), status, false, 3);
    assert_eq!(deleted_and_created(&plan), (0, 0));
    assert_eq!(plan.next, Requeue::After(std::time::Duration::from_secs(3600)));
    for (type_, expected) in [
        ("Ready", (ConditionStatus::True, "Hibernated")),
        ("Available", (ConditionStatus::False, "Hibernated")),
        ("QuorumHealthy", (ConditionStatus::Unknown, "Hibernated")),
        ("Recovering", (ConditionStatus::False, "Hibernated")),
    ] {
        assert_eq!(reason(&status, type_), (expected.0, expected.1.to_owned()), "{type_}");
    }
    assert!(plan.events_after_status.is_empty(), "the one of Ready is enough: {:?}", plan.events_after_status);
    assert_eq!(status.ready.as_deref(), Some("0/3"));
}

#[test]
fn the_time_of_hibernation_does_not_count() {
    let (_, status) = reconcile(&hibernating(), running(), false, 3);
    assert!(status.member_statuses.iter().all(|member| member.since.is_none() && member.id.is_some()), "{status:?}");
    let (plan, status) = reconcile(&json!({ "size": 3 }), status, false, 900_000);
    assert_eq!(deleted_and_created(&plan), (0, 1));
    let awake = Some(Timestamp::from_second(900_000).unwrap());
    let all_awake =
        |member: &api::etcd_cluster::MemberStatus| (member.role, member.since) == (MemberRole::Unreachable, awake);
    assert!(status.member_statuses.iter().all(all_awake), "{:?}", status.member_statuses);
    assert!(plan.events_after_status.iter().any(|event| event.reason == EtcdClusterEvent::Resumed));
    let quorum = |status: &EtcdClusterStatus| reason(status, "QuorumHealthy");
    assert_eq!(quorum(&status), (ConditionStatus::Unknown, "Resuming".to_owned()));
    let (plan, status) = reconcile(&json!({ "size": 3 }), status, false, 900_200);
    assert_eq!(quorum(&status), (ConditionStatus::Unknown, "Resuming".to_owned()));
    assert!(plan.events_after_status.is_empty(), "{:?}", plan.events_after_status);
    assert!(!status.contract.condition("Ready").unwrap().message.contains("reported lost"));
    let (_, status) = reconcile(&json!({ "size": 3 }), status, false, 900_400);
    assert_eq!(quorum(&status), (ConditionStatus::False, "QuorumUnconfirmed".to_owned()), "that is too long");
}

#[test]
fn an_edit_of_the_version_is_not_reported_as_done() {
    let before = EtcdClusterStatus { current_version: Some("3.6.16".into()), ..running() };
    let spec = json!({ "size": 3, "hibernate": true, "version": "3.7.3" });
    let (_, status) = reconcile(&spec, before, false, 3);
    assert_eq!(status.current_version.as_deref(), Some("3.6.16"));
}

#[test]
fn a_restore_and_a_pause_come_first_and_data_in_pods_is_kept() {
    let progress = EtcdRestoreProgress { name: "r".into(), uid: "u-r".into(), ..EtcdRestoreProgress::default() };
    let restoring = EtcdClusterStatus { restore: Some(progress), ..running() };
    let (_, status) = reconcile(&hibernating(), restoring, false, 3);
    assert_eq!(reason(&status, "Ready").1, "Restoring");
    let paused = json!({ "size": 3, "hibernate": true, "paused": true });
    let (plan, _) = reconcile(&paused, running(), true, 3);
    assert_eq!(deleted_and_created(&plan), (0, 0));
    let (_, stopped) = reconcile(&hibernating(), running(), false, 3);
    let (plan, status) = reconcile(&paused, stopped, false, 90);
    assert_eq!(reason(&status, "QuorumHealthy"), (ConditionStatus::Unknown, "Hibernated".to_owned()));
    assert!(plan.events_after_status.is_empty() && status.member_statuses.iter().all(|member| member.since.is_none()));
    let ephemeral = EtcdClusterStatus { storage: Some(EtcdStorageStatus { durable: false }), ..running() };
    let (plan, status) = reconcile(&hibernating(), ephemeral, true, 3);
    assert_eq!(deleted_and_created(&plan), (0, 0));
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "DataInPods".to_owned()));
}

#[test]
fn a_cluster_that_does_not_exist_yet_is_not_created() {
    let mut seen = observed(&hibernating(), &decided());
    let created = |seen: &Observed| deleted_and_created(&plan(seen, Timestamp::UNIX_EPOCH)).1;
    assert_eq!(created(&seen), 0);
    seen = observed(&json!({ "size": 3 }), &decided());
    assert_eq!(created(&seen), 1);
}

#[test]
fn volumes_grow_meanwhile() {
    let spec = json!({ "size": 3, "hibernate": true, "storage": { "size": "2Gi" } });
    let mut seen = three(&spec);
    seen.pods.clear();
    seen.etcd = Etcd { members: Err("no member answers".to_owned()), ..Etcd::default() };
    for claim in &mut seen.claims {
        Arc::get_mut(claim).unwrap().requested = Some("1Gi".into());
    }
    let mut cluster = EtcdCluster::clone(&seen.cluster);
    cluster.status = running();
    seen.cluster = Arc::new(cluster);
    let plan = plan(&seen, Timestamp::UNIX_EPOCH);
    let grows = |apply: &&Apply| !apply.body["spec"]["resources"]["requests"]["storage"].is_null();
    assert_eq!(plan.independent.iter().filter(grows).count(), 3);
}

#[test]
fn volumes_that_are_deleted_meanwhile_are_reported_and_a_deleted_cluster_resumes() {
    let stopped = |deleted: bool| {
        let mut seen = three(&hibernating());
        seen.pods.clear();
        seen.etcd = Etcd { members: Err("no member answers".to_owned()), ..Etcd::default() };
        Arc::get_mut(&mut seen.claims[0]).unwrap().meta.deleting = true;
        let mut cluster = EtcdCluster::clone(&seen.cluster);
        cluster.status = running();
        cluster.meta.deleting = deleted;
        seen.cluster = Arc::new(cluster);
        seen
    };
    let status = plan(&stopped(false), Timestamp::UNIX_EPOCH).status.unwrap();
    assert_eq!(reason(&status, "Warning"), (ConditionStatus::True, "ClaimTerminating".to_owned()));
    assert_eq!(reason(&status, "Durable"), (ConditionStatus::False, "ClaimTerminating".to_owned()));
    assert!(status.contract.condition("Warning").unwrap().message.contains("will not resume"));
    assert_eq!(deleted_and_created(&upkeep::plan(&stopped(true), Timestamp::UNIX_EPOCH)).1, 1);
}

#[test]
fn edits_are_no_progress_until_the_members_start() {
    let spec = json!({ "size": 5, "hibernate": true, "version": "3.7.3" });
    let before = EtcdClusterStatus { current_version: Some("3.6.16".into()), ..running() };
    let (_, status) = reconcile(&spec, before, false, 3);
    for type_ in ["Upgrading", "Scaling"] {
        assert_eq!(reason(&status, type_), (ConditionStatus::False, "Hibernated".to_owned()), "{type_}");
    }
}
