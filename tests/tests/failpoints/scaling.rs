//! 1 -> 3 and 3 -> 1.

use e2e::etcd::{Etcd, Writer, ids, namespace};

use crate::manager::Manager;
use crate::scenario::{Outcome, dying_after};

const ONE: (usize, usize) = (1, 3);

/// What is done when members come, each of it twice but the last.
const UP: [&str; 5] = [
    r#"Create(Create { kind: ResourceKind { group: "", version: "v1", kind: "Pod""#,
    r#"Apply(Apply { kind: ResourceKind { group: "", version: "v1", kind: "PersistentVolumeClaim""#,
    "change: Add {",
    "change: Promote {",
    r#"kind: "PodDisruptionBudget""#,
];
/// What is done when members go, before it is decided about their volumes.
const DOWN: [&str; 4] = [
    "multi-operator.example.com/retiring",
    "change: Remove {",
    r#"Delete(Delete { kind: ResourceKind { group: "", version: "v1", kind: "Pod""#,
    r#"kind: "PodDisruptionBudget""#,
];

#[tokio::test]
async fn up_and_down_with_volumes_that_go() {
    let mut ns = namespace("failpoints-delete").await;
    ns.be_alone().await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, version: 3.5.35, storage: {onDelete: Delete}}").await;
    let mut first = ids(&etcd.runs(1).await);
    let (writer, manager) = (Writer::start(&etcd).await, Manager::new(&ns.client));
    let volume = r#"Delete(Delete { kind: ResourceKind { group: "", version: "v1", kind: "PersistentVolumeClaim""#;
    for (up, down) in UP.into_iter().zip(DOWN.into_iter().chain([volume])) {
        let grown = Outcome { members: 3, retired: 0, between: ONE };
        let three = dying_after(&manager, (&etcd, &writer), up, etcd.scale(3), &grown).await;
        assert!(first.iter().all(|member| ids(&three).get(member.0) == Some(member.1)), "who was there stays");
        let shrunk = Outcome { members: 1, retired: 0, between: ONE };
        let one = dying_after(&manager, (&etcd, &writer), down, etcd.scale(1), &shrunk).await;
        first = ids(&one);
        assert!(first.iter().all(|member| ids(&three).get(member.0) == Some(member.1)), "who is there was there");
    }
}

#[tokio::test]
async fn down_with_volumes_that_stay() {
    let mut ns = namespace("failpoints-retain").await;
    ns.be_alone().await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.5.35, storage: {onDelete: Retain}}").await;
    etcd.runs(3).await;
    let (writer, manager) = (Writer::start(&etcd).await, Manager::new(&ns.client));
    let mut retired = 0;
    for down in DOWN.into_iter().chain(["multi-operator.example.com/retired"]) {
        // The effect after which the last life was to crash may be performed on the way up, too.
        manager.lives_until("").await;
        etcd.scale(3).await;
        etcd.runs(3).await;
        // No more are kept: docs/etcd-cluster.md.
        retired = (retired + 2).min(5);
        let shrunk = Outcome { members: 1, retired, between: ONE };
        dying_after(&manager, (&etcd, &writer), down, etcd.scale(1), &shrunk).await;
    }
}
