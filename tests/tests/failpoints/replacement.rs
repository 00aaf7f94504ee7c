//! A member whose pod and PVC are deleted.

use e2e::etcd::{Etcd, Writer, cluster_id, ids, namespace};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;

use crate::manager::Manager;
use crate::scenario::{Outcome, dying_after};

#[tokio::test]
async fn of_one_in_three() {
    let mut ns = namespace("failpoints-replace").await;
    ns.be_alone().await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.5.35}").await;
    let mut before = etcd.runs(3).await;
    let (writer, manager) = (Writer::start(&etcd).await, Manager::new(&ns.client));
    for boundary in [
        "change: Remove {",
        r#"Create(Create { kind: ResourceKind { group: "", version: "v1", kind: "Pod""#,
        r#"Apply(Apply { kind: ResourceKind { group: "", version: "v1", kind: "PersistentVolumeClaim""#,
        "change: Add {",
        "change: Promote {",
    ] {
        let (members, acts) = (ids(&before), etcd.acts().await);
        let lost = before.status.as_ref().and_then(|status| status.leader.clone()).expect("a leader");
        let lose = async {
            let claims = ns.api::<PersistentVolumeClaim>();
            claims.delete(&lost, &DeleteParams::default()).await.expect("the claim can be deleted");
            etcd.lose_pods(&[&lost]).await;
        };
        let outcome = Outcome { members: 3, retired: 0, between: (2, 3) };
        let after = dying_after(&manager, (&etcd, &writer), boundary, lose, &outcome).await;
        acts.never_two_at_once();
        let left = ids(&after);
        assert!(!left.contains_key(&lost), "{lost} has lost its data");
        assert_eq!(members.iter().filter(|member| left.get(member.0) == Some(member.1)).count(), 2, "the others stay");
        assert_eq!(cluster_id(&after), cluster_id(&before));
        before = after;
    }
}
