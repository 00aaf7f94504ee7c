//! Status vanishes at random moments: the operator recovers it from volumes and live servers, and initializes nothing again.

use std::time::Duration;

use api::etcd_cluster::EtcdCluster;
use api::sample_db::SampleDB;
use e2e::erasing::{erase_status, erase_status_with_retries};
use e2e::etcd::{self, Etcd, cluster_id, ids};
use e2e::namespace::Namespace;
use e2e::sample_db::{self, Database};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use kube::api::PropagationPolicy;
use proptest::prelude::Rng;
use proptest::test_runner::TestRng;
use serde_json::json;

/// How often status is erased in each phase of a life; in a deletion, as often as that lasts.
const TIMES: usize = 20;
/// The longest time between two erasures, in milliseconds: most phases take several times as long.
const APART: u64 = 1500;
/// The same in a deletion, which is soon over.
const APART_IN_THE_END: u64 = 300;

#[tokio::test]
async fn an_etcd_cluster_is_the_one_that_it_was() {
    let ns = etcd::namespace("etcd-status").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let (pods, claims, writer) = (etcd.pod_uids().await, etcd.claim_uids().await, etcd::Writer::start(&etcd).await);
    erase_status_with_retries(&ns, "etcdcluster/web").await;
    let after = etcd.runs(3).await;
    assert_eq!((ids(&after), cluster_id(&after)), (ids(&before), cluster_id(&before)));
    assert_eq!((etcd.pod_uids().await, etcd.claim_uids().await), (pods, claims));
    writer.verdict(&after).await;
}

/// Erases a status as often as a phase has it, at random moments.
async fn erased(ns: &Namespace, object: &str, rng: &mut TestRng) -> usize {
    erased_at(ns, object, rng, APART).await
}

async fn erased_at(ns: &Namespace, object: &str, rng: &mut TestRng, apart: u64) -> usize {
    let mut times = 0;
    while times < TIMES {
        // The moments are the fault that is injected: nothing is waited for.
        tokio::time::sleep(Duration::from_millis(rng.next_u64() % apart)).await;
        if ns.kubectl(&["get", object]).await.success {
            times += usize::from(erase_status(ns, object).await);
        } else {
            break;
        }
    }
    times
}

#[tokio::test]
#[ignore = "scripts/test --all long: a life of an EtcdCluster, with pauses in each of its phases"]
async fn at_random_moments_of_an_etcd_clusters_life() {
    let (ns, mut rng) = (etcd::namespace("etcd-forgets").await, seed::rng!());
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.5.35}").await;
    let history = etcd.record().await;
    let mut times = erased(&ns, "etcdcluster/web", &mut rng).await;
    etcd.runs(3).await;
    let writer = etcd::Writer::start(&etcd).await;
    for (spec, members) in [
        (json!({ "size": 5 }), 5),
        (json!({ "version": "3.6.16" }), 5),
        (json!({ "pod": { "labels": { "edited": "yes" } } }), 5),
        (json!({ "size": 3 }), 3),
    ] {
        etcd.patch(spec).await;
        times += erased(&ns, "etcdcluster/web", &mut rng).await;
        let stands = etcd.runs(members).await;
        writer.verdict(&stands).await;
    }
    let last = etcd.runs(3).await;
    let (member, claims) = (ids(&last).into_keys().next().expect("members"), etcd.claim_uids().await);
    writer.stop().await;
    drop(etcd.etcdctl(&member, &["put", "greeting", "hello"]).await.ok());
    drop(ns.kubectl(&["delete", "etcdcluster/web", "--wait=false"]).await.ok());
    let in_the_end = erased_at(&ns, "etcdcluster/web", &mut rng, APART_IN_THE_END).await;
    ns.until_deleted::<EtcdCluster>("web").await;
    assert_eq!(etcd.claim_uids().await, claims, "the volumes are kept");
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.6.16}").await;
    let adopt = format!("example.com/adopt={}", last.uid().expect("a uid"));
    drop(ns.kubectl(&["annotate", "etcdcluster/web", &adopt]).await.ok());
    assert_eq!(cluster_id(&etcd.runs(3).await), cluster_id(&last));
    assert_eq!(etcd.etcdctl(&member, &["get", "greeting", "--print-value-only"]).await.ok().trim(), "hello");
    let known: std::collections::BTreeSet<String> =
        history.objects().iter().filter_map(|seen: &EtcdCluster| cluster_id(seen).map(str::to_owned)).collect();
    assert_eq!(known.len(), 1, "one cluster all the time: {known:?}");
    println!("status was erased {times} times, and {in_the_end} times in the deletion; no acknowledged key was lost");
    assert!(times == 5 * TIMES && in_the_end > 0, "{times}");
}

