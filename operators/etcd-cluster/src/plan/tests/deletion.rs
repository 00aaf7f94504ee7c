//! The finalizers that protect volumes, and what a deletion waits for.

use api::UNSAVED_DATA;
use runtime::namespaces::Termination;
use runtime::projections::Pvc;

use super::members::{NAMES, after, three};
use super::*;

/// The finalizers that a plan writes, with the kind of the object.
fn finalizers(plan: &EtcdPlan) -> Vec<(&'static str, Value)> {
    let effects = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) => Some(apply),
        _ => None,
    });
    let held = effects.chain(&plan.independent).filter(|apply| apply.body["metadata"]["finalizers"].is_array());
    held.map(|apply| (apply.kind.kind, apply.body["metadata"]["finalizers"].clone())).collect()
}

/// Adds metadata to the cluster.
fn edit(seen: &mut Observed, metadata: &Value) {
    let mut object = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u", "generation": 1 } });
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    object["spec"] = json!(seen.cluster.spec);
    object["status"] = json!(seen.cluster.status);
    seen.cluster = Arc::new(EtcdCluster::decode(&object.to_string()).unwrap());
}

/// Adds metadata to all PVCs, and the labels of members that have voted.
fn edit_claims(seen: &mut Observed, metadata: &Value) {
    for claim in &mut seen.claims {
        let name = &claim.meta.key.name;
        let mut object = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": {
            "multi-operator.example.com/owner-uid": "u", "multi-operator.example.com/cluster-id": "1",
            "multi-operator.example.com/member-id": "1", "multi-operator.example.com/etcd-version": "3.6.16",
        } }, "status": { "phase": "Bound" } });
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        *claim = Arc::new(Pvc::decode(&object.to_string()).unwrap());
    }
}

/// Three healthy members of a terminating cluster.
fn terminating(spec: &Value, finalizers: &[&str], claims: &Value) -> Observed {
    let mut seen = three(spec);
    edit(&mut seen, &json!({ "finalizers": finalizers, "deletionTimestamp": "2026-01-01T00:00:00Z" }));
    edit_claims(&mut seen, claims);
    seen
}

fn reason(plan: &EtcdPlan) -> Option<String> {
    Some(plan.status.as_ref()?.contract.condition("Terminating")?.reason.to_string())
}

#[test]
fn the_cluster_gets_its_finalizer_before_its_claims_do() {
    let mut seen = three(&json!({ "size": 3 }));
    edit_claims(&mut seen, &json!({}));
    edit(&mut seen, &json!({}));
    // What members need comes first: here their Service.
    let mut new = observed(&json!({ "size": 3 }), &decided());
    edit(&mut new, &json!({}));
    let all: Vec<_> = [new, seen].iter().flat_map(|seen| finalizers(&after(seen, 60))).collect();
    assert_eq!(all, [("EtcdCluster", json!([ETCD_VOLUMES])), ("EtcdCluster", json!([ETCD_VOLUMES]))]);
    let mut seen = three(&json!({ "size": 3 }));
    edit_claims(&mut seen, &json!({ "labels": { "multi-operator.example.com/owner-uid": "u" } }));
    assert_eq!(finalizers(&after(&seen, 60)), [], "PVCs do not record yet that they hold data");
    edit_claims(&mut seen, &json!({}));
    assert_eq!(finalizers(&after(&seen, 60)), vec![("PersistentVolumeClaim", json!([UNSAVED_DATA])); 3]);
    edit_claims(&mut seen, &json!({ "finalizers": [UNSAVED_DATA] }));
    assert_eq!(finalizers(&after(&seen, 60)), []);
}

/// If a user deletes PVCs before that, the data of clients is lost.
#[test]
fn clients_are_allowed_once_claims_have_finalizers() {
    let mut seen = three(&json!({ "size": 3 }));
    let lets_in = |seen: &Observed| {
        let plan = after(seen, 60);
        let service = plan.independent.iter().any(|apply| *apply.key.name == *"c-client");
        (service, plan.status.unwrap().contract.is_true(api::condition_type::READY))
    };
    assert_eq!(lets_in(&seen), (true, true));
    edit_claims(&mut seen, &json!({}));
    assert_eq!(lets_in(&seen), (false, false));
}

