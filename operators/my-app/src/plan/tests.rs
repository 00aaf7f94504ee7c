//! Plans of a MyApp, case by case.

use std::sync::Arc;
use std::time::Duration;

use api::my_app::{MyAppPhase, MyAppReason, MyAppStatus};
use api::{ConditionStatus, PodReason, Reason, ReconcileReason, condition_type};
use jiff::{Timestamp, ToSpan};
use runtime::apply::drift::{CreatedFingerprint, Fingerprint};
use runtime::cache::Projection;
use runtime::plan::child::{OwnedChild, Served};
use runtime::plan::{Apply, ChildState, Effect, Plan, Requeue};
use runtime::projections::{Deployment, PodDiagnosis, Template};
use serde_json::{Value, json};

use super::*;
use crate::MyApp;

mod additions;
mod autoscaling;
mod conditions;
mod defaults;
mod foreign_objects;
mod order;
mod overrides;
mod restart_on;
mod rollback;
mod rollouts;
mod route;
mod route_objects;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn app(spec: Value, status: Value) -> Arc<MyApp> {
    let metadata = json!({ "name": "a", "namespace": "n", "uid": "u", "generation": 2 });
    let json = json!({ "metadata": metadata, "spec": spec, "status": status });
    Arc::new(MyApp::decode(&json.to_string()).unwrap())
}

/// The fingerprint of the pod template of `app` with that image, without defaults.
fn template(app: &MyApp, image: &str) -> CreatedFingerprint {
    Template::rendered(&objects::deployment(app, image).body)
}

/// The desired Deployment of `app`, without defaults, with that status.
fn live(app: &MyApp, status: Value) -> ChildState<Deployment> {
    let mut object = objects::deployment(app, &app.spec.image).body;
    object["metadata"]["uid"] = json!("d");
    object["metadata"]["generation"] = json!(2);
    object["status"] = status;
    let mut live = Deployment::decode(&object.to_string()).unwrap();
    live.fingerprint = objects::deployment(app, &app.spec.image).fingerprint();
    live.template.created = template(app, &app.spec.image);
    live.owns_replicas = app.spec.replicas.is_some();
    ChildState::Owned(OwnedChild { fingerprint: live.fingerprint, view: Arc::new(live) })
}

fn observed(app: Arc<MyApp>, deployment: ChildState<Deployment>) -> Observed {
    Observed { deployment, limit: OverrideLimit::All, ..Observed::new(app) }
}

/// The plan for three desired pods, if that many exist, are updated and are ready.
fn three(replicas: i32, updated: i32, ready: i32) -> (Observed, Plan<MyAppStatus>) {
    let app = app(json!({ "image": "i:2", "replicas": 3 }), json!({ "image": "i:1" }));
    let status = json!({
        "observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated, "readyReplicas": ready
    });
    let deployment = live(&app, status);
    let observed = observed(app, deployment);
    let plan = plan(&observed, NOW);
    (observed, plan)
}

fn status(plan: &Plan<MyAppStatus>) -> &MyAppStatus {
    plan.status.as_ref().unwrap()
}

fn diagnosis(reason: impl Into<Reason>, permanent: bool) -> PodDiagnosis {
    PodDiagnosis { reason: reason.into(), message: "why".to_owned(), permanent, until: None }
}

fn ready(plan: &Plan<MyAppStatus>) -> (&str, &str) {
    let ready = status(plan).contract.condition(condition_type::READY).unwrap();
    (&ready.reason, &ready.message)
}

#[test]
fn a_new_app_is_applied_and_reported_as_reconciling() {
    let plan = plan(&observed(app(json!({ "image": "i", "replicas": 3 }), json!({})), ChildState::Absent), NOW);
    assert_eq!(plan.effects.len(), 1);
    assert_eq!(status(&plan).phase, Some(MyAppPhase::Progressing));
    assert_eq!(ready(&plan), ("Progressing", "0 of 3 pods are ready"));
    assert!(status(&plan).contract.is_true(condition_type::RECONCILING));
}

