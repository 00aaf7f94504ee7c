//! etcd 3.3, which knows no learners: what joins votes at once.

use std::time::{Duration, Instant};

use e2e::etcd::{Etcd, Writer, ids, namespace};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use serde_json::json;

/// Created, grown from 3 to 5, one member lost with its volume, upgraded to 3.4.
#[tokio::test]
async fn without_learners() {
    let ns = namespace("etcd-old").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.3.25}").await;
    let begun = Instant::now();
    etcd.stands(3).await;
    println!("0 -> 3 with 3.3.25: {:.1?}, beside other tests", begun.elapsed());
    let writer = Writer::start(&etcd).await;
    etcd.scale(5).await;
    let five = etcd.stands(5).await;
    writer.verdict(&five).await.never_refused_for(Duration::from_secs(5));

    let lost = ids(&five).into_keys().next().expect("members");
    let claims = ns.api::<PersistentVolumeClaim>();
    claims.delete(&lost, &DeleteParams::default()).await.expect("the claim can be deleted");
    etcd.lose_pods(&[&lost]).await;
    etcd.until("another member", |cluster| (!ids(cluster).contains_key(&lost)).then_some(())).await;
    let healed = etcd.stands(5).await;
    assert!(!ids(&healed).contains_key(&lost));
    writer.verdict(&healed).await;

    etcd.patch(json!({ "version": "3.4.23" })).await;
    let upgraded = etcd.stands(5).await;
    assert_eq!(ids(&upgraded), ids(&healed));
    writer.writes(20).await;
    writer.verdict(&upgraded).await.never_refused_for(Duration::from_secs(10));
}
