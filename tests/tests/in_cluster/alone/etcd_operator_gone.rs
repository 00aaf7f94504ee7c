//! etcd runs while no manager does; the next manager repairs what failed meanwhile.

use std::time::Duration;

use e2e::cluster;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use tokio::time::sleep;

/// TestRestartOperator of coreos/etcd-operator.
#[tokio::test]
async fn a_pod_lost_without_a_manager_comes_back_with_it() {
    let mut ns = namespace("etcd-operator").await;
    Etcd::apply(&ns, "web", "{size: 3}").await.runs(3).await;
    ns.be_alone().await;
    let etcd = Etcd { ns: &ns, name: "web" };
    let members = ids(&etcd.runs(3).await);
    let writer = Writer::start(&etcd).await;
    let lost = members.keys().next().expect("members");
    cluster::scale_manager(&ns.client, 0).await;
    etcd.lose_pods(&[lost]).await;
    sleep(Duration::from_secs(5)).await;
    assert!(!etcd.pods().await.contains_key(lost), "another manager acts on it");
    writer.writes(20).await;
    cluster::start_manager(&ns.client).await;
    let after = etcd.runs(3).await;
    assert_eq!(ids(&after), members);
    writer.verdict(&after).await.never_refused_for(Duration::from_secs(10));
}
