//! A member whose data is lost or corrupt is replaced by a new one, as long as the others hold quorum.

use std::time::{Duration, Instant};

use e2e::etcd::{Etcd, Writer, cluster_id, ids, namespace, run_on_volume};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;

/// How long writes may be refused when one member fails.
const REFUSAL: Duration = Duration::from_secs(10);

/// Waits until another member has taken this one's place; returns what it says then.
async fn replaced(etcd: &Etcd<'_>, lost: &str) -> api::etcd_cluster::EtcdCluster {
    let without = |cluster: &api::etcd_cluster::EtcdCluster| !ids(cluster).contains_key(lost);
    etcd.until(&format!("another member instead of {lost}"), |cluster| without(cluster).then_some(())).await;
    let after = etcd.runs(3).await;
    assert!(without(&after));
    after
}

/// Pod and PVC of one member are deleted.
#[tokio::test]
async fn a_member_without_its_volume() {
    let ns = namespace("etcd-lost").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    let lost = before.status.as_ref().and_then(|status| status.leader.clone()).expect("a leader");
    let claims = ns.api::<PersistentVolumeClaim>();
    let begun = Instant::now();
    claims.delete(&lost, &DeleteParams::default()).await.expect("the claim can be deleted");
    etcd.lose_pods(&[&lost]).await;
    let after = replaced(&etcd, &lost).await;
    println!("pod and claim of the leader deleted: 3 healthy again after {:.1?}", begun.elapsed());
    let (was, is) = (ids(&before), ids(&after));
    assert_eq!(was.iter().filter(|member| is.get(member.0) == Some(member.1)).count(), 2, "{was:?} became {is:?}");
    assert_eq!(cluster_id(&after), cluster_id(&before));
    let why = etcd.announces("Replacing Dead Member").await;
    assert!(why.contains(&lost), "{why}");
    etcd.announces("Member Removed").await;
    writer.writes(20).await;
    writer.verdict(&after).await.never_refused_for(REFUSAL);
    ns.until_deleted::<PersistentVolumeClaim>(&lost).await;
}

/// TestPVCMemberCrashLoopSelfHeal of cozystack/etcd-operator, and etcd-druid's TestRecovery with one corrupt member of 3.
#[tokio::test]
#[ignore = "scripts/test --all long: a minute more of what the test before does"]
async fn a_member_with_a_corrupt_volume() {
    let ns = namespace("etcd-corrupt").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    let corrupt = ids(&before).into_keys().next().expect("members");
    let begun = Instant::now();
    let script =
        "for wal in /data/data/member/wal/*.wal; do dd if=/dev/urandom of=$wal bs=64K count=1 conv=notrunc; done";
    run_on_volume(&ns, &corrupt, script).await;
    etcd.lose_pods(&[&corrupt]).await;
    let after = replaced(&etcd, &corrupt).await;
    println!("a corrupt volume: 3 healthy again after {:.1?}", begun.elapsed());
    assert_eq!(cluster_id(&after), cluster_id(&before));
    let why = etcd.announces("Replacing Dead Member").await;
    println!("of a corrupt volume it says: {why}");
    assert!(why.contains(&corrupt), "{why}");
    writer.writes(20).await;
    writer.verdict(&after).await.never_refused_for(REFUSAL);
}
