//! A manager that is killed leaves nothing of a SampleDB undone.

use api::sample_db::SampleDB;
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use e2e::sample_db::{Database, namespace};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use kube::{Api, ResourceExt};

/// Kills the manager's pod.
async fn kill_manager(ns: &Namespace) {
    let pods: Api<Pod> = Api::namespaced(ns.client.clone(), e2e::cluster::SYSTEM);
    let all = pods.list(&ListParams::default()).await.expect("pods can be listed");
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    for pod in all.items {
        pods.delete(&pod.name_any(), &now).await.expect("the manager's pod can be deleted");
    }
}

/// Halfway through each of the three: the next manager continues what was begun, and does nothing twice.
#[tokio::test]
async fn a_manager_that_dies_meanwhile_leaves_nothing_undone() {
    let mut ns = namespace("sdb-killed").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    db.asks("create table notes as select a, md5(a::text) b from generate_series(1, 30000) a").await;
    ns.be_alone().await;
    let db = Database { ns: &ns, name: "shop" };
    db.order("by-hand", "").await;
    ns.until::<SampleDBSnapshot, ()>("by-hand", "a backup under way", |it| it?.status.as_ref()?.job.as_ref().map(drop))
        .await;
    kill_manager(&ns).await;
    let snapshot = db.verified("by-hand").await;
    let spec = "{bootstrap: {fromSnapshot: {name: by-hand}}, backup: {immediate: false}}";
    let again = Database::apply(&ns, "again", spec).await;
    ns.until::<SampleDB, ()>("again", "a restore under way", |db| db?.status.as_ref()?.restore.job.as_ref().map(drop))
        .await;
    kill_manager(&ns).await;
    again.serves().await;
    assert_eq!(again.asks("select count(*), count(distinct a) from notes").await, "30000|30000");
    again.delete(PropagationPolicy::Foreground).await;
    ns.until::<SampleDB, ()>("again", "a deletion under way", |db| {
        db?.status.as_ref()?.deletion.final_snapshot.as_ref().map(drop)
    })
    .await;
    kill_manager(&ns).await;
    again.is_deleted().await;
    let last = again.last_snapshot().await.expect("a last snapshot");
    assert!(last.is_ready(), "{last:?}");
    let all = ns.api::<SampleDBSnapshot>().list(&ListParams::default()).await.expect("snapshots can be listed");
    assert_eq!(all.items.len(), 2, "one by hand, and one at the end");
    assert_eq!(snapshot.metadata.uid, ns.get::<SampleDBSnapshot>("by-hand").await.metadata.uid);
    e2e::cluster::start_manager(&ns.client).await;
}
