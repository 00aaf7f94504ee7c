//! Databases that have reached their quota.

use std::time::Instant;

use e2e::etcd::{Etcd, ids, namespace};

/// The same key is written again and again, so that its earlier revisions fill the quota.
#[tokio::test]
async fn room_is_made_for_writes_without_help() {
    let ns = namespace("etcd-space").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, quota: 48Mi}").await;
    let before = etcd.runs(3).await;
    let member = ids(&before).into_keys().next().expect("a member");
    etcd.put("kept", "from before").await;
    let put = async |value: String| {
        let put = ["exec", "--stdin", &member, "--container=etcd", "--", "/usr/local/bin/etcdctl", "put", "key"];
        ns.kubectl_with(&value, &put).await
    };
    let mut last = 0;
    while put(format!("{last:07}{}", "x".repeat(1_000_000))).await.success {
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
    assert!(put("again".to_owned()).await.success);
}
