//! etcd 3.2 and 3.3, which know no learners (what joins votes at once) and, before 3.3, no MoveLeader.

use std::time::{Duration, Instant};

use e2e::etcd::{Etcd, Writer, ids, namespace};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use serde_json::json;

/// How long writes may be refused where the leader cannot hand over: until the others miss its heartbeats, and some.
const REFUSAL: Duration = Duration::from_secs(10);

/// Created, grown from 3 to 5, one member lost with its volume, upgraded to 3.3 and 3.4.
#[tokio::test]
async fn without_learners() {
    let ns = namespace("etcd-old").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.2.13}").await;
    let begun = Instant::now();
    etcd.runs(3).await;
    println!("0 -> 3 with 3.2.13: {:.1?}; other tests ran meanwhile", begun.elapsed());
    let writer = Writer::start(&etcd).await;
    etcd.scale(5).await;
    let five = etcd.runs(5).await;
    writer.verdict(&five).await.never_refused_for(Duration::from_secs(5));

    let lost = ids(&five).into_keys().next().expect("members");
    let claims = ns.api::<PersistentVolumeClaim>();
    claims.delete(&lost, &DeleteParams::default()).await.expect("the claim can be deleted");
    etcd.lose_pods(&[&lost]).await;
    etcd.until("another member", |cluster| (!ids(cluster).contains_key(&lost)).then_some(())).await;
    let healed = etcd.runs(5).await;
    assert!(!ids(&healed).contains_key(&lost));
    writer.verdict(&healed).await;

    for version in ["3.3.25", "3.4.23"] {
        upgrades(&etcd, &writer, version).await;
    }
}

/// All members are rolled to this version, and keep their identity.
async fn upgrades(etcd: &Etcd<'_>, writer: &Writer<'_>, version: &str) {
    let before = ids(&etcd.now().await);
    etcd.patch(json!({ "version": version })).await;
    let upgraded = etcd.runs(before.len()).await;
    assert_eq!(ids(&upgraded), before, "{version}");
    writer.writes(20).await;
    writer.verdict(&upgraded).await.never_refused_for(REFUSAL);
}

/// The archived operator's example, upgraded to the newest version: at least 1,000 acknowledged writes, none lost.
#[tokio::test]
#[ignore = "scripts/test --all long: six versions, one after the other"]
async fn from_3_2_13_to_3_7() {
    let ns = namespace("etcd-oldest").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.2.13}").await;
    etcd.runs(3).await;
    let writer = Writer::start(&etcd).await;
    for size in [5, 3] {
        etcd.scale(size).await;
        let resized = etcd.runs(size).await;
        writer.verdict(&resized).await.never_refused_for(REFUSAL);
    }
    let pods = etcd.pods().await;
    etcd.patch(json!({ "pod": { "etcdEnv": [{ "name": "ETCD_SNAPSHOT_COUNT", "value": "5000" }] } })).await;
    let edited = etcd.runs(3).await;
    assert!(
        etcd.pods()
            .await
            .iter()
            .all(|(name, pod)| pods.get(name).map(|old| &old.metadata.uid) != Some(&pod.metadata.uid))
    );
    writer.verdict(&edited).await.never_refused_for(REFUSAL);
    for version in ["3.3.25", "3.4.23", "3.5.35", "3.6.16", "3.7.3"] {
        upgrades(&etcd, &writer, version).await;
    }
    writer.writes(1000).await;
    let verdict = writer.verdict(&etcd.now().await).await;
    assert!(verdict.acknowledged >= 1000 && verdict.lost == Some(0), "{verdict:#?}");
}
