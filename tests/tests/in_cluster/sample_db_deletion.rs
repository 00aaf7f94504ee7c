//! How a database is deleted when something fails: what is kept, what is reported, and that nothing gets stuck.

use api::ConditionStatus;
use api::sample_db::{SampleDB, UNSAVED_DATA};
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotPhase};
use e2e::namespace::Namespace;
use e2e::sample_db::{Database, message, namespace, until_event};
use k8s_openapi::api::core::v1::{Namespace as Core, PersistentVolumeClaim, Pod, Secret};
use kube::Api;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::json;

const QUIET: &str = "{backup: {immediate: false}}";
const FILL: &str = "create table notes as select a from generate_series(1, 100) a";
const COUNT: &str = "select count(*) from notes";

async fn create_database<'a>(ns: &'a Namespace, name: &'static str, spec: &str) -> Database<'a> {
    let db = Database::apply(ns, name, spec).await;
    db.serves().await;
    db.asks(FILL).await;
    db
}

/// Deleted twice: as a database whose volume is retained, and as the one that took it over.
#[tokio::test]
async fn a_retained_volume_is_taken_over_by_the_database_that_its_annotation_names() {
    let ns = namespace("sdb-retain").await;
    let db = create_database(&ns, "shop", "{backup: {immediate: false}, deletion: {policy: Retain}}").await;
    let old = ns.get::<SampleDB>("shop").await.uid().expect("a uid");
    db.delete(PropagationPolicy::Foreground).await;
    db.is_deleted().await;
    let claim = ns.get::<PersistentVolumeClaim>("data-shop-0").await;
    assert!(claim.metadata.deletion_timestamp.is_none() && claim.labels().values().any(|uid| *uid == old), "{claim:?}");
    assert!(!claim.finalizers().iter().any(|held| held == UNSAVED_DATA), "it is the user's to delete: {claim:?}");
    for name in ["shop-app", "shop-system"] {
        ns.get::<Secret>(name).await;
    }
    assert!(db.last_snapshot().await.is_none(), "nothing was asked for");

    let again = Database::apply(&ns, "shop", QUIET).await;
    let report = again.says("Stalled", ConditionStatus::True, "VolumeLeft").await;
    let annotation = format!("example.com/adopt={old}");
    assert!(report.contains(&annotation), "it says what to do: {report}");
    drop(ns.kubectl(&["annotate", "sampledb/shop", &annotation]).await.ok());
    again.serves().await;
    assert_eq!(again.asks(COUNT).await, "100");
    again.delete(PropagationPolicy::Background).await;
    again.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-shop-0").await;
    for name in ["shop-app", "shop-system"] {
        ns.until_deleted::<Secret>(name).await;
    }
    assert!(again.last_snapshot().await.is_some(), "it was saved first");
}

#[tokio::test]
async fn a_database_that_is_not_or_cannot_be_saved_is_deleted_as_its_spec_says() {
    let ns = namespace("sdb-unsaved").await;
    // Neither has ever had data: nothing runs that image.
    let never = Database::apply(&ns, "never", "{engine: {image: 'localhost/nowhere:17.1'}}").await;
    let dropped =
        create_database(&ns, "dropped", "{backup: {immediate: false}, deletion: {policy: Delete, protection: true}}")
            .await;
    dropped.delete(PropagationPolicy::Background).await;
    dropped.says("DeletionBlocked", ConditionStatus::True, "Protected").await;
    until_event(&ns, "dropped", "DeletionBlocked").await;
    assert_eq!(dropped.asks(COUNT).await, "100", "it serves as before");
    dropped.patch(json!({ "deletion": { "protection": false } })).await;
    dropped.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-dropped-0").await;
    assert!(dropped.last_snapshot().await.is_none());

    never.delete(PropagationPolicy::Foreground).await;
    never.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-never-0").await;
    assert!(never.last_snapshot().await.is_none());
}

/// Spoils the data of a database, so that no server starts on them, and has its pod feel it.
async fn spoil(ns: &Namespace, name: &str) {
    let pod = format!("{name}-0");
    let script = "rm -rf /var/lib/postgresql/data/pgdata/global && touch /var/lib/postgresql/data/pgdata/global";
    drop(ns.kubectl(&["exec", &pod, "--container=postgres", "--", "bash", "-c", script]).await.ok());
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    ns.api::<Pod>().delete(&pod, &now).await.expect("the pod can be deleted");
}

#[tokio::test]
async fn data_that_no_server_starts_on_is_kept_unless_the_spec_says_otherwise() {
    let ns = namespace("sdb-spoilt").await;
    let kept = create_database(&ns, "kept", QUIET).await;
    let dropped =
        create_database(&ns, "dropped", "{backup: {immediate: false}, deletion: {onSnapshotFailure: Proceed}}").await;
    for name in ["kept", "dropped"] {
        spoil(&ns, name).await;
    }
    kept.delete(PropagationPolicy::Foreground).await;
    dropped.delete(PropagationPolicy::Foreground).await;
    dropped.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-dropped-0").await;
    until_event(&ns, "dropped", "FinalSnapshotSkipped").await;
    let report = kept.says("DeletionBlocked", ConditionStatus::True, "FinalSnapshotFailed").await;
    assert!(report.contains("example.com/skip-final-snapshot=kept"), "it says what to do: {report}");
    println!("a deletion that is blocked says: {report}");
    let claim = ns.get::<PersistentVolumeClaim>("data-kept-0").await;
    assert!(claim.metadata.deletion_timestamp.is_none(), "the data stay");
    // The value is the name, so that one command cannot release all of them.
    drop(ns.kubectl(&["annotate", "sampledb/kept", "example.com/skip-final-snapshot=true"]).await.ok());
    ns.get::<PersistentVolumeClaim>("data-kept-0").await;
    drop(ns.kubectl(&["annotate", "--overwrite", "sampledb/kept", "example.com/skip-final-snapshot=kept"]).await.ok());
    kept.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-kept-0").await;
}