#[test]
fn an_app_of_no_pods_is_ready_in_one_reconcile_and_stays_so() {
    let app = app(json!({ "image": "i", "replicas": 0 }), json!({}));
    let first = plan(&observed(app.clone(), ChildState::Absent), NOW);
    assert_eq!((first.effects.len(), status(&first).phase), (1, Some(MyAppPhase::ScaledToZero)));
    let ChildState::Owned(mut deployment) = live(&app, json!({})) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().meta.generation = 1;
    let then = plan(&observed(app, ChildState::Owned(deployment)), NOW);
    assert_eq!((then.effects.len(), status(&then).phase), (0, Some(MyAppPhase::ScaledToZero)));
}

#[test]
fn numbers_of_an_earlier_generation_do_not_count() {
    let app = app(json!({ "image": "i", "replicas": 3 }), json!({}));
    let old = json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 });
    let deployment = live(&app, old);
    let plan = plan(&observed(app, deployment), NOW);
    assert_eq!(status(&plan).phase, Some(MyAppPhase::Progressing));
}

#[test]
fn running_means_that_all_pods_are_ready_and_none_is_old() {
    let (_, plan) = three(3, 3, 3);
    assert_eq!((status(&plan).phase, ready(&plan)), (Some(MyAppPhase::Running), ("Running", "3 of 3 pods are ready")));
    assert_eq!((status(&plan).image.as_deref(), status(&plan).ready.as_deref()), (Some("i:2"), Some("3/3")));
    assert!(plan.effects.is_empty());
}

#[test]
fn while_old_pods_exist_the_rollout_is_in_progress_and_the_image_is_the_previous_one() {
    let (_, plan) = three(4, 3, 3);
    assert_eq!(status(&plan).phase, Some(MyAppPhase::Progressing));
    assert_eq!(ready(&plan).1, "3 of 3 pods are ready; pods are being replaced");
    assert_eq!(status(&plan).image.as_deref(), Some("i:1"));
}

#[test]
fn permanently_failing_pods_stall_the_app_with_their_reason() {
    let (mut observed, _) = three(4, 1, 3);
    observed.failing_pods = vec![
        ("a-1".into(), diagnosis(PodReason::Unschedulable, false)),
        ("a-2".into(), diagnosis(PodReason::ImagePullBackOff, true)),
    ];
    let stalled = plan(&observed, NOW);
    assert_eq!(status(&stalled).phase, Some(MyAppPhase::Degraded));
    assert_eq!(ready(&stalled), ("ImagePullBackOff", "3 of 3 pods are ready; pod a-2: why"));
    assert!(status(&stalled).contract.is_true(condition_type::STALLED));
    assert!(!status(&stalled).contract.is_true(condition_type::RECONCILING));
    observed.failing_pods.pop();
    let waiting = plan(&observed, NOW);
    assert_eq!(ready(&waiting), ("Progressing", "3 of 3 pods are ready; pod a-1: Unschedulable: why"));
}

#[test]
fn a_rejection_by_pod_security_has_a_remedy() {
    let app = app(json!({ "image": "i", "replicas": 1 }), json!({}));
    let rejected = json!({ "observedGeneration": 2, "conditions": [{
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true"
    }] });
    let deployment = live(&app, rejected);
    let plan = plan(&observed(app, deployment), NOW);
    assert_eq!(ready(&plan).0, "FailedCreate");
    assert!(ready(&plan).1.contains("set spec.security to Restricted"), "{}", ready(&plan).1);
}

#[test]
fn a_pause_changes_nothing_and_is_reported() {
    let app = app(json!({ "image": "i", "replicas": 3, "paused": true }), json!({}));
    let plan = plan(&observed(app, ChildState::Absent), NOW);
    assert!(plan.effects.is_empty());
    assert_eq!((status(&plan).phase, ready(&plan).0), (Some(MyAppPhase::Paused), "Paused"));
    let condition = status(&plan).contract.condition(condition_type::READY).unwrap();
    assert_eq!(condition.status, ConditionStatus::False);
}

