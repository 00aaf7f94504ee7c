//! Clusters of which nothing is left but a backup, and the last backup of a cluster that is deleted.

use std::time::Instant;

use api::ConditionStatus;
use api::etcd_cluster::{EtcdCluster, RestoreOutcome};
use api::etcd_restore::EtcdRestore;
use e2e::etcd::{Etcd, cluster_id, ids, namespace, run_on_volume};
use e2e::etcd_backup::{Backup, volume};
use e2e::etcd_restore::Restore;
use e2e::kubectl;
use serde_json::json;

/// A cluster that has a backup, and a write since; its members.
async fn with_backup(etcd: &Etcd<'_>, backup: &Backup<'_>, size: usize) -> (EtcdCluster, Vec<String>) {
    let before = etcd.runs(size).await;
    etcd.put("kept", "one").await;
    backup.request("before").await;
    backup.has(1).await;
    etcd.put("later", "two").await;
    let members = ids(&before).into_keys().collect();
    (before, members)
}

/// It begins again, and is then like any other one.
async fn begins_again(etcd: &Etcd<'_>, before: &EtcdCluster, size: usize) -> EtcdCluster {
    let restored = |cluster: &EtcdCluster| cluster.status.as_ref()?.restore.as_ref()?.outcome;
    assert_eq!(etcd.until("the end of a restore", restored).await, RestoreOutcome::Restored);
    let after = etcd.runs(size).await;
    assert_ne!(cluster_id(&after), cluster_id(before));
    assert_eq!((etcd.value("kept").await, etcd.value("later").await), ("one".to_owned(), String::new()));
    etcd.put("later", "three").await;
    after
}

/// The disks of all members are replaced by empty ones.
#[tokio::test]
async fn by_policy_a_cluster_without_any_volume_begins_again_from_its_newest_backup() {
    let ns = namespace("etcd-all-lost").await;
    volume(&ns, "store", "64Mi").await;
    let spec = "{size: 3, recovery: {policy: Automatic, delaySeconds: 30}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let backup =
        Backup::apply(&ns, "nightly", "{clusterRef: {name: web}, pvc: {claimName: store}, schedule: '0 0 1 1 *'}")
            .await;
    let (before, members) = with_backup(&etcd, &backup, 3).await;
    etcd.patch(json!({ "paused": true })).await;
    etcd.until("the pause", |cluster| cluster.status.as_ref()?.control_paused.then_some(())).await;
    for claim in &members {
        run_on_volume(&ns, claim, "rm -rf /data/data").await;
    }
    // A backup that cannot be verified begins nothing, and a user may decide meanwhile.
    run_on_volume(&ns, "store", "mv /data/nightly /data/hidden").await;
    etcd.lose_pods(&members).await;
    etcd.patch(json!({ "paused": false })).await;
    let name = format!("recovery-{}", cluster_id(&before).expect("an id"));
    let restore = Restore { ns: &ns, name: &name };
    restore.reports("VerificationFailed", &["there is no snapshot", "untouched"]).await;
    etcd.patch(json!({ "recovery": { "policy": "Manual" } })).await;
    ns.until_deleted::<EtcdRestore>(&name).await;
    run_on_volume(&ns, "store", "mv /data/hidden /data/nightly").await;
    etcd.patch(json!({ "recovery": { "policy": "Automatic" } })).await;
    let begun = Instant::now();
    begins_again(&etcd, &before, 3).await;
    println!(
        "all volumes lost, once the backup can be verified: 3 of 3 members are ready again after {:.1?}",
        begun.elapsed()
    );
    let started = etcd.announces("RecoveryStarted").await;
    assert!(started.contains("begins again from the backup nightly-r"), "{started}");
    let ended = restore.reports("Restored", &["began again from the verified snapshot nightly-r"]).await;
    assert!(ended.succeeded);
    let claims = etcd.claims().await;
    assert!(members.iter().all(|member| claims.contains_key(member)), "the volumes stay: {:?}", claims.keys());
}