#[tokio::test]
#[ignore = "scripts/test --all long: a life of a SampleDB, with pauses in each of its phases"]
async fn at_random_moments_of_a_sample_dbs_life() {
    let (ns, mut rng) = (sample_db::namespace("sdb-forgets").await, seed::rng!());
    let spec =
        "{engine: {version: '15.18'}, backup: {immediate: false}, storage: {storageClassName: sized-expandable}}";
    let db = Database::apply(&ns, "shop", spec).await;
    let mut times = erased(&ns, "sampledb/shop", &mut rng).await;
    db.serves().await;
    let writer = sample_db::Writer::start(db).await;
    db.order("by-hand", "").await;
    times += erased(&ns, "sampledb/shop", &mut rng).await;
    db.verified("by-hand").await;
    for (parameter, size, wanted) in [("55", "1Gi", "the pod to be replaced"), ("55", "2Gi", "the volume to grow")] {
        let parameters = json!({ "max_connections": parameter });
        db.patch(json!({ "engine": { "parameters": parameters }, "storage": { "size": size } })).await;
        times += erased(&ns, "sampledb/shop", &mut rng).await;
        ns.eventually(wanted, || async {
            let shown = db.try_asks("show max_connections").await?;
            let claims =
                ns.api::<PersistentVolumeClaim>().get("data-shop-0").await.map_err(|error| error.to_string())?;
            let capacity = claims.status.and_then(|status| status.capacity?.get("storage").map(|size| size.0.clone()));
            if shown == parameter && capacity.as_deref() == Some(size) {
                Ok(())
            } else {
                Err(format!("{shown} {capacity:?}"))
            }
        })
        .await;
        db.serves().await;
        writer.writes(5).await;
    }
    for version in ["15.20", "17.12"] {
        db.patch(json!({ "engine": { "version": version } })).await;
        times += erased(&ns, "sampledb/shop", &mut rng).await;
        let what = format!("{version} to run");
        ns.until::<SampleDB, ()>("shop", &what, |db| {
            let running = db?.status.as_ref()?.engine.running.as_deref()?;
            (running == version).then_some(())
        })
        .await;
        db.serves().await;
        writer.writes(5).await;
        let (rows, _) = writer.verdict().await;
        println!("{version}: {rows} acknowledged rows, none lost");
    }
    drop(ns.kubectl(&["delete", "pod/shop-writer", "--wait=true"]).await.ok());
    // What the writer had sent when it was killed may come in after this.
    let rows: u64 = db.asks("select count(*) from written").await.parse().expect("a number");
    db.delete(PropagationPolicy::Background).await;
    let in_the_end = erased_at(&ns, "sampledb/shop", &mut rng, APART_IN_THE_END).await;
    db.is_deleted().await;
    let last = db.last_snapshot().await.expect("a last snapshot").name_any();
    db.verified(&last).await;
    let spec = format!("{{bootstrap: {{fromSnapshot: {{name: {last}}}}}, backup: {{immediate: false}}}}");
    let again = Database::apply(&ns, "again", &spec).await;
    again.serves().await;
    let restored: u64 = again.asks("select count(*) from written").await.parse().expect("a number");
    assert!(restored >= rows, "{restored} rows of {rows}");
    println!("status was erased {times} times, and {in_the_end} times in the deletion; no acknowledged row was lost");
    assert!(times == 6 * TIMES && in_the_end > 0, "{times}");
}
