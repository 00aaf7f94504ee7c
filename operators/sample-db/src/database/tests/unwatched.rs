//! PVCs whose labels were edited by hand, so that the watch does not show them.

use api::sample_db::UNSAVED_DATA;
use runtime::plan::meta::{INSTANCE, MANAGED_BY, OWNER_KIND};

use super::records::recorded;
use super::server::standing;
use super::*;
use crate::database::unwatched;

/// The same PVC, edited.
fn edited(name: &str, uid: &str, labels: &Value, finalizers: &[&str]) -> Arc<Pvc> {
    let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": uid, "labels": labels,
        "finalizers": finalizers }, "status": { "phase": "Bound" } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

fn unseen(status: &Value) -> Observed {
    let mut seen = standing(&json!({}), status);
    seen.claims = vec![snapshots_claim()];
    seen
}

#[test]
fn pvcs_that_status_names_are_read_by_name() {
    let mut status = initialised();
    status["storage"]["previousClaim"] = json!("data-shop-15");
    status["storage"]["snapshotClaim"] = json!("shop-snapshots");
    let mut seen = observed(&json!({}), &status);
    assert_eq!(unwatched::unwatched_claims(&seen), ["data-shop-0", "data-shop-15", "shop-snapshots"]);
    seen.claims = vec![claim("u-1", "c-1"), snapshots_claim()];
    assert_eq!(unwatched::unwatched_claims(&seen), ["data-shop-15"]);
    status["initialization"] = json!({});
    let new = observed(&json!({ "backup": { "storage": { "existingClaim": "mine" } } }), &status);
    assert_eq!(
        unwatched::unwatched_claims(&new),
        ["data-shop-15"],
        "there is nothing in it, and that one is the user's"
    );
}

#[test]
fn a_pvc_is_the_databases_own_by_its_uid_its_record_or_its_finalizer() {
    let recorded = (*recorded("u-1", &initialised(), &json!({}))).clone();
    let others = (*super::records::recorded("u-0", &initialised(), &json!({}))).clone();
    let bare = |claim: Pvc, uid: &str| {
        let mut claim = claim;
        (claim.labels, claim.meta.uid, claim.meta.finalizers) = (Default::default(), uid.into(), Box::default());
        Arc::new(claim)
    };
    for (claim, own) in [
        (edited("data-shop-0", "c-1", &json!({}), &[]), true),
        (bare(recorded, "c-9"), true),
        (edited("data-shop-0", "c-9", &json!({}), &[UNSAVED_DATA]), true),
        (edited("data-shop-0", "c-9", &json!({}), &[]), false),
        (bare(others, "c-9"), false),
    ] {
        let mut seen = unseen(&initialised());
        unwatched::merge(&mut seen, claim);
        assert_eq!(seen.claim("data-shop-0").is_some(), own);
    }
}

#[test]
fn a_pvc_that_lost_its_labels_gets_them_back_and_is_not_reported_as_deleted() {
    for label in [MANAGED_BY, INSTANCE, OWNER_KIND] {
        let mut labels = labels_of("u-1");
        labels.as_object_mut().unwrap().remove(label);
        let mut seen = unseen(&initialised());
        unwatched::merge(&mut seen, edited("data-shop-0", "c-1", &labels, &[UNSAVED_DATA]));
        let plan = crate::database::plan::plan(&seen, now());
        let Some(Effect::Apply(mark)) = plan.effects.first() else { panic!("{:?}", plan.effects) };
        assert_eq!((&*mark.key.name, &mark.body["metadata"]["labels"]), ("data-shop-0", &labels_of("u-1")));
        let event =
            plan.events_after_effects.iter().find(|event| &*event.reason == "LabelsRestored").expect("it is reported");
        assert!(event.message.contains("data-shop-0"), "{}", event.message);
        assert_ne!(reason(&plan.status.unwrap(), "StorageHealthy").1, "VolumeMissing");
    }
}

#[test]
fn data_on_a_pvc_that_lost_its_labels_is_saved_before_the_database_is_deleted() {
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let mut seen = with(&meta, &json!({}), &initialised());
    seen.claims = vec![snapshots_claim()];
    unwatched::merge(&mut seen, edited("data-shop-0", "c-1", &json!({}), &[UNSAVED_DATA]));
    assert_eq!(done(&plan(&seen, now())), ["create SampleDBSnapshot shop-final-u1"]);
}