/// The PVCs are deleted, finalizers and all. The condition has the command, which a shell runs as it stands there.
#[tokio::test]
async fn the_command_in_the_condition_begins_a_lost_cluster_again() {
    let ns = namespace("etcd-all-lost-command").await;
    volume(&ns, "store", "64Mi").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let backup = Backup::apply(
        &ns,
        "nightly",
        "{clusterRef: {name: web}, pvc: {claimName: store, path: of/web}, schedule: '0 0 1 1 *'}",
    )
    .await;
    let (before, members) = with_backup(&etcd, &backup, 1).await;
    etcd.lose_volumes(&members).await;
    etcd.lose_pods(&members).await;
    let message = etcd.reports(&["the volumes of all members are lost", "kubectl create -f -"]).await.message;
    println!("of a cluster that has lost all volumes it says: {message}");
    let command = message.split_once("echo '").map(|(_, command)| format!("echo '{command}")).expect("a command");
    drop(kubectl::run("", "sh", &["-ec", &command]).await.ok());
    begins_again(&etcd, &before, 1).await;
}

#[tokio::test]
async fn a_cluster_is_deleted_after_its_last_backup_from_which_the_next_one_begins() {
    let ns = namespace("etcd-last-backup").await;
    volume(&ns, "store", "64Mi").await;
    let spec = "{size: 1, storage: {onDelete: Delete}, onDelete: {backup: nightly}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let schedule = "schedule: '0 0 1 1 *'";
    let spec = format!("{{clusterRef: {{name: web}}, pvc: {{claimName: store}}, {schedule}, suspend: true}}");
    let backup = Backup::apply(&ns, "nightly", &spec).await;
    etcd.runs(1).await;
    etcd.put("kept", "to the last").await;
    drop(ns.kubectl(&["delete", "etcd", "web", "--wait=false"]).await.ok());
    let blocked = etcd.says("Terminating", ConditionStatus::True, "DeletionBlocked").await;
    println!("of a deletion that waits for a backup it says: {blocked}");
    assert!(blocked.contains("set its spec.suspend to false") && blocked.contains("{\"spec\":{\"onDelete\":null}}"));
    assert_eq!(etcd.value("kept").await, "to the last", "it serves meanwhile");
    backup.patch(json!({ "spec": { "suspend": false } })).await;
    ns.until_deleted::<EtcdCluster>("web").await;
    let last = backup.has(1).await.backups[0].clone();
    backup.is_on("store", &last).await;

    // The next one of that name waits for an EtcdRestore that names the EtcdBackup, and no file.
    let wrong =
        Restore::apply(&ns, "again", "{etcdCluster: {name: web}, etcdBackup: {name: nightly, backup: none}}").await;
    wrong.reports("ClusterMissing", &["create it"]).await;
    let again = Etcd::apply(&ns, "web", "{size: 1}").await;
    let missing = wrong.reports("BackupMissing", &["has no backup none", &last.name]).await;
    println!(
        "of a backup that does not exist it says: {}",
        missing.contract.condition("Ready").expect("Ready").message
    );
    wrong.patch(json!({ "spec": { "etcdBackup": { "backup": null } } })).await;
    wrong.reports("Restored", &[&format!("began again from the verified snapshot {}", last.name)]).await;
    again.runs(1).await;
    assert_eq!(again.value("kept").await, "to the last");
    let both = "{etcdCluster: {name: web}, etcdBackup: {name: nightly}, pvc: {claimName: store, file: b.db}}";
    let manifest = format!(
        "apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdRestore\nmetadata: {{name: both}}\nspec: {both}\n"
    );
    let refused = ns.kubectl_with(&manifest, &["apply", "--dry-run=server", "--filename=-"]).await.refused();
    assert!(refused.contains("set either spec.etcdBackup, or the field of spec.backupStorageType"), "{refused}");
}
