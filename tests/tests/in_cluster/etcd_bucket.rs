//! Backups of etcd clusters in an object store: taken, read back, kept and removed there; a new cluster begins with one; and what
//! becomes of them when the store is away, is another one, or has something else.

use e2e::etcd::{Etcd, cluster_id, namespace};
use e2e::etcd_backup::{Backup, manifest};
use e2e::etcd_restore::Restore;
use e2e::s3_server::{BUCKET, CERTIFICATE, CREDENTIALS, Server};

/// The spec of a backup of the cluster `web`, in YAML's short form.
fn spec(server: &Server<'_>, path: &str, secret: &str, more: &str) -> String {
    let endpoint = server.plain();
    format!(
        "{{clusterRef: {{name: web}}, storageType: S3, s3: {{path: {path}, awsSecret: {secret}, endpoint: '{endpoint}', \
         forcePathStyle: true}}{more}}}"
    )
}

#[tokio::test]
async fn backups_in_an_object_store_are_read_back_kept_by_number_and_restored() {
    let ns = namespace("etcd-bucket").await;
    let server = Server::start(&ns).await;
    let web = Etcd::apply(&ns, "web", "{size: 1}").await;
    web.runs(1).await;
    web.put("kept", "one").await;

    let once = Backup::apply(&ns, "once", &spec(&server, "backups/team/etcd", CREDENTIALS, "")).await;
    let first = once.has(1).await.backups[0].clone();
    assert_eq!(first.path.as_deref(), Some("backups/team/etcd"), "as the archived operator stores it");
    server.has(&first).await;
    web.put("kept", "two").await;
    once.request("again").await;
    let both = once.has(2).await;
    let second = both.backups[0].clone();
    let path = second.path.clone().expect("a path");
    assert_eq!(path, format!("backups/team/etcd_v{}_{}", second.revision, second.name));
    server.has(&second).await;

    // With TLS, and the bucket in the host.
    let endpoint = server.with_tls();
    let often = format!(
        "{{clusterRef: {{name: web}}, storageType: S3, s3: {{path: {BUCKET}/often, awsSecret: {CREDENTIALS}, endpoint: '{endpoint}', \
         caSecret: {CERTIFICATE}}}, backupPolicy: {{backupIntervalInSecond: 30, maxBackups: 2}}}}"
    );
    let often = Backup::apply(&ns, "often", &often).await;
    let kept = often.has_kept(3, 2).await;
    server.has(&kept.backups[0]).await;
    let there = server.shell("cd /data/backups; ls; cat often_v*.json team/etcd*.json | grep -c owner || true").await;
    assert_eq!(
        there.lines().filter(|name| name.starts_with("often_v") && !name.ends_with(".json")).count(),
        2,
        "{there}"
    );

    // By the fields of OSS, whose API is S3's.
    server.oss_credentials("alibaba").await;
    let oss = |path: &str| format!("oss: {{path: {path}, ossSecret: alibaba, endpoint: '{}'}}", server.plain());
    let spec_of_oss = format!("{{clusterRef: {{name: web}}, storageType: OSS, {}}}", oss("backups/of-oss"));
    let of_oss = Backup::apply(&ns, "of-oss", &spec_of_oss).await.has(1).await.backups[0].clone();
    server.has(&of_oss).await;

    // A new cluster begins with what the store has, by its path alone.
    let restore = |path: &str| {
        let endpoint = server.plain();
        format!(
            "{{size: 1, restore: {{s3: {{path: {path}, awsSecret: {CREDENTIALS}, endpoint: '{endpoint}', forcePathStyle: true}}}}}}"
        )
    };
    let copy = Etcd::apply(&ns, "copy", &format!("{{size: 1, restore: {{{}}}}}", oss("backups/team/etcd"))).await;
    let restored = copy.runs(1).await;
    assert_eq!(copy.value("kept").await, "one");
    let status = restored.status.expect("a status");
    assert_eq!(status.restored_from.as_deref(), Some("oss://backups/team/etcd"));

    // All volumes are lost: the cluster begins again with it, under its name.
    let members: Vec<String> = web.pods().await.into_keys().collect();
    web.lose_volumes(&members).await;
    web.lose_pods(&members).await;
    web.reports(&["cannot restart", "restore the cluster from a backup"]).await;
    let lost = web.now().await;
    let spec = format!(
        "{{etcdCluster: {{name: web}}, replaceClusterID: '{}', backupStorageType: S3, s3: {{path: {path}, awsSecret: {CREDENTIALS}, \
         endpoint: '{}', forcePathStyle: true}}}}",
        cluster_id(&lost).expect("a cluster"),
        server.plain()
    );
    let again = Restore::apply(&ns, "again", &spec).await.reports("Restored", &["began again"]).await;
    assert_eq!(again.verified.map(|snapshot| snapshot.sha256), Some(second.sha256));
    web.runs(1).await;
    assert_eq!(web.value("kept").await, "two");

    server.shell(&format!("printf x | dd of=/data/{path} bs=1 seek=9000 conv=notrunc")).await;
    let damaged = Etcd::apply(&ns, "damaged", &restore(&path)).await;
    damaged.reports(&["restoring the snapshot s3://backups/team/etcd_v", "has the SHA-256"]).await;
    let missing = Etcd::apply(&ns, "missing", &restore("backups/team/none")).await;
    missing.reports(&["restoring the snapshot s3://backups/team/none", "there is no snapshot"]).await;
}

