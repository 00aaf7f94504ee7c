//! What PVCs record about a database, and what is restored from it.

use api::sample_db::{ADOPT, UNSAVED_DATA};

use super::server::standing;
use super::*;
use crate::database::record::{RECORD, RETAINED, VolumeRecord};

/// A PVC with the record of a database of that status.
pub(super) fn recorded(owner: &str, status: &Value, more: &Value) -> Arc<Pvc> {
    let seen = with(&json!({ "uid": owner, "finalizers": [FINAL_SNAPSHOT] }), &json!({}), status);
    let mut annotations = json!({ RECORD: VolumeRecord::of(&seen.db).unwrap().text() });
    for (name, value) in more["annotations"].as_object().into_iter().flatten() {
        annotations[name] = value.clone();
    }
    let mut metadata = json!({ "namespace": "n", "name": status["storage"]["claim"], "uid": status["storage"]["claimUID"],
        "labels": labels_of(owner), "annotations": annotations,
        "finalizers": [UNSAVED_DATA] });
    if more["deleting"] == true {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let claim = json!({ "metadata": metadata, "status": { "phase": "Bound" } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

/// A status of a database that was upgraded to 17.
fn upgraded() -> Value {
    let mut status = initialised();
    (status["server"], status["revision"]) = (json!("shop-17"), json!(9));
    status["storage"] = json!({ "claim": "data-shop-17", "claimUID": "c-17" });
    status
}

/// The status that a plan writes, if it does nothing else.
pub(super) fn restored(seen: &Observed) -> Option<SampleDBStatus> {
    let plan = crate::database::plan::plan(seen, now());
    let planned = plan.events_after_status.iter().any(|event| &*event.reason == "StatusRestored");
    assert!(
        !planned || plan.effects.is_empty() && plan.independent.is_empty(),
        "it is written down first: {:?}",
        plan.effects
    );
    plan.status.filter(|_| planned)
}

#[test]
fn a_lost_or_older_status_is_restored_from_the_pvcs() {
    let mut older = initialised();
    older["revision"] = json!(8);
    for status in [json!({}), older] {
        let mut seen = observed(&json!({}), &status);
        seen.claims = vec![claim("u-1", "c-0"), recorded("u-1", &upgraded(), &json!({}))];
        let status = restored(&seen).expect("it is restored");
        assert_eq!(status.storage.claim.as_deref(), Some("data-shop-17"));
        assert_eq!((status.server.as_deref(), status.revision), (Some("shop-17"), Some(9)));
        assert!(status.initialization.completed_at.is_some());
    }
    let mut seen = observed(&json!({}), &upgraded());
    seen.claims = vec![recorded("u-1", &upgraded(), &json!({}))];
    assert_eq!(restored(&seen), None, "it is as recorded");
}

#[test]
fn the_volumes_of_an_earlier_uid_are_adopted_unless_retained_or_ambiguous() {
    let seen = |spec: &Value, more: &Value| {
        let mut seen = observed(spec, &json!({}));
        seen.claims = vec![recorded("u-0", &upgraded(), more)];
        seen
    };
    let status = restored(&seen(&json!({}), &json!({}))).expect("it is the same object");
    assert_eq!(
        (status.storage.claim_uid.as_deref(), &*status.storage.adopted_from),
        (Some("c-17"), &["u-0".to_owned()][..])
    );
    let retained = seen(&json!({}), &json!({ "annotations": { RETAINED: "true" } }));
    assert_eq!(restored(&retained), None);
    assert_eq!(restored(&seen(&json!({ "bootstrap": { "database": "other" } }), &json!({}))), None);
    assert_eq!(restored(&seen(&json!({ "bootstrap": { "fromSnapshot": { "name": "s" } } }), &json!({}))), None);
    let mut two = seen(&json!({}), &json!({}));
    two.claims.push(claim("u-00", "c-00"));
    assert_eq!(restored(&two), None, "which of the two is not known");
    let mut named = with(&json!({ "annotations": { ADOPT: "u-0" } }), &json!({}), &json!({}));
    named.claims = retained.claims;
    assert!(restored(&named).is_some(), "the annotation says so");
}

#[test]
fn nothing_is_created_next_to_volumes_of_which_nothing_is_known() {
    let mut seen = observed(&json!({}), &json!({}));
    seen.claims = vec![claim("u-1", "c-1")];
    let planned = plan(&seen, now());
    assert!(planned.effects.is_empty() && planned.independent.is_empty());
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "StatusLost".to_owned()));
    assert!(status.contract.condition("Stalled").unwrap().message.contains("example.com/adopt=u-1"));
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let mut deleted = with(&meta, &json!({}), &json!({}));
    deleted.claims = seen.claims;
    let planned = plan(&deleted, now());
    assert!(planned.effects.is_empty(), "{:?}", planned.effects);
    assert_eq!(reason(&planned.status.unwrap(), "DeletionBlocked").1, "StatusLost");
}

/// The marks of a PVC that a plan applies first.
pub(super) fn marks(seen: &Observed) -> Option<Value> {
    match crate::database::plan::plan(seen, now()).effects.first() {
        Some(Effect::Apply(apply)) if apply.manager_prefix == Some(record::MANAGER) => {
            Some(apply.body["metadata"].clone())
        }
        _ => None,
    }
}

#[test]
fn what_is_latched_is_recorded_and_held_before_anything_relies_on_it() {
    let mut seen = standing(&json!({}), &initialised());
    let marked = marks(&seen).expect("it is marked first");
    assert_eq!(marked["finalizers"], json!([UNSAVED_DATA]));
    let record: VolumeRecord = serde_json::from_str(marked["annotations"][RECORD].as_str().unwrap()).unwrap();
    assert_eq!((record.revision, &*record.owner), (1, "u-1"));
    seen.claims = vec![recorded("u-1", &initialised(), &json!({}))];
    assert_eq!(marks(&seen), None, "once");
    let mut empty = observed(&json!({}), &latched());
    empty.claims = vec![claim("u-1", "c-1")];
    assert_eq!(marks(&empty).unwrap()["finalizers"], json!([]), "there is nothing in it to be held");
}
