//! Clusters that have lost quorum for good go on with what is left.

use std::time::Instant;

use api::ConditionStatus;
use api::etcd_cluster::{EtcdCluster, RECOVER_WITHOUT, RecoveryOutcome};
use e2e::etcd::{Etcd, Writer, cluster_id, ids, namespace, run_on_volume};
use e2e::objects::ManagedKind;
use serde_json::json;

/// The leader, and the others.
fn leader_and_followers(cluster: &EtcdCluster) -> (String, Vec<String>) {
    let leader = cluster.status.as_ref().and_then(|status| status.leader.clone()).expect("a leader");
    let followers = ids(cluster).into_keys().filter(|name| *name != leader).collect();
    (leader, followers)
}

/// The volumes of two of three members are deleted under writes, by a user who removes even the finalizer. The leader, which has
/// every acknowledged write, is left.
#[tokio::test]
async fn on_request_a_cluster_goes_on_with_the_member_that_is_left() {
    let ns = namespace("etcd-recovery").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, storage: {onDelete: Delete}}").await;
    let before = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    let (leader, followers) = leader_and_followers(&before);
    for claim in &followers {
        drop(ns.kubectl(&["delete", "pvc", claim, "--wait=false"]).await.ok());
        ns.patch(&format!("pvc/{claim}"), &json!({ "metadata": { "finalizers": null } })).await;
    }
    etcd.lose_pods(&followers).await;

    let message = etcd.reports(&["1 of 3 members answer", "kubectl annotate", &leader]).await.message;
    let (_, command) = message.split_once("kubectl ").expect("a command");
    let wrong = format!("{RECOVER_WITHOUT}={},web-0", followers[0]);
    drop(ns.kubectl(&["annotate", "etcd", "web", &wrong]).await.ok());
    etcd.reports(&["names web-0, which is no voting member"]).await;
    assert_eq!(etcd.now().await.status.and_then(|status| status.recovery), None);

    let begun = Instant::now();
    drop(ns.kubectl(&command.split_whitespace().collect::<Vec<_>>()).await.ok());
    let one = etcd
        .until("a member that serves", |cluster| {
            let healthy = cluster.condition("QuorumHealthy")?.status == ConditionStatus::True;
            healthy.then(|| cluster.clone())
        })
        .await;
    println!("writes after {:.1?} from the request on", begun.elapsed());
    assert_eq!(cluster_id(&one), cluster_id(&before));
    let after = etcd.runs(3).await;
    println!("3 of 3 members after {:.1?}", begun.elapsed());
    let recovery = after.status.as_ref().and_then(|status| status.recovery.clone()).expect("a recovery");
    assert_eq!((recovery.from.as_str(), recovery.outcome), (leader.as_str(), Some(RecoveryOutcome::Recovered)));
    assert_eq!(ids(&after).get(&leader), ids(&before).get(&leader), "the same member");
    assert!(followers.iter().all(|lost| recovery.without.contains(lost) && !ids(&after).contains_key(lost)));
    writer.writes(20).await;
    writer.verdict(&after).await;
    etcd.announces("RecoveryStarted").await;
    etcd.announces("Recovered").await;

    // It is a member like others from now on.
    etcd.lose_pods(&[&leader]).await;
    let again = etcd.runs(3).await;
    assert_eq!(ids(&again), ids(&after));
    writer.verdict(&again).await;
}

/// The disks of two of three members are replaced by empty ones. Their PVCs are there, and say nothing of that.
#[tokio::test]
async fn by_policy_a_cluster_goes_on_without_a_user() {
    let ns = namespace("etcd-recovery-auto").await;
    let spec = "{size: 3, recovery: {policy: Automatic, delaySeconds: 30}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let before = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    let (leader, followers) = leader_and_followers(&before);
    for claim in &followers {
        run_on_volume(&ns, claim, "rm -rf /data/data").await;
    }
    etcd.lose_pods(&followers).await;
    let recovered = |cluster: &EtcdCluster| cluster.status.as_ref()?.recovery.as_ref()?.outcome;
    let outcome = etcd.until("a recovery", recovered).await;
    assert_eq!(outcome, RecoveryOutcome::Recovered);
    let after = etcd.runs(3).await;
    assert!(ids(&after).contains_key(&leader) && cluster_id(&after) == cluster_id(&before));
    writer.writes(20).await;
    writer.verdict(&after).await;
    let claims = etcd.claims().await;
    let kept = |name: &String| claims.get(name).is_some_and(|claim| claim.metadata.deletion_timestamp.is_none());
    assert!(followers.iter().all(kept), "the volumes of members that were given up are kept: {:?}", claims.keys());
}
