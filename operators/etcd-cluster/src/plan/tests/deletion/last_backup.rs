//! The last backup before a cluster is deleted.

use super::*;
use crate::EtcdBackup;

const REQUEST: &str = "last-of-u";

/// The EtcdBackup `nightly` of the cluster.
fn backup(metadata: &Value, spec: &Value, status: &Value) -> Arc<EtcdBackup> {
    let mut object = json!({
        "metadata": { "namespace": "n", "name": "nightly", "uid": "u-b" },
        "spec": { "clusterRef": { "name": "c" }, "pvc": { "claimName": "store" } },
        "status": status,
    });
    for (part, more) in [("metadata", metadata), ("spec", spec)] {
        object[part].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    Arc::new(EtcdBackup::decode(&object.to_string()).unwrap())
}

fn wanted() -> Observed {
    let spec = json!({ "size": 3, "onDelete": { "backup": "nightly" } });
    let mut seen = terminating(&spec, &[ETCD_VOLUMES], &json!({ "finalizers": [UNSAVED_DATA] }));
    seen.backups = vec![backup(&json!({}), &json!({}), &json!({}))];
    seen
}

/// The values of the annotation that a plan sets.
fn requests(plan: &EtcdPlan) -> Vec<&Value> {
    let applied = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) if apply.kind.kind == "EtcdBackup" => Some(&apply.body["metadata"]["annotations"]),
        _ => None,
    });
    applied.map(|annotations| &annotations["example.com/backup-now"]).collect()
}

fn message(plan: &EtcdPlan) -> &str {
    &plan.status.as_ref().unwrap().contract.condition("Terminating").unwrap().message
}

#[test]
fn the_cluster_stays_until_its_last_backup_is_complete() {
    let mut seen = wanted();
    let plan = after(&seen, 60);
    assert_eq!(requests(&plan), [REQUEST]);
    assert_eq!((reason(&plan).as_deref(), finalizers(&plan).len()), (Some("TakingLastBackup"), 0));
    assert!(message(&plan).ends_with("kubectl patch etcd -n n c --type merge -p '{\"spec\":{\"onDelete\":null}}'"));

    let annotated = json!({ "annotations": { "example.com/backup-now": REQUEST } });
    seen.backups = vec![backup(&annotated, &json!({}), &json!({ "lastRequest": "earlier" }))];
    let plan = after(&seen, 6000);
    assert_eq!((requests(&plan).len(), reason(&plan).as_deref()), (0, Some("TakingLastBackup")));

    seen.backups = vec![backup(&annotated, &json!({}), &json!({ "lastRequest": REQUEST }))];
    assert_eq!(reason(&after(&seen, 6000)).as_deref(), Some("WaitingForClaims"));
    let mut gives_volumes_up = seen;
    let spec = json!({ "size": 3, "storage": { "onDelete": "Delete" }, "onDelete": { "backup": "nightly" } });
    gives_volumes_up.cluster = {
        let mut cluster = EtcdCluster::clone(&gives_volumes_up.cluster);
        cluster.spec = serde_json::from_value(spec).unwrap();
        Arc::new(cluster)
    };
    assert_eq!(finalizers(&after(&gives_volumes_up, 6000)).last(), Some(&("EtcdCluster", json!([]))));
}

#[test]
fn what_keeps_the_last_backup_from_being_taken_is_said() {
    let stalled = json!({ "conditions": [
        { "type": "Ready", "status": "False", "reason": "BackupFailed", "message": "no space", "lastTransitionTime": "2026-01-01T00:00:00Z" },
        { "type": "Stalled", "status": "True", "reason": "BackupFailed", "message": "no space", "lastTransitionTime": "2026-01-01T00:00:00Z" },
    ] });
    let annotated = json!({ "annotations": { "example.com/backup-now": REQUEST } });
    let deleting = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["other"] });
    for (backups, says) in [
        (vec![], "there is no EtcdBackup nightly with clusterRef c"),
        (vec![backup(&deleting, &json!({}), &json!({}))], "is being deleted"),
        (vec![backup(&json!({}), &json!({ "suspend": true }), &json!({}))], "set its spec.suspend to false"),
        (vec![backup(&annotated, &json!({}), &stalled)], "BackupFailed: no space"),
    ] {
        let mut seen = wanted();
        seen.backups = backups;
        let plan = after(&seen, 60);
        assert_eq!((reason(&plan).as_deref(), finalizers(&plan).len()), (Some("DeletionBlocked"), 0));
        assert!(message(&plan).contains(says), "{}", message(&plan));
        assert!(plan.events_after_status.iter().any(|event| event.warning));
    }
    let mut foreground = wanted();
    let metadata =
        json!({ "finalizers": [ETCD_VOLUMES, "foregroundDeletion"], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    edit(&mut foreground, &metadata);
    let plan = after(&foreground, 60);
    assert!(requests(&plan).is_empty() && message(&plan).contains("foreground"), "{}", message(&plan));
}

#[test]
fn a_namespace_that_is_deleted_and_a_cluster_without_data_do_not_wait() {
    let mut namespace = wanted();
    namespace.termination = Some(Termination::Namespace);
    assert_eq!(finalizers(&after(&namespace, 60)).last(), Some(&("EtcdCluster", json!([]))));
    let mut empty = wanted();
    edit_claims(&mut empty, &json!({ "labels": {} }));
    empty.cluster = {
        let mut cluster = EtcdCluster::clone(&empty.cluster);
        cluster.status.cluster_id = None;
        Arc::new(cluster)
    };
    assert_eq!(finalizers(&after(&empty, 60)).last(), Some(&("EtcdCluster", json!([]))));
}

/// Otherwise it would be gone before it is backed up.
#[test]
fn a_cluster_whose_members_keep_their_data_in_pods_gets_the_finalizer_for_it() {
    let has_finalizer = |on_delete: Value| {
        let mut seen = three(&json!({ "size": 3, "onDelete": on_delete }));
        let mut cluster = EtcdCluster::clone(&seen.cluster);
        cluster.status.storage = Some(api::etcd_cluster::EtcdStorageStatus { durable: false });
        seen.cluster = Arc::new(cluster);
        edit(&mut seen, &json!({}));
        finalizers(&after(&seen, 60)).contains(&("EtcdCluster", json!([ETCD_VOLUMES])))
    };
    assert!(has_finalizer(json!({ "backup": "nightly" })) && !has_finalizer(Value::Null));
}
