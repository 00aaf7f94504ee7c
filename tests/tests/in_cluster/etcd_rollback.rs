//! A cluster begins again from a snapshot, in place: only with consent, only from a snapshot that was verified, and not if the
//! EtcdRestore is deleted first.

use std::collections::BTreeSet;

use api::ConditionStatus;
use api::etcd_cluster::{EtcdCluster, RestoreOutcome};
use api::etcd_restore::EtcdRestorePhase;
use e2e::etcd::{Etcd, cluster_id, namespace, status};
use e2e::etcd_backup::{Backup, volume};
use e2e::etcd_restore::Restore;
use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;

/// The label of PVCs whose cluster began again.
const REPLACED_BY: &str = "multi-operator.example.com/replaced-by";

/// Members on volumes whose size is enforced, and a backup from when the key `kept` was `one`, which is `two` since.
async fn backed_up(ns: &Namespace, members: usize) -> (Etcd<'_>, EtcdCluster) {
    volume(ns, "store", "64Mi").await;
    let spec = format!("{{size: {members}, storage: {{size: 256Mi, storageClassName: sized}}}}");
    let web = Etcd::apply(ns, "web", &spec).await;
    let before = web.runs(members).await;
    web.put("kept", "one").await;
    let backup = Backup::apply(ns, "b", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    backup.has(1).await;
    web.put("kept", "two").await;
    (web, before)
}

fn names(claims: &std::collections::BTreeMap<String, PersistentVolumeClaim>) -> BTreeSet<String> {
    claims.keys().cloned().collect()
}

#[tokio::test]
async fn a_cluster_is_rolled_back_to_a_backup_with_consent() {
    let ns = namespace("etcd-rollback").await;
    let (web, before) = backed_up(&ns, 3).await;
    web.put("later", "three").await;
    let (pods, claims) = (web.pod_uids().await, web.claims().await);

    // Without consent, and with a snapshot that is not there: nothing of the cluster is touched.
    let spec = "{etcdCluster: {name: web}, pvc: {claimName: store, file: b/none.db}}";
    let rollback = Restore::apply(&ns, "rollback", spec).await;
    let id = cluster_id(&before).expect("a cluster");
    rollback.reports("ConsentRequired", &[id, "kubectl patch etcdrestore"]).await;
    rollback.patch(json!({ "spec": { "replaceClusterID": id } })).await;
    let failed = rollback.reports("VerificationFailed", &["there is no snapshot", "untouched"]).await;
    assert_eq!((failed.succeeded, failed.phase), (false, Some(EtcdRestorePhase::Verifying)));
    assert_eq!((web.pod_uids().await, web.value("later").await), (pods.clone(), "three".to_owned()));

    // The corrected one.
    rollback.patch(json!({ "spec": { "pvc": { "file": "b/b.db" } } })).await;
    let done = rollback.reports("Restored", &["began again", "volumes"]).await;
    assert_eq!((done.succeeded, done.phase), (true, Some(EtcdRestorePhase::Succeeded)));
    let after = web.runs(3).await;
    assert_eq!((web.value("kept").await, web.value("later").await), ("one".to_owned(), String::new()));
    assert_ne!(cluster_id(&after), cluster_id(&before), "it is another cluster of etcd");
    assert_eq!(done.previous_cluster_id.as_deref(), cluster_id(&before));
    assert_eq!(done.cluster_id.as_deref(), cluster_id(&after));
    let progress = status(&after).and_then(|status| status.restore.clone()).expect("a restore");
    assert_eq!(progress.outcome, Some(RestoreOutcome::Restored));
    web.announces("RestoreStarted").await;
    web.announces("Restored").await;

    // The volumes of the earlier members stay, and no member runs on them.
    let now = web.claims().await;
    for name in claims.keys() {
        let labels = now.get(name).and_then(|claim| claim.metadata.labels.clone()).unwrap_or_default();
        assert_eq!(labels.get(REPLACED_BY).map(String::as_str), Some(&*progress.uid), "{name}: {labels:?}");
    }
    assert!(web.pods().await.keys().all(|pod| !claims.contains_key(pod)));
    assert_eq!(names(&now).len(), 6, "{:?}", names(&now));

    // The same object once more, as a sync of Argo CD creates it, names a cluster that is gone.
    web.put("later", "four").await;
    rollback.delete().await;
    let spec =
        format!("{{etcdCluster: {{name: web}}, replaceClusterID: '{id}', pvc: {{claimName: store, file: b/b.db}}}}");
    let rollback = Restore::apply(&ns, "rollback", &spec).await;
    rollback.reports("ConsentRequired", &[cluster_id(&after).expect("a cluster")]).await;
    assert_eq!(web.value("later").await, "four");
}

#[tokio::test]
async fn a_restore_that_is_deleted_before_the_cluster_begins_returns_it_to_its_volumes() {
    let ns = namespace("etcd-rollback-canceled").await;
    let (web, before) = backed_up(&ns, 1).await;
    let claims = web.claim_uids().await;

    // The first member cannot start, because no node is of that kind.
    web.patch(json!({ "paused": true, "pod": { "nodeSelector": { "kind": "none" } } })).await;
    let id = cluster_id(&before).expect("a cluster");
    let spec =
        format!("{{etcdCluster: {{name: web}}, replaceClusterID: '{id}', pvc: {{claimName: store, file: b/b.db}}}}");
    let rollback = Restore::apply(&ns, "rollback", &spec).await;
    rollback.reports("ClusterPaused", &["verified snapshot", "spec.paused"]).await;
    assert_eq!(web.value("kept").await, "two");
    web.patch(json!({ "paused": false })).await;
    web.says("Ready", ConditionStatus::False, "Restoring").await;
    web.until("the volumes to be retired", |cluster| status(cluster)?.cluster_id.is_none().then_some(())).await;
    web.reports(&["restoring the snapshot"]).await;

    rollback.delete().await;
    web.patch(json!({ "pod": null })).await;
    let after = web.runs(1).await;
    assert_eq!(cluster_id(&after), cluster_id(&before), "the same cluster");
    assert_eq!(web.value("kept").await, "two");
    let now = web.claim_uids().await;
    assert!(claims.iter().all(|(name, uid)| now.get(name) == Some(uid)), "on the same volumes: {now:?}");
    assert!(web.pods().await.keys().all(|pod| claims.contains_key(pod)));
    let outcome = status(&after).and_then(|status| status.restore.as_ref()?.outcome);
    assert_eq!(outcome, Some(RestoreOutcome::Canceled));
    web.announces("RestoreCanceled").await;
}
