//! Pods that are lost come back on their volumes as the members that they were, by themselves.

use std::time::{Duration, Instant};

use api::ConditionStatus;
use e2e::etcd::{Etcd, Writer, cluster_id, ids, namespace};
use e2e::objects::ManagedKind;
use serde_json::json;

/// TestOneMemberRecovery of coreos/etcd-operator, TestPodRecovery of etcd-io/etcd-operator, and of etcd-druid's TestRecovery
/// those that lose 1, 2 and 3 pods of 3.
#[tokio::test]
async fn one_two_and_all_of_three() {
    let ns = namespace("etcd-pods").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let (members, claims) = (ids(&before), etcd.claim_uids().await);
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    let names: Vec<&String> = members.keys().collect();
    let leader = before.status.as_ref().and_then(|status| status.leader.clone()).expect("a leader");
    for lost in [vec![&leader], names[..2].to_vec(), names.clone()] {
        let begun = Instant::now();
        etcd.lose_pods(&lost).await;
        let after = etcd.runs(3).await;
        println!("{} of 3 pods deleted: back to full health after {:.1?}", lost.len(), begun.elapsed());
        assert_eq!(ids(&after), members, "the same members");
        assert_eq!(etcd.claim_uids().await, claims, "on the same volumes");
        assert_eq!(cluster_id(&after), cluster_id(&before));
        writer.writes(20).await;
        let verdict = writer.verdict(&after).await;
        if lost.len() == 1 {
            verdict.never_refused_for(Duration::from_secs(10));
        }
    }
    let events = etcd.events().await;
    let changes = |reason: &str| events.iter().filter(|(said, _)| said == reason).count();
    assert_eq!((changes("New Member Added"), changes("Member Removed")), (3, 0), "{events:?}");
}

/// Two of three members that cannot come back for a while: nothing is destroyed, status reports it at once, and the cluster
/// continues as soon as they can.
#[tokio::test]
async fn without_quorum_nothing_is_destroyed() {
    let ns = namespace("etcd-quorum").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let (members, claims) = (ids(&before), etcd.claim_uids().await);
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    let broken: Vec<&String> = members.keys().take(2).collect();
    let begun = Instant::now();
    for pod in &broken {
        drop(ns.kubectl(&["set", "image", &format!("pod/{pod}"), "etcd=quay.io/coreos/etcd:none"]).await.ok());
    }
    let message = etcd.says("QuorumHealthy", ConditionStatus::False, "QuorumLost").await;
    println!("QuorumHealthy=False {:.1?} after two images were broken: {message}", begun.elapsed());
    let available = etcd.says("Available", ConditionStatus::False, "QuorumLost").await;
    assert!(available.contains("not available"), "{available}");
    let ready = etcd.reports(&["1 of 3 members answer", "cannot be pulled"]).await;
    println!("without quorum it says {}: {}", ready.reason, ready.message);
    etcd.announces("QuorumLost").await;
    // During the outage, the operator repairs or waits before it resizes.
    etcd.scale(5).await;
    etcd.says("Ready", ConditionStatus::False, "QuorumLost").await;
    assert_eq!(etcd.claim_uids().await, claims);
    assert!(etcd.pods().await.keys().eq(members.keys()));
    let outage = etcd.now().await;
    assert_eq!((ids(&outage), cluster_id(&outage)), (members.clone(), cluster_id(&before)));
    assert_eq!(outage.status.as_ref().map(|status| status.size), Some(3));
    etcd.scale(3).await;

    etcd.lose_pods(&broken).await;
    let after = etcd.runs(3).await;
    assert_eq!(ids(&after), members);
    assert_eq!(etcd.claim_uids().await, claims);
    assert!(after.condition("QuorumHealthy").is_some_and(|c| c.status == ConditionStatus::True));
    writer.writes(20).await;
    writer.verdict(&after).await;
}

/// What the kubelet ends for good, and no controller starts again: after an eviction and a node's shutdown the pod is no different.
#[tokio::test]
async fn pods_that_have_failed_are_replaced() {
    let ns = namespace("etcd-failed").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let (members, pods) = (ids(&before), etcd.pod_uids().await);
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    // First one, and then, which costs the quorum, two.
    let names: Vec<&String> = members.keys().collect();
    for failed in [&names[..1], &names[1..]] {
        for name in failed {
            ns.patch(&format!("pod/{name}"), &json!({ "spec": { "activeDeadlineSeconds": 1 } })).await;
        }
        ns.eventually("other pods", || async {
            let now = etcd.pod_uids().await;
            let left: Vec<_> = failed.iter().filter(|name| now.get(**name) == pods.get(**name)).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?} have not been replaced")) }
        })
        .await;
        let after = etcd.runs(3).await;
        assert_eq!((ids(&after), cluster_id(&after)), (members.clone(), cluster_id(&before)), "the same members");
        writer.writes(20).await;
        writer.verdict(&after).await;
    }
}
