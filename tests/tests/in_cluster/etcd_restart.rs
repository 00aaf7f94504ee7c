//! `kubectl.kubernetes.io/restartedAt` rolls the members, one at a time and as themselves.

use std::time::{Duration, Instant};

use e2e::etcd::{Etcd, Writer, ids, namespace};

#[tokio::test]
async fn each_member_gets_another_pod_and_stays_itself() {
    let ns = namespace("etcd-restart").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let (pods, claims) = (etcd.pod_uids().await, etcd.claim_uids().await);
    let (writer, acts, begun) = (Writer::start(&etcd).await, etcd.acts().await, Instant::now());
    let at = "kubectl.kubernetes.io/restartedAt=2026-01-02T03:04:05Z";
    drop(ns.kubectl(&["annotate", "etcdcluster/web", at]).await.ok());
    ns.eventually("another pod for each", || async {
        let now = etcd.pod_uids().await;
        let other = now.len() == 3 && now.iter().all(|(name, uid)| pods.contains_key(name) && pods[name] != *uid);
        if other { Ok(()) } else { Err(format!("{now:?} instead of {pods:?}")) }
    })
    .await;
    let after = etcd.runs(3).await;
    println!("three members restarted in {:.1?}; other tests ran meanwhile", begun.elapsed());
    assert_eq!((ids(&after), etcd.claim_uids().await), (ids(&before), claims));
    acts.never_two_at_once();
    writer.writes(20).await;
    writer.verdict(&after).await.never_refused_for(Duration::from_secs(5));
    // The same value again requests nothing.
    let pods = etcd.pod_uids().await;
    drop(ns.kubectl(&["annotate", "--overwrite", "etcdcluster/web", at, "unrelated=yes"]).await.ok());
    etcd.runs(3).await;
    assert_eq!(etcd.pod_uids().await, pods);
}