/// A foreground deletion deletes the server at once, and with it the source of the backup.
#[tokio::test]
async fn a_backup_under_way_holds_no_deletion_up() {
    let ns = namespace("sdb-busy").await;
    let (busy, calm) = (create_database(&ns, "busy", QUIET).await, create_database(&ns, "calm", QUIET).await);
    // So that backups take a while.
    for db in [busy, calm] {
        db.asks("create table heap as select a, repeat(md5(a::text), 20) from generate_series(1, 100000) a").await;
    }
    for (db, propagation) in [(busy, PropagationPolicy::Foreground), (calm, PropagationPolicy::Background)] {
        let name = format!("{}-by-hand", db.name);
        db.order(&name, "").await;
        ns.until::<SampleDBSnapshot, ()>(&name, "a backup under way", |snapshot| {
            let status = snapshot?.status.as_ref()?;
            // Taken, it is still Running until it is verified.
            (status.phase == Some(SnapshotPhase::Running) && status.completed_at.is_none()).then_some(())
        })
        .await;
        db.delete(propagation).await;
    }
    for db in [busy, calm] {
        db.is_deleted().await;
        let last = db.last_snapshot().await.expect("a last snapshot").name_any();
        db.verified(&last).await;
    }
    calm.verified("calm-by-hand").await;
    // Too late: there is nothing to take it of any more.
    calm.order("late", "").await;
    let late = calm.snapshot_says("late", ConditionStatus::False, "SampleDBMissing").await;
    assert!(message(&late).contains("calm"), "{}", message(&late));
    let spec = format!("{{bootstrap: {{fromSnapshot: {{name: {}}}}}, backup: {{immediate: false}}}}", {
        busy.last_snapshot().await.expect("a last snapshot").name_any()
    });
    let again = Database::apply(&ns, "again", &spec).await;
    again.serves().await;
    assert_eq!(again.asks("select count(*) from heap").await, "100000");
}

/// The effect of `kubectl delete pvc,sampledb --selector`: the PVC is deleted first.
#[tokio::test]
async fn a_deleted_pvc_keeps_its_data_until_it_is_saved() {
    let ns = namespace("sdb-claim").await;
    let (saved, lost) = (create_database(&ns, "saved", QUIET).await, create_database(&ns, "lost", QUIET).await);
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    for db in [saved, lost] {
        let claim = format!("data-{}-0", db.name);
        ns.api::<PersistentVolumeClaim>().delete(&claim, &now).await.expect("the claim can be deleted");
        let report = db.says("Stalled", ConditionStatus::True, "ClaimTerminating").await;
        assert!(report.contains(&claim), "it names the PVC: {report}");
        assert_eq!(db.asks(COUNT).await, "100", "it serves as before");
    }
    saved.delete(PropagationPolicy::Background).await;
    saved.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-saved-0").await;
    let last = saved.last_snapshot().await.expect("a last snapshot").name_any();
    saved.verified(&last).await;
    let spec = format!("{{bootstrap: {{fromSnapshot: {{name: {last}}}}}, backup: {{immediate: false}}}}");
    let again = Database::apply(&ns, "again", &spec).await;
    again.serves().await;
    assert_eq!(again.asks(COUNT).await, "100");

    // Its server is deleted, too: nothing can read the data any more, and nothing deletes it.
    ns.api::<Pod>().delete("lost-0", &now).await.expect("the pod can be deleted");
    lost.delete(PropagationPolicy::Foreground).await;
    let report = lost.says("DeletionBlocked", ConditionStatus::True, "ClaimTerminating").await;
    assert!(report.contains("persistentVolumeReclaimPolicy"), "it says how to keep the data: {report}");
    ns.get::<PersistentVolumeClaim>("data-lost-0").await;
    drop(ns.kubectl(&["annotate", "sampledb/lost", "example.com/skip-final-snapshot=lost"]).await.ok());
    lost.is_deleted().await;
    ns.until_deleted::<PersistentVolumeClaim>("data-lost-0").await;
}

/// Nothing can be created in a terminating namespace, so nothing holds it.
#[tokio::test]
async fn a_namespace_is_deleted_with_all_that_is_in_it() {
    let ns = namespace("sdb-namespace").await;
    let db = create_database(&ns, "shop", QUIET).await;
    db.order("begun", "").await;
    ns.until::<SampleDBSnapshot, ()>("begun", "a snapshot that is held", |it| {
        (!it?.finalizers().is_empty()).then_some(())
    })
    .await;
    let spaces: Api<Core> = Api::all(ns.client.clone());
    let begun = std::time::Instant::now();
    spaces.delete(&ns.name, &DeleteParams::default()).await.expect("the namespace can be deleted");
    ns.eventually("the namespace to be deleted", || async {
        match spaces.get_opt(&ns.name).await {
            Ok(None) => Ok(()),
            Ok(Some(space)) => Err(format!("{:?}", space.status)),
            Err(error) => Err(error.to_string()),
        }
    })
    .await;
    println!("a namespace with a database and a snapshot is deleted after {:.1?}", begun.elapsed());
    let left = Api::<SampleDBSnapshot>::namespaced(ns.client.clone(), &ns.name).list(&ListParams::default()).await;
    assert!(left.expect("snapshots can be listed").items.is_empty());
}
