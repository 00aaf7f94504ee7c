//! EtcdClusters that foreign objects are in the way of, or whose own pods were edited by hand.

use std::time::Duration;

use e2e::cluster;
use e2e::etcd::{self, Etcd, ids};
use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::count::counted;
use super::{Says, Server, Wedge, reached, state};
use crate::etcd_diagnosis::earlier_pod;

/// The operator polls members frequently until none of them has changed for two minutes, and rarely from then on; a minute more.
pub const SETTLES: Duration = Duration::from_secs(180);
pub const WEB: &str = "etcdcluster/web";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const CLUSTER: &str = "etcd_cluster";

#[tokio::test]
#[ignore = "scripts/test --all long: minutes in which nothing gets better are counted"]
async fn an_etcd_cluster_that_something_is_in_the_way_of_costs_little() {
    let turn = etcd::namespace("wedged-etcd").await;
    let audit = cluster::audit();
    let (wedges, mut wrong) = reached(vec![
        state("claims of an earlier EtcdCluster with another uid", &turn, foreign_claims),
        state("pods of an earlier operator before the first member", &turn, foreign_pods),
        state("labels removed from members' pods, and a foreign pod that has them", &turn, edited_labels),
        state("a member's pod that is disowned: managed-by and owner removed", &turn, disowned_pod),
    ])
    .await;
    wrong.extend(counted(&audit, &wedges, SETTLES).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn foreign_claims(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    etcd.runs(1).await;
    drop(ns.kubectl(&["delete", WEB, "--wait=true"]).await.ok());
    ns.eventually("its pod to be deleted", || async {
        let left = etcd.pods().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{:?}", left.keys())) }
    })
    .await;
    Etcd::apply(&ns, "web", "{size: 1}").await;
    Wedge::reached(ns, Says::stalled(WEB, "VolumesFound"), Server::None).await
}

async fn foreign_pods(ns: Namespace) -> Wedge {
    ns.apply(&earlier_pod()).await;
    Etcd::apply(&ns, "web", "{size: 3}").await;
    Wedge::reached(ns, Says::stalled(WEB, "ForeignPods"), Server::None).await
}

/// A pod that no EtcdCluster owns, with all labels of a member's.
async fn foreign_pod(ns: &Namespace, member: &str) -> String {
    let mut pod: Value = serde_json::from_str(&earlier_pod()).expect("a pod");
    let name = pod["metadata"]["labels"]["etcd_node"].clone();
    pod["metadata"]["labels"] = json!(ns.get::<Pod>(member).await.labels());
    pod["metadata"]["labels"]["etcd_node"] = name;
    pod.to_string()
}

/// The operator restores them, so this counts what it does once that is done, and the foreign pod alone is left.
async fn edited_labels(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let members: Vec<String> = ids(&etcd.runs(3).await).into_keys().collect();
    ns.apply(&foreign_pod(&ns, &members[0]).await).await;
    for (member, label) in [(&members[0], MANAGED_BY), (&members[1], CLUSTER)] {
        let answer = ns.kubectl(&["label", &format!("pod/{member}"), &format!("{label}-")]).await.ok();
        assert!(answer.contains("unlabeled"), "{answer}");
    }
    for (member, label) in [(&members[0], MANAGED_BY), (&members[1], CLUSTER)] {
        let what = format!("the pod {member} to have its label {label} again");
        ns.until::<Pod, ()>(member, &what, |pod| pod?.labels().contains_key(label).then_some(())).await;
    }
    Wedge::reached(ns, Says::stalled(WEB, "ForeignPods"), Server::None).await
}

/// Neither a label nor an owner says any more that it is the cluster's, so a foreign pod has a member's name.
async fn disowned_pod(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let member = ids(&etcd.runs(3).await).into_keys().next().expect("a member");
    let patch = json!([
        { "op": "remove", "path": "/metadata/ownerReferences" },
        { "op": "remove", "path": "/metadata/labels/app.kubernetes.io~1managed-by" },
    ]);
    let (pod, patch) = (format!("pod/{member}"), patch.to_string());
    drop(ns.kubectl(&["patch", &pod, "--type=json", "--patch", &patch]).await.ok());
    Wedge::reached(ns, Says::stalled(WEB, "NameTaken"), Server::None).await
}