#[test]
fn a_deletion_releases_claims_that_are_not_terminating() {
    let held = json!({ "finalizers": [UNSAVED_DATA] });
    let dying = json!({ "finalizers": [UNSAVED_DATA], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let (retain, delete) = (json!({ "size": 3 }), json!({ "size": 3, "storage": { "onDelete": "Delete" } }));
    let all = [vec![("PersistentVolumeClaim", json!([])); 3], vec![("EtcdCluster", json!([]))]].concat();
    for claims in [&held, &dying] {
        assert_eq!(finalizers(&after(&terminating(&delete, &[ETCD_VOLUMES], claims), 60)), all);
        let mut seen = terminating(&retain, &[ETCD_VOLUMES], claims);
        seen.termination = Some(Termination::Namespace);
        assert_eq!(finalizers(&after(&seen, 60)), all, "with the namespace");
        assert_eq!(
            after(&terminating(&retain, &[], claims), 60),
            EtcdPlan::nothing(),
            "without the finalizer nothing is queried"
        );
    }
    let mut seen = terminating(&retain, &[ETCD_VOLUMES], &held);
    let plan = after(&seen, 60);
    assert_eq!((reason(&plan).as_deref(), finalizers(&plan)), (Some("WaitingForClaims"), vec![]));
    Arc::get_mut(&mut seen.cluster).unwrap().status = plan.status.unwrap();
    assert_eq!(finalizers(&after(&seen, 69)), []);
    assert_eq!(finalizers(&after(&seen, 70)), all);
    let plan = after(&terminating(&retain, &[ETCD_VOLUMES], &dying), 60);
    assert_eq!((reason(&plan).as_deref(), finalizers(&plan)), (Some("SavingVolumes"), vec![]));
    assert!(
        plan.events_after_status.iter().any(|event| event.warning && event.reason == EtcdClusterReason::SavingVolumes)
    );
    let plan = after(&terminating(&retain, &[ETCD_VOLUMES, "foregroundDeletion"], &dying), 60);
    assert_eq!((reason(&plan).as_deref(), plan.effects.len()), (Some("DeletionBlocked"), 0));
}

/// They were created while `onDelete` was Delete, so garbage collection would delete them. In a cluster that is paused or has no
/// pods, nothing else removes their owner references.
#[test]
fn retained_claims_lose_their_owner_before_the_cluster_is_deleted() {
    let owner = json!([{ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "c", "uid": "u",
        "controller": true }]);
    let owned = json!({ "finalizers": [UNSAVED_DATA], "ownerReferences": owner });
    let disowned = |plan: &EtcdPlan| {
        let claims = plan.effects.iter().take_while(|effect| {
            matches!(effect, Effect::Apply(apply) if apply.kind.kind == "PersistentVolumeClaim" && apply.manager_prefix.is_none()
                && apply.body["metadata"]["ownerReferences"].is_null())
        });
        claims.count()
    };
    for (spec, expected) in [
        (json!({ "size": 3 }), 3),
        (json!({ "size": 3, "paused": true }), 3),
        (json!({ "size": 3, "storage": { "onDelete": "Delete" } }), 0),
    ] {
        let mut seen = terminating(&spec, &[ETCD_VOLUMES], &owned);
        seen.pods.clear();
        Arc::get_mut(&mut seen.cluster).unwrap().status = after(&seen, 60).status.unwrap_or_else(bootstrapped);
        assert_eq!(disowned(&after(&seen, 70)), expected, "{spec}");
        seen.termination = Some(Termination::Crd);
        assert_eq!(disowned(&after(&seen, 70)), expected, "{spec}: claims outlive the kind");
        seen.termination = Some(Termination::Namespace);
        assert_eq!(disowned(&after(&seen, 70)), 0, "with the namespace nothing can stay");
    }
}

/// Garbage collection removes the owner references before the finalizer, and may have done both before the manager observes it.
#[test]
fn claims_of_an_orphaning_deletion_stay_though_on_delete_is_delete() {
    let held = json!({ "finalizers": [UNSAVED_DATA] });
    let delete = json!({ "size": 3, "storage": { "onDelete": "Delete" } });
    let deleted = |held_by: &[&str], foreign: &[&str]| {
        let mut seen = terminating(&delete, held_by, &held);
        seen.clients = ChildState::Terminating;
        seen.foreign_selected = foreign.iter().map(|pod| (*pod).into()).collect();
        let plan = after(&seen, 60);
        assert_eq!(finalizers(&plan).len(), 4, "all is released: {:?}", plan.effects);
        plan.effects.iter().filter(|effect| matches!(effect, Effect::Delete(_))).count()
    };
    assert_eq!(deleted(&[ETCD_VOLUMES], &[]), 3);
    assert_eq!(deleted(&[ETCD_VOLUMES, "orphan"], &[]), 0);
    assert_eq!(deleted(&[ETCD_VOLUMES], &NAMES[..1]), 0, "its pod has no owner any more");
    assert_eq!(deleted(&[ETCD_VOLUMES], &["c-foreign"]), 3, "a pod without a member's name does not count");
    // Pods may be deleted by then. Services and the budget are deleted after the object, or lose their owner with all others.
    let without_children = |held_by: &[&str]| {
        let mut seen = terminating(&delete, held_by, &held);
        (seen.peers, seen.clients, seen.budget) = (ChildState::Absent, ChildState::Absent, ChildState::Absent);
        after(&seen, 60).effects.iter().filter(|effect| matches!(effect, Effect::Delete(_))).count()
    };
    assert_eq!(without_children(&[ETCD_VOLUMES]), 0);
    assert_eq!(without_children(&[ETCD_VOLUMES, "foregroundDeletion"]), 3, "they go first");
}

#[test]
fn a_retired_claim_is_released() {
    let mut seen = three(&json!({ "size": 3 }));
    edit_claims(
        &mut seen,
        &json!({ "finalizers": [UNSAVED_DATA], "labels": {
        "multi-operator.example.com/owner-uid": "an earlier one", "multi-operator.example.com/retired": "true" } }),
    );
    assert_eq!(finalizers(&after(&seen, 60)), vec![("PersistentVolumeClaim", json!([])); 3]);
}

#[test]
fn a_cluster_that_never_settles_gets_finalizers_as_well() {
    for (step, stalled) in [("refused", false), ("wait", false), ("start", true)] {
        let mut seen = three(&json!({ "size": 3, "options": { "max-wals": "7" } }));
        edit_claims(&mut seen, &json!({}));
        match step {
            "refused" => {
                seen.pod_rejected = Some("no".to_owned());
                seen.pods.iter_mut().for_each(|pod| {
                    let running = Arc::get_mut(pod).unwrap().details.as_mut().unwrap();
                    running.annotations.insert("multi-operator.example.com/template".to_owned(), "other".to_owned());
                });
            }
            "wait" => drop(seen.etcd.endpoints.insert(NAMES[0].into(), Err("refuses connections".to_owned()))),
            _ => drop(seen.pods.pop()),
        }
        edit(&mut seen, &json!({}));
        if stalled {
            // As with a quota that allows no pod.
            let why = api::condition_type::STALLED;
            let condition = runtime::status::conditions::condition(
                why,
                ConditionStatus::True,
                api::ReconcileReason::Forbidden,
                "no",
                Timestamp::UNIX_EPOCH,
            );
            Arc::get_mut(&mut seen.cluster).unwrap().status.contract.conditions = vec![condition];
        }
        assert_eq!(finalizers(&after(&seen, 60)), [("EtcdCluster", json!([ETCD_VOLUMES]))], "{step}");
    }
}

#[test]
fn volumes_of_several_clusters_are_kept_without_a_status() {
    let dying = json!({ "finalizers": [UNSAVED_DATA], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    for claims in [&dying, &json!({ "finalizers": [UNSAVED_DATA] }), &json!({})] {
        let mut seen = terminating(&json!({ "size": 3 }), &[ETCD_VOLUMES], claims);
        let mut other = seen.claims[0].labels.clone();
        other.insert("multi-operator.example.com/cluster-id".to_owned(), "2".to_owned());
        Arc::get_mut(&mut seen.claims[0]).unwrap().labels = other;
        Arc::get_mut(&mut seen.cluster).unwrap().status = decided();
        (seen.pods, seen.etcd) = (Vec::new(), Etcd::default());
        let plan = after(&seen, 60);
        assert_eq!(finalizers(&plan), [], "{claims}");
        let reason = reason(&plan);
        assert!(matches!(reason.as_deref(), Some("DeletionBlocked" | "WaitingForClaims")), "{reason:?}");
    }
}

/// They would keep the next cluster of the name from beginning.
#[test]
fn claims_of_a_cluster_that_never_began_are_deleted() {
    let first = names::first(&terminating(&json!({ "size": 3 }), &[], &json!({})).cluster);
    let deleted = |labels: &Value, id: Option<&str>, more: &Value| {
        let mut seen = terminating(&json!({ "size": 3 }), &[ETCD_VOLUMES], &json!({ "labels": labels }));
        let mut metadata = json!({ "finalizers": [ETCD_VOLUMES], "deletionTimestamp": "2026-01-01T00:00:00Z" });
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        edit(&mut seen, &metadata);
        Arc::get_mut(&mut seen.cluster).unwrap().status.cluster_id = id.map(str::to_owned);
        // The first one is that of the first member, the others are of anyone.
        let claim = Arc::get_mut(&mut seen.claims[0]).unwrap();
        claim.meta.key = claim.meta.key.sibling(&first);
        let of = |effect: &Effect<EtcdAct>| matches!(effect, Effect::Delete(delete) if delete.version.is_some());
        after(&seen, 60).effects.iter().filter(|effect| of(effect)).count()
    };
    let (own, nothing) = (json!({ "multi-operator.example.com/owner-uid": "u" }), json!({}));
    assert_eq!(deleted(&own, None, &nothing), 1);
    let joining = json!({ "multi-operator.example.com/owner-uid": "u", "multi-operator.example.com/joining": "true" });
    assert_eq!(deleted(&joining, None, &nothing), 3);
    assert_eq!(deleted(&own, Some("1"), &nothing), 0, "it may hold what clients wrote");
    let orphans = json!({ "finalizers": [ETCD_VOLUMES, "orphan"] });
    assert_eq!(deleted(&own, None, &orphans), 0);
    let adopts = json!({ "annotations": { "example.com/adopt": "earlier" } });
    assert_eq!(deleted(&own, None, &adopts), 0, "adopted ones may have data and no record of it");
    assert_eq!(deleted(&json!({ "multi-operator.example.com/owner-uid": "earlier" }), None, &nothing), 0);
    let voted = json!({ "multi-operator.example.com/owner-uid": "u", "multi-operator.example.com/cluster-id": "1" });
    assert_eq!(deleted(&voted, None, &nothing), 0, "only the status was lost, and part of the record");
}

/// Nothing releases them after the cluster is deleted.
#[test]
fn claims_of_an_earlier_cluster_are_released_with_this_one() {
    let earlier = |namespace_goes: bool, deleted: bool| {
        let mut of =
            json!({ "labels": { "multi-operator.example.com/owner-uid": "earlier" }, "finalizers": [UNSAVED_DATA] });
        if deleted {
            of["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let mut seen = terminating(&json!({ "size": 3 }), &[ETCD_VOLUMES], &of);
        seen.termination = namespace_goes.then_some(Termination::Namespace);
        if let Some(status) = after(&seen, 60).status {
            Arc::get_mut(&mut seen.cluster).unwrap().status = status;
        }
        let all = finalizers(&after(&seen, 70));
        all.into_iter().filter(|(kind, of)| *kind == "PersistentVolumeClaim" && *of == json!([])).count()
    };
    assert_eq!(earlier(true, true), 3, "a namespace that goes");
    assert_eq!(earlier(false, false), 3);
    assert_eq!(earlier(false, true), 0, "what a person deletes is not known to be saved");
}

mod last_backup;
