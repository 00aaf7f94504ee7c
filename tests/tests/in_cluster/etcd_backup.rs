//! Backups of etcd clusters: taken, restored for their verification, kept and removed; and what becomes of them when something is
//! in the way.

use api::etcd_backup::BackupVerification;
use api::etcd_cluster::MemberRole;
use e2e::erasing::erase_status_with_retries;
use e2e::etcd::{Etcd, Writer, cluster_id, namespace, run_on_volume};
use e2e::etcd_backup::{Backup, manifest, volume};
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, ListParams};

/// How many backups the object with the interval keeps.
const KEPT: usize = 2;

#[tokio::test]
async fn backups_are_taken_of_a_follower_restored_to_verify_them_and_removed_by_number() {
    let ns = namespace("etcd-backup").await;
    volume(&ns, "store", "64Mi").await;
    // Both are applied before the cluster.
    let once = Backup::apply(&ns, "once", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    once.reports("ClusterMissing", &["the EtcdCluster web does not exist"]).await;
    let often =
        "{clusterRef: {name: web}, pvc: {claimName: store}, backupPolicy: {backupIntervalInSecond: 30, maxBackups: 2}}";
    let often = Backup::apply(&ns, "often", often).await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let cluster = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    writer.writes(50).await;

    let status = once.has(1).await;
    let backup = &status.backups[0];
    assert_eq!((status.succeeded, status.reason.as_deref(), status.etcd_revision), (true, None, Some(backup.revision)));
    assert_eq!(
        (backup.verification, cluster_id(&cluster)),
        (BackupVerification::HashCompared, Some(&*backup.cluster_id))
    );
    once.is_on("store", backup).await;

    // The member is a follower, unless the leader changed in between.
    once.request("one").await;
    let status = once.has(2).await;
    let backup = &status.backups[0];
    assert!(backup.revision > status.backups[1].revision, "{status:#?}");
    let now = etcd.now().await;
    let members = now.status.as_ref().map(|status| status.member_statuses.clone()).unwrap_or_default();
    let leader = members.iter().find(|member| member.role == MemberRole::Leader).expect("a leader");
    assert!(!backup.member.contains(&leader.name), "{} leads, and the backup is of {}", leader.name, backup.member);

    // What is in the store is found again, and not taken again.
    erase_status_with_retries(&ns, "etcdbackup/once").await;
    let found = once.has(2).await;
    assert_eq!(found.backups, status.backups);

    let kept = often.has_kept(3, KEPT).await;
    often.is_on("store", &kept.backups[0]).await;
    once.is_on("store", &found.backups[1]).await;
    let verdict = writer.verdict(&etcd.runs(3).await).await;
    println!("{verdict:#?}");
}

#[tokio::test]
async fn a_full_volume_costs_no_backup_and_the_next_attempt_succeeds_once_there_is_room() {
    let ns = namespace("etcd-backup-full").await;
    volume(&ns, "store", "32Mi").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    etcd.runs(1).await;
    let backup = Backup::apply(&ns, "b", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    let first = backup.has(1).await.backups[0].clone();

    run_on_volume(&ns, "store", "dd if=/dev/zero of=/data/filler bs=4k || true; sync; rm -f /data/none").await;
    backup.request("while full").await;
    let told = backup.reports("BackupFailed", &["the backup failed", "the next attempt begins at"]).await;
    assert!(told.message.to_lowercase().contains("no space left on device"), "{}", told.message);
    let failed = ns.get::<api::etcd_backup::EtcdBackup>("b").await.status.expect("a status");
    assert_eq!((failed.succeeded, failed.count, &failed.backups[0]), (false, 1, &first));
    backup.is_on("store", &first).await;

    run_on_volume(&ns, "store", "rm /data/filler").await;
    // An edit is not waited for until the pause ends.
    backup.patch(serde_json::json!({ "spec": { "backupPolicy": { "timeoutInSecond": 120 } } })).await;
    let second = backup.has(2).await;
    assert_eq!((second.failures, second.backups.len()), (0, 2));

    // Its Job is deleted half-way.
    backup.request("killed").await;
    let running = backup.until("a running backup", |backup| backup.status.as_ref()?.running.clone()).await;
    ns.until::<Job, ()>(&running.name, "a pod of the Job", |job| {
        job?.status.as_ref()?.active.filter(|active| *active > 0).map(|_| ())
    })
    .await;
    let deletion = ns.api::<Job>().delete(&running.name, &DeleteParams::background()).await;
    deletion.expect("the Job can be deleted");
    backup.has(3).await;
    ns.eventually("no Job to be left", || async {
        let jobs = ns.api::<Job>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        if jobs.items.is_empty() { Ok(()) } else { Err(format!("{} Jobs", jobs.items.len())) }
    })
    .await;

    // Its backups outlive the object.
    drop(ns.kubectl(&["delete", "etcdbackup/b"]).await.ok());
    backup.is_on("store", &first).await;
}

#[tokio::test]
async fn what_cannot_be_backed_up_is_refused_or_reported() {
    let ns = namespace("etcd-backup-bad").await;
    for (spec, told) in [
        ("{pvc: {claimName: store}}", "set either spec.clusterRef"),
        (
            "{clusterRef: {name: web}, etcdEndpoints: ['http://e:2379'], pvc: {claimName: store}}",
            "set either spec.clusterRef",
        ),
        ("{clusterRef: {name: web}, storageType: GCP, pvc: {claimName: store}}", "Unsupported value: \"GCP\""),
        ("{clusterRef: {name: web}}", "set the field of spec.storageType"),
        ("{etcdEndpoints: ['https://e:2379'], pvc: {claimName: store}}", "need spec.clientTLSSecret"),
        (
            "{etcdEndpoints: ['ftp://e:2379'], pvc: {claimName: store}}",
            "must be URLs like http://etcd-0.etcd:2379 or https://",
        ),
        (
            "{clusterRef: {name: web}, pvc: {claimName: store, path: ../x}}",
            "spec.pvc.path must be a relative directory",
        ),
        ("{clusterRef: {name: web}, pvc: {claimName: store}, timeZone: Etc/UTC}", "spec.timeZone needs spec.schedule"),
        (
            "{clusterRef: {name: web}, pvc: {claimName: store}, schedule: '0 * * * *', backupPolicy: {backupIntervalInSecond: 60}}",
            "both say when",
        ),
        (
            "{clusterRef: {name: web}, pvc: {claimName: store}, backupPolicy: {backupIntervalInSecond: 5}}",
            "at least 30",
        ),
    ] {
        let refused =
            ns.kubectl_with(&manifest("b", spec), &["apply", "--dry-run=server", "--filename=-"]).await.refused();
        assert!(refused.contains(told), "{spec}: {refused}");
    }
    let wrong = Backup::apply(
        &ns,
        "wrong",
        "{etcdEndpoints: ['http://e:2379'], pvc: {claimName: none}, schedule: '0 0 30 2 *'}",
    );
    wrong.await.reports("InvalidSchedule", &["spec.schedule names a time that never comes"]).await;
    // Nothing listens there, and the PVC does not exist.
    let down = "{etcdEndpoints: ['http://127.0.0.1:1'], pvc: {claimName: none}}";
    let down = Backup::apply(&ns, "down", down).await;
    down.reports("PodInTrouble", &["none", "not found"]).await;
    volume(&ns, "none", "32Mi").await;
    down.reports("BackupFailed", &["no member answers", "127.0.0.1:1", "the next attempt begins at"]).await;
}