#[test]
fn the_number_of_pods_is_handed_over_before_it_is_no_longer_sent() {
    let before = app(json!({ "image": "i", "replicas": 50 }), json!({}));
    let deployment = live(&before, json!({}));
    let plan = plan(&observed(app(json!({ "image": "i" }), json!({})), deployment), NOW);
    let [Effect::Apply(hand_over), Effect::Apply(apply)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    assert_eq!((hand_over.manager_prefix, &hand_over.body["spec"]["replicas"]), (Some("hand-over"), &json!(50)));
    assert!(apply.manager_prefix.is_none() && apply.body["spec"].get("replicas").is_none());
    assert_eq!(status(&plan).ready.as_deref(), Some("0/50"));
}

#[test]
fn the_repair_of_an_edit_is_not_reported_but_a_new_spec_is() {
    let (_, running) = three(3, 3, 3);
    let mut reported = running.status.unwrap();
    let mut plan_after_edit = |observed_generation| {
        reported.contract.observed_generation = observed_generation;
        let app = app(json!({ "image": "i:2", "replicas": 3 }), serde_json::to_value(&reported).unwrap());
        let ChildState::Owned(mut edited) = live(&app, json!({ "observedGeneration": 1 })) else { unreachable!() };
        edited.fingerprint = runtime::apply::drift::Fingerprint::of_nothing();
        plan(&observed(app, ChildState::Owned(edited)), NOW)
    };
    let repair = plan_after_edit(2);
    assert_eq!((repair.effects.len(), status(&repair).phase), (1, Some(MyAppPhase::Running)));
    let planned = plan_after_edit(1);
    assert_eq!((planned.effects.len(), status(&planned).phase), (1, Some(MyAppPhase::Progressing)));
}

#[test]
fn a_child_that_the_spec_no_longer_requests_is_deleted_by_its_uid() {
    let service = json!({ "metadata": { "name": "a", "namespace": "n", "uid": "s" } });
    let (mut observed, _) = three(3, 3, 3);
    let service = Arc::new(runtime::projections::Service::decode(&service.to_string()).unwrap());
    observed.service = ChildState::Owned(OwnedChild { fingerprint: service.fingerprint, view: service });
    let plan = plan(&observed, NOW);
    let [Effect::Delete(delete)] = &plan.effects[..] else { panic!("{:?}", plan.effects) };
    assert_eq!(&*delete.uid, "s");
}

#[test]
fn a_deleted_app_is_left_to_garbage_collection() {
    let json = json!({ "metadata": { "name": "a", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z" }, "spec": { "image": "i" } });
    let app = Arc::new(MyApp::decode(&json.to_string()).unwrap());
    assert_eq!(plan(&observed(app, ChildState::Absent), NOW), Plan::nothing());
}

#[test]
fn minor_counters_are_held_back_for_a_while() {
    let under_way = three(0, 0, 0).1.status.unwrap();
    let counted = |now| {
        let app = app(json!({ "image": "i:2", "replicas": 3 }), serde_json::to_value(&under_way).unwrap());
        let deployment = live(&app, json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3 }));
        plan(&observed(app, deployment), now)
    };
    let early = counted(NOW + 4.seconds());
    assert_eq!((status(&early).replicas, early.next), (0, Requeue::After(Duration::from_secs(6))));
    let late = counted(NOW + 10.seconds());
    assert_eq!((status(&late).replicas, status(&late).updated_replicas, late.next), (3, 3, Requeue::OnChange));
}

#[test]
fn the_operator_waits_for_a_terminating_child() {
    let plan = plan(&observed(app(json!({ "image": "i" }), json!({})), ChildState::Terminating), NOW);
    assert!(plan.effects.is_empty());
    assert_eq!(ready(&plan).0, ReconcileReason::WaitingForDeletion.as_str());
}

#[test]
fn an_undecodable_child_stalls_the_app() {
    let unreadable = ChildState::Undecodable("no spec".into());
    let plan = plan(&observed(app(json!({ "image": "i" }), json!({})), unreadable), NOW);
    assert!(plan.effects.is_empty());
    let stalled = status(&plan).contract.condition(condition_type::STALLED).unwrap();
    assert!(stalled.reason == ReconcileReason::Unreadable && stalled.message.contains("no spec"), "{stalled:?}");
    assert!(!status(&plan).contract.is_true(condition_type::RECONCILING));
}
