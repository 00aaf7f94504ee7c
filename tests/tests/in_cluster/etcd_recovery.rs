//! Clusters that have lost quorum for good continue with what is left.

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

/// The command for a recovery, which the condition has.
async fn command(etcd: &Etcd<'_>, also: &str) -> String {
    let message = etcd.reports(&[also, "kubectl annotate"]).await.message;
    let (_, command) = message.split_once("kubectl ").expect("a command");
    command.to_owned()
}

async fn run(etcd: &Etcd<'_>, command: &str) {
    drop(etcd.ns.kubectl(&command.split_whitespace().collect::<Vec<_>>()).await.ok());
}

/// Waits until a linearizable read is answered.
async fn serves(etcd: &Etcd<'_>) -> EtcdCluster {
    etcd.until("quorum", |cluster| {
        let healthy = cluster.condition("QuorumHealthy")?.status == ConditionStatus::True;
        healthy.then(|| cluster.clone())
    })
    .await
}

/// The volumes of two of three members are deleted under writes, by a user who removes even the finalizer. The leader, which has
/// every acknowledged write, is left.
#[tokio::test]
async fn on_request_a_cluster_continues_with_the_member_that_is_left() {
    let ns = namespace("etcd-recovery").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, storage: {onDelete: Delete}}").await;
    let before = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    let (leader, followers) = leader_and_followers(&before);
    etcd.lose_volumes(&followers).await;
    etcd.lose_pods(&followers).await;

    let command = command(&etcd, "1 of 3 members answer").await;
    let wrong = format!("{RECOVER_WITHOUT}={},web-0", followers[0]);
    drop(ns.kubectl(&["annotate", "etcd", "web", &wrong]).await.ok());
    etcd.reports(&["names web-0, which is no voting member"]).await;
    assert_eq!(etcd.now().await.status.and_then(|status| status.recovery), None);

    let begun = Instant::now();
    run(&etcd, &command).await;
    let one = serves(&etcd).await;
    println!("a linearizable read is answered {:.1?} after the request", begun.elapsed());
    assert_eq!(cluster_id(&one), cluster_id(&before));
    let after = etcd.runs(3).await;
    println!("3 of 3 members are ready {:.1?} after the request", begun.elapsed());
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
#[ignore = "scripts/test --all long: what the test before does, with the policy in place of the request"]
async fn by_policy_a_cluster_continues_without_a_user() {
    let ns = namespace("etcd-recovery-auto").await;
    let spec = "{size: 3, recovery: {policy: Automatic, delaySeconds: 30}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let before = etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    let (leader, followers) = leader_and_followers(&before);
    // Otherwise the operator would replace the first one before the second one is lost.
    etcd.patch(json!({ "paused": true })).await;
    etcd.until("the pause", |cluster| cluster.status.as_ref()?.control_paused.then_some(())).await;
    for claim in &followers {
        run_on_volume(&ns, claim, "rm -rf /data/data").await;
    }
    etcd.lose_pods(&followers).await;
    etcd.patch(json!({ "paused": false })).await;
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

/// Twenty clusters lose two of three volumes under writes. In every second one, all members are killed at the same time, as in a power
/// failure.
#[tokio::test]
#[ignore = "scripts/test --all long: twenty clusters, one after the other"]
async fn twenty_recoveries_lose_no_acknowledged_write() {
    let (mut answered, mut ready) = (Vec::new(), Vec::new());
    for round in 0..20 {
        let ns = namespace("etcd-recoveries").await;
        let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
        let before = etcd.runs(3).await;
        let writer = Writer::with(&etcd, 1, 100).await;
        writer.writes(100).await;
        let (leader, followers) = leader_and_followers(&before);
        etcd.lose_volumes(&followers).await;
        let answering = if round % 2 == 0 {
            etcd.lose_pods(&followers).await;
            "1 of 3 members answer"
        } else {
            // The leader last: without it, the others could acknowledge writes that it does not have.
            let all: Vec<&str> = followers.iter().chain([&leader]).map(String::as_str).collect();
            let at_once = ["delete", "pod", "--grace-period=0", "--force", "--ignore-not-found"];
            drop(ns.kubectl(&[&at_once, &all[..]].concat()).await.ok());
            "0 of 3 members answer"
        };
        let command = command(&etcd, answering).await;
        let begun = Instant::now();
        run(&etcd, &command).await;
        assert_eq!(cluster_id(&serves(&etcd).await), cluster_id(&before), "no other cluster");
        answered.push(begun.elapsed());
        let after = etcd.runs(3).await;
        ready.push(begun.elapsed());
        assert!(ids(&after).contains_key(&leader));
        writer.writes(20).await;
        writer.verdict(&after).await;
    }
    for (what, mut times) in [("a linearizable read is answered", answered), ("3 of 3 members are ready", ready)] {
        times.sort();
        println!("{what} after the request: median {:.1?}, longest {:.1?} of 20", times[10], times[19]);
    }
}