#[tokio::test]
async fn a_store_that_is_away_or_refuses_is_reported_and_nothing_foreign_is_overwritten() {
    let ns = namespace("etcd-bucket-bad").await;
    let server = Server::start(&ns).await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    etcd.runs(1).await;
    let apply = async |name: &'static str, path: &str, secret: &str| {
        Backup::apply(&ns, name, &spec(&server, path, secret, "")).await
    };
    server.credentials("wrong", "wrong").await;
    server.shell("echo precious >/data/backups/foreign").await;
    let of_wrong = apply("wrong", "backups/wrong", "wrong").await;
    let without = apply("without", "backups/without", "none").await;
    let no_bucket = apply("no-bucket", "no-such-bucket/etcd", CREDENTIALS).await;
    let foreign = apply("foreign", "backups/foreign", CREDENTIALS).await;
    let azure = "{clusterRef: {name: web}, storageType: ABS, abs: {path: backups/etcd, absSecret: azure}}";
    let azure = Backup::apply(&ns, "azure", azure).await;
    of_wrong.reports("BackupFailed", &["s3://backups/wrong", "SignatureDoesNotMatch"]).await;
    without.reports("BackupFailed", &["no file `credentials`", "the Secret does not exist"]).await;
    azure.reports("BackupFailed", &["no file `storage-account`", "the Secret does not exist"]).await;
    no_bucket.reports("BackupFailed", &["s3://no-such-bucket/etcd", "NoSuchBucket"]).await;
    foreign.reports("BackupFailed", &["s3://backups/foreign exists", "choose another path"]).await;
    assert!(server.shell("cat /data/backups/foreign").await.contains("precious"));

    // Two objects of one path: the second is not to overwrite what the first one took.
    let first = apply("first", "backups/shared", CREDENTIALS).await;
    let taken = first.has(1).await.backups[0].clone();
    let second = apply("second", "backups/shared", CREDENTIALS).await;
    second.reports("BackupFailed", &["s3://backups/shared exists", "another EtcdBackup has written it"]).await;
    server.has(&taken).await;

    // Nothing is lost, and nothing is reported as done, while the store is away.
    server.reachable(false).await;
    first.request("while away").await;
    first.reports("BackupFailed", &["s3://backups/shared", "cannot be", "the next attempt begins at"]).await;
    let status = ns.get::<api::etcd_backup::EtcdBackup>("first").await.status.expect("a status");
    assert_eq!((status.succeeded, status.count, &status.backups[0]), (false, 1, &taken));
    server.reachable(true).await;
    first.patch(serde_json::json!({ "spec": { "backupPolicy": { "timeoutInSecond": 120 } } })).await;
    let caught_up = first.has(2).await;
    server.has(&caught_up.backups[0]).await;

    for (spec, message) in [
        ("{clusterRef: {name: web}, storageType: S3}", "set the field of spec.storageType"),
        ("{clusterRef: {name: web}, storageType: S3, pvc: {claimName: store}}", "set the field of spec.storageType"),
        ("{clusterRef: {name: web}, s3: {path: b-b/k, awsSecret: aws}}", "set the field of spec.storageType"),
        (
            "{clusterRef: {name: web}, storageType: S3, s3: {path: bucket, awsSecret: aws}}",
            "s3.path must be a bucket and a key",
        ),
        (
            "{clusterRef: {name: web}, storageType: S3, s3: {path: bucket/../k, awsSecret: aws}}",
            "s3.path must be a bucket and a key",
        ),
        ("{clusterRef: {name: web}, storageType: S3, s3: {path: bucket/k}}", "spec.s3.awsSecret: Required value"),
        (
            "{clusterRef: {name: web}, storageType: GCS, abs: {path: c-c/k, absSecret: a}}",
            "set the field of spec.storageType",
        ),
        (
            "{clusterRef: {name: web}, storageType: ABS, abs: {path: c-c/k, absSecret: a}, gcs: {path: b-b/k}}",
            "set the field of spec.storageType",
        ),
        ("{clusterRef: {name: web}, storageType: GCS, gcs: {path: b-b/../k}}", "gcs.path must be a bucket and a key"),
        (
            "{clusterRef: {name: web}, storageType: ABS, abs: {path: C/k/k, absSecret: a}}",
            "abs.path must be a container and a key",
        ),
        ("{clusterRef: {name: web}, storageType: OSS, oss: {path: b-b/k}}", "spec.oss.ossSecret: Required value"),
        (
            "{clusterRef: {name: web}, storageType: S3, s3: {path: bucket/k, awsSecret: aws, endpoint: 'ftp://x'}}",
            "s3.endpoint must be the URL of a store",
        ),
    ] {
        let refused =
            ns.kubectl_with(&manifest("b", spec), &["apply", "--dry-run=server", "--filename=-"]).await.refused();
        assert!(refused.contains(message), "{spec}: {refused}");
    }
}
