//! Databases that have reached their quota, or have much space that is not in use.

use std::time::{Duration, Instant};

use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::namespace::Namespace;
use serde_json::{Value, json};

/// The same key is written again and again, so that its earlier revisions fill the quota.
#[tokio::test]
async fn room_is_made_for_writes_without_help() {
    let ns = namespace("etcd-space").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, quota: 48Mi}").await;
    let before = etcd.runs(3).await;
    let member = ids(&before).into_keys().next().expect("a member");
    etcd.put("kept", "from before").await;
    let mut last = 0;
    while put(&ns, &member, &format!("{last:07}{}", "x".repeat(1_000_000))).await {
        last += 1;
        assert!(last < 200, "the quota is reached");
    }
    let begun = Instant::now();
    etcd.reports(&["alarm NOSPACE"]).await;
    let after = etcd.runs(3).await;
    println!(
        "{last} puts of 1 MB reached the quota of 48 MiB; writes are accepted again after {:.1?}",
        begun.elapsed()
    );
    assert_eq!(ids(&after), ids(&before));
    assert_eq!(etcd.value("kept").await, "from before");
    assert!(etcd.value("key").await.starts_with(&format!("{:07}", last - 1)), "the last acknowledged value");
    assert!(put(&ns, &member, "again").await);
}

/// Puts a value of the key `key` through a member. Whether etcd accepts it.
async fn put(ns: &Namespace, member: &str, value: &str) -> bool {
    let put = ["exec", "--stdin", member, "--container=etcd", "--", "/usr/local/bin/etcdctl", "put", "key"];
    ns.kubectl_with(value, &put).await.success
}

/// What a member reports of itself.
async fn status(etcd: &Etcd<'_>, member: &str) -> Value {
    let said = etcd.etcdctl(member, &["endpoint", "status", "--write-out=json"]).await.ok();
    let status: Value = serde_json::from_str(&said).expect("JSON");
    status[0]["Status"].clone()
}

/// The size of the largest database, in bytes.
async fn largest(etcd: &Etcd<'_>, members: &[String]) -> u64 {
    let mut largest = 0;
    for member in members {
        largest = largest.max(status(etcd, member).await["dbSize"].as_u64().expect("a number"));
    }
    largest
}

/// Leaves 40 MB of earlier revisions that nothing uses.
async fn fragment(etcd: &Etcd<'_>, member: &str) {
    for round in 0..40 {
        assert!(put(etcd.ns, member, &format!("{round:07}{}", "x".repeat(1_000_000))).await);
    }
    let revision = status(etcd, member).await["header"]["revision"].to_string();
    drop(etcd.etcdctl(member, &["compact", &revision, "--physical"]).await.ok());
}

/// By the spec, and then on request, under writes.
#[tokio::test]
async fn databases_are_defragmented_one_after_the_other() {
    let ns = namespace("etcd-defragmentation").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, quota: 200Mi}").await;
    let before = etcd.runs(3).await;
    let members: Vec<String> = ids(&before).into_keys().collect();
    fragment(&etcd, &members[0]).await;
    let writer = Writer::start(&etcd).await;
    let full = largest(&etcd, &members).await;
    assert!(full > 40_000_000, "{full}");

    let policy = json!({ "unusedPercent": 60, "window": { "schedule": "* * * * *", "duration": "1h" } });
    etcd.patch(json!({ "defragmentation": policy })).await;
    let shrunk = ns
        .eventually("small databases", || async {
            let largest = largest(&etcd, &members).await;
            if largest < 20_000_000 { Ok(largest) } else { Err(format!("the largest has {largest} bytes")) }
        })
        .await;
    println!("databases of {full} bytes have {shrunk} after an automatic defragmentation");

    drop(ns.kubectl(&["annotate", "etcd", "web", "example.com/defragment=now"]).await.ok());
    println!("{}", etcd.announces("Defragmented").await);
    let after = etcd.runs(3).await;
    let request = after.status.as_ref().and_then(|status| status.defragmentation.clone()).expect("a record");
    assert_eq!((request.request.as_str(), request.pending.len()), ("now", 0));
    assert_eq!(ids(&after), ids(&before));
    writer.writes(20).await;
    writer.verdict(&after).await.never_refused_for(Duration::from_secs(5));
}
