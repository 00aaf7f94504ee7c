//! Clusters that begin with a snapshot: they hold what it holds, and are clusters of their own.

use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{self, Etcd, cluster_id, namespace, run_on_volume};
use e2e::etcd_backup::{Backup, volume};
use k8s_openapi::api::core::v1::Pod;

fn mounts(pod: &Pod, claim: &str) -> bool {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref()).any(|of| of.claim_name == claim)
}

#[tokio::test]
async fn a_new_cluster_begins_with_a_backup_of_another_one() {
    let ns = namespace("etcd-restore").await;
    volume(&ns, "store", "64Mi").await;
    let web = Etcd::apply(&ns, "web", "{size: 1}").await;
    let before = web.runs(1).await;
    web.put("kept", "one").await;
    web.put("kept", "two").await;
    let backup = Backup::apply(&ns, "b", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    let taken = backup.has(1).await.backups[0].clone();
    web.put("kept", "three").await;
    web.put("later", "four").await;

    let copy = Etcd::apply(&ns, "copy", "{size: 3, restore: {claimName: store, file: b/b.db}}").await;
    let restored = copy.runs(3).await;
    assert_eq!((copy.value("kept").await, copy.value("later").await), ("two".to_owned(), String::new()));
    let status = restored.status.clone().expect("a status");
    assert_eq!(status.restored_from.as_deref(), Some("b/b.db of the PVC store"));
    assert_ne!(cluster_id(&restored), cluster_id(&before), "it is a cluster of its own");
    assert_ne!(cluster_id(&restored), Some(&*taken.cluster_id));
    // It takes writes, and the volume is free again.
    copy.put("later", "five").await;
    ns.eventually("no member to hold on to the volume with the snapshot", || async {
        let pods = copy.pods().await;
        let holding: Vec<&String> = pods.iter().filter(|(_, pod)| mounts(pod, "store")).map(|(name, _)| name).collect();
        if holding.is_empty() { Ok(()) } else { Err(format!("{holding:?}")) }
    })
    .await;
    copy.runs(3).await;
    assert_eq!((copy.value("kept").await, copy.value("later").await), ("two".to_owned(), "five".to_owned()));
    assert_eq!((web.value("kept").await, web.value("later").await), ("three".to_owned(), "four".to_owned()));

    // A damaged copy of it, and one that is not there.
    run_on_volume(
        &ns,
        "store",
        "cp /data/b/b.db /data/damaged.db; printf x | dd of=/data/damaged.db bs=1 seek=9000 conv=notrunc",
    )
    .await;
    let damaged = Etcd::apply(&ns, "damaged", "{size: 1, restore: {claimName: store, file: damaged.db}}").await;
    let missing = Etcd::apply(&ns, "missing", "{size: 1, restore: {claimName: store, file: b/none.db}}").await;
    let told = damaged.reports(&["restoring the snapshot damaged.db of the PVC store", "sha256"]).await;
    println!("of a damaged snapshot it says: {}", told.message);
    let told =
        missing.reports(&["restoring the snapshot b/none.db of the PVC store", "there is no snapshot", "b.db"]).await;
    println!("of a missing one it says: {}", told.message);
    assert_eq!(cluster_id(&ns.get::<EtcdCluster>("damaged").await), None, "no cluster was begun with it");
    // What it has left behind is not in the way of the corrected one.
    drop(ns.kubectl(&["delete", "etcd", "missing"]).await.ok());
    let corrected = Etcd::apply(&ns, "missing", "{size: 1, restore: {claimName: store, file: b/b.db}}").await;
    corrected.runs(1).await;
    assert_eq!(corrected.value("kept").await, "two");

    for (name, spec, told) in [
        (
            "web",
            "{size: 1, restore: {claimName: store, file: b/b.db}}",
            "spec.restore cannot be added or changed later",
        ),
        (
            "copy",
            "{size: 3, restore: {claimName: store, file: other.db}}",
            "spec.restore cannot be added or changed later",
        ),
        (
            "new",
            "{size: 1, restore: {claimName: store}}",
            "set either one of restore.s3, restore.abs, restore.gcs and restore.oss, or restore.claimName and restore.file",
        ),
        ("new", "{size: 1, restore: {claimName: store, file: ../b.db}}", "restore.file must be the path of a file"),
        (
            "new",
            "{size: 1, storage: {ephemeral: true}, restore: {claimName: s, file: b.db}}",
            "spec.restore needs volumes",
        ),
    ] {
        let refused =
            ns.kubectl_with(&etcd::manifest(name, spec), &["apply", "--dry-run=server", "--filename=-"]).await;
        let refused = refused.refused();
        assert!(refused.contains(told), "{spec}: {refused}");
    }
}
