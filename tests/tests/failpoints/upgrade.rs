//! From one minor version to the next, member by member.

use e2e::etcd::{Etcd, Writer, ids, namespace};
use serde_json::json;

use crate::manager::Manager;
use crate::scenario::{Outcome, dying_after};

#[tokio::test]
async fn of_three() {
    let mut ns = namespace("failpoints-upgrade").await;
    ns.be_alone().await;
    let manager = Manager::new(&ns.client);
    let image = r#"Apply(Apply { kind: ResourceKind { group: "", version: "v1", kind: "Pod""#;
    for (name, boundary) in [("image", image), ("leader", "change: MoveLeader {")] {
        let etcd = Etcd::apply(&ns, name, "{size: 3, version: 3.5.35}").await;
        let before = ids(&etcd.runs(3).await);
        let (pods, claims) = (etcd.pod_uids().await, etcd.claim_uids().await);
        let (writer, acts) = (Writer::start(&etcd).await, etcd.acts().await);
        let upgrade = etcd.patch(json!({ "version": "3.6.16" }));
        let outcome = Outcome { members: 3, retired: 0, between: (3, 3) };
        let after = dying_after(&manager, (&etcd, &writer), boundary, upgrade, &outcome).await;
        acts.never_two_at_once();
        assert_eq!((ids(&after), etcd.pod_uids().await, etcd.claim_uids().await), (before, pods, claims));
        drop(ns.kubectl(&["delete", &format!("etcdcluster/{name}"), &format!("pod/{name}-writer")]).await.ok());
    }
}
