//! Etcd clusters: their members, and their room.

use e2e::etcd::{Etcd, ids, namespace};
use e2e::prometheus::{fires, is_silent, resolves};
use serde_json::json;

#[tokio::test]
async fn members_that_cannot_come_back() {
    let ns = namespace("alerts-quorum").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "web")];
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let members: Vec<String> = ids(&etcd.runs(3).await).into_keys().collect();
    is_silent("EtcdClusterQuorumAtRisk", &of_it).await;
    ns.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: '0'}}\n").await;
    etcd.lose_pods(&members[..1]).await;
    fires("EtcdClusterQuorumAtRisk", &of_it).await;
    fires("EtcdClusterMemberDown", &of_it).await;
    is_silent("EtcdClusterQuorumLost", &of_it).await;
    etcd.lose_pods(&members[1..2]).await;
    fires("EtcdClusterQuorumLost", &of_it).await;
    drop(ns.kubectl(&["delete", "resourcequota/none"]).await.ok());
    resolves("EtcdClusterQuorumLost", &of_it).await;
    resolves("EtcdClusterQuorumAtRisk", &of_it).await;
    resolves("EtcdClusterMemberDown", &of_it).await;
}

#[tokio::test]
async fn a_database_without_room() {
    let ns = namespace("alerts-space").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "web")];
    let etcd = Etcd::apply(&ns, "web", "{size: 1, quota: 100Mi}").await;
    let member = ids(&etcd.runs(1).await).into_keys().next().expect("a member");
    let put = async |key: u32| {
        let (value, key) = ("x".repeat(1_400_000), format!("k{key}"));
        let put = ["exec", "--stdin", &member, "--container=etcd", "--", "/usr/local/bin/etcdctl", "put", &key];
        ns.kubectl_with(&value, &put).await
    };
    // The file grows by 16 MiB at a time.
    let mut keys = 0..200;
    while size(&etcd, &member).await < 86_000_000 {
        drop(put(keys.next().expect("a file that grows")).await.ok());
    }
    fires("EtcdClusterSpaceLow", &of_it).await;
    is_silent("EtcdClusterAlarm", &of_it).await;
    while put(keys.next().expect("a database that gets full")).await.success {}
    fires("EtcdClusterAlarm", &[("namespace", &ns.name), ("name", "web"), ("alarm", "NOSPACE")]).await;
    etcd.patch(json!({ "quota": "400Mi" })).await;
    resolves("EtcdClusterSpaceLow", &of_it).await;
    // The operator clears it.
    resolves("EtcdClusterAlarm", &of_it).await;
}

/// How large a member's database is, in bytes.
async fn size(etcd: &Etcd<'_>, member: &str) -> u64 {
    let status = etcd.etcdctl(member, &["endpoint", "status", "--write-out=fields"]).await.ok();
    let line = status.lines().find_map(|line| line.strip_prefix("\"DBSize\" : "));
    line.and_then(|size| size.trim().parse().ok()).unwrap_or_else(|| panic!("no size: {status}"))
}
