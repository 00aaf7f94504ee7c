//! Clusters whose etcd requires users.

use api::ConditionStatus;
use api::etcd_backup::BackupVerification;
use api::etcd_cluster::{EtcdCluster, RecoveryOutcome};
use e2e::etcd::{Etcd, cluster_id, ids, namespace};
use e2e::etcd_backup::{Backup, volume};
use e2e::etcd_restore::Restore;
use serde_json::json;

const DENIED: &str = "user name is empty";

/// Writes the Secret with the password of root.
async fn give(etcd: &Etcd<'_>, password: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "web-root" }, "type": "kubernetes.io/basic-auth",
        "stringData": { "username": "root", "password": password },
    });
    etcd.ns.apply(&secret.to_string()).await;
}

/// etcdctl as root in a member's container.
async fn as_root(etcd: &Etcd<'_>, password: &str, arguments: &[&str]) -> String {
    let member = ids(&etcd.now().await).into_keys().next().expect("a member");
    let user = format!("--user=root:{password}");
    etcd.etcdctl(&member, &[&[user.as_str()], arguments].concat()).await.ok()
}

async fn without_user(etcd: &Etcd<'_>) -> Result<(), String> {
    let member = ids(&etcd.now().await).into_keys().next().expect("a member");
    let answer = etcd.etcdctl(&member, &["put", "without", "user"]).await;
    if answer.success { Ok(()) } else { Err(answer.refused()) }
}

/// The cluster requires a user, and is changed, repaired and backed up like others. Then its backup begins it again.
#[tokio::test]
async fn a_cluster_with_users_is_created_scaled_repaired_backed_up_and_restored() {
    let ns = namespace("etcd-users").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, authentication: {rootSecret: web-root}}").await;
    let missing = etcd.says("Stalled", ConditionStatus::True, "RootSecretInvalid").await;
    assert!(missing.contains("the Secret web-root of spec.authentication.rootSecret does not exist"), "{missing}");
    assert!(etcd.pods().await.is_empty());
    give(&etcd, "first: a secret").await;
    etcd.runs(1).await;
    etcd.announces("AuthenticationEnabled").await;
    let refused = without_user(&etcd).await.expect_err("a user is required");
    assert!(refused.contains(DENIED), "{refused}");
    as_root(&etcd, "first: a secret", &["put", "kept", "one"]).await;

    etcd.scale(3).await;
    let before = etcd.runs(3).await;
    let member = ids(&before).into_keys().next_back().expect("a member");
    etcd.lose_volumes(&[&member]).await;
    etcd.lose_pods(&[&member]).await;
    let replaced =
        |cluster: &EtcdCluster| (e2e::etcd::runs(cluster, 3) && !ids(cluster).contains_key(&member)).then_some(());
    etcd.until("the member to be replaced", replaced).await;

    volume(&ns, "store", "64Mi").await;
    let backup = Backup::apply(&ns, "once", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    let entry = backup.has(1).await.backups[0].clone();
    assert_eq!(entry.verification, BackupVerification::HashCompared, "{entry:?}");
    as_root(&etcd, "first: a secret", &["put", "kept", "two"]).await;
    let id = cluster_id(&before).expect("a cluster");
    let spec = format!("{{etcdCluster: {{name: web}}, etcdBackup: {{name: once}}, replaceClusterID: {id}}}");
    let restore = Restore::apply(&ns, "back", &spec).await;
    assert!(restore.reports("Restored", &["began again from the verified snapshot"]).await.succeeded);
    etcd.runs(3).await;
    assert_eq!(as_root(&etcd, "first: a secret", &["get", "--print-value-only", "kept"]).await.trim(), "one");
}

/// A password that etcd does not know, a lost quorum, and no users any more.
#[tokio::test]
async fn a_wrong_password_is_reported_and_a_cluster_with_users_recovers() {
    let ns = namespace("etcd-users-wrong").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, recovery: {policy: Automatic, delaySeconds: 30}}").await;
    etcd.runs(3).await;
    give(&etcd, "right").await;
    etcd.patch(json!({ "authentication": { "rootSecret": "web-root" } })).await;
    etcd.announces("AuthenticationEnabled").await;
    let before = etcd.runs(3).await;
    as_root(&etcd, "right", &["put", "kept", "one"]).await;

    let pods = etcd.pod_uids().await;
    give(&etcd, "wrong").await;
    let message = etcd.says("Stalled", ConditionStatus::True, "AuthenticationRequired").await;
    assert!(message.contains("rejects the password of root") && message.contains("the Secret web-root"), "{message}");
    assert!(!message.contains("wrong"), "{message}");
    give(&etcd, "right").await;
    etcd.runs(3).await;
    assert_eq!(etcd.pod_uids().await, pods, "no pod is replaced for it");

    let lost: Vec<String> = ids(&before).into_keys().take(2).collect();
    etcd.lose_volumes(&lost).await;
    etcd.lose_pods(&lost).await;
    let outcome = |cluster: &EtcdCluster| cluster.status.as_ref()?.recovery.as_ref()?.outcome;
    assert_eq!(etcd.until("the end of a recovery", outcome).await, RecoveryOutcome::Recovered);
    etcd.runs(3).await;
    assert!(without_user(&etcd).await.expect_err("a user is required").contains(DENIED));

    etcd.patch(json!({ "authentication": { "enabled": false } })).await;
    etcd.announces("AuthenticationDisabled").await;
    etcd.runs(3).await;
    without_user(&etcd).await.expect("no user is required");
    assert_eq!(etcd.value("kept").await, "one");
}
