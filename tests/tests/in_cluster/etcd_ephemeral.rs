//! Members that keep their data in their pods.

use std::time::Duration;

use api::ConditionStatus;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::objects::ManagedKind;
use serde_json::json;

/// An upgrade keeps pods, and with them the data; a pod that is lost is a member that is lost (TestOneMemberRecovery of
/// coreos/etcd-operator, as it was there).
#[tokio::test]
async fn an_upgrade_keeps_data_and_a_lost_pod_is_another_member() {
    let ns = namespace("etcd-ephemeral").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.5.35, storage: {ephemeral: true}}").await;
    let before = etcd.runs(3).await;
    let durable = before.condition("Durable").expect("a condition");
    assert_eq!((durable.status, &*durable.reason), (ConditionStatus::False, "Ephemeral"));
    assert!(etcd.claims().await.is_empty());
    let (pods, writer) = (etcd.pod_uids().await, Writer::start(&etcd).await);
    etcd.patch(json!({ "version": "3.6.16" })).await;
    let upgraded = etcd.runs(3).await;
    assert_eq!((ids(&upgraded), etcd.pod_uids().await), (ids(&before), pods));
    writer.verdict(&upgraded).await.never_refused_for(Duration::from_secs(5));

    let lost = upgraded.status.as_ref().and_then(|status| status.leader.clone()).expect("a leader");
    etcd.lose_pods(&[&lost]).await;
    etcd.until("another member", |cluster| (!ids(cluster).contains_key(&lost)).then_some(())).await;
    let healed = etcd.runs(3).await;
    assert!(!ids(&healed).contains_key(&lost), "{:?}", ids(&healed));
    etcd.announces("Replacing Dead Member").await;
    writer.writes(20).await;
    writer.verdict(&healed).await.never_refused_for(Duration::from_secs(10));
}
