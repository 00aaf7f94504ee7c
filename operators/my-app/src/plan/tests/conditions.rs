//! Conditions are true at the time at which they are reported.

use super::*;

fn crash(permanent: bool, until: Option<Timestamp>) -> (Arc<str>, PodDiagnosis) {
    let reason = if permanent { PodReason::CrashLoopBackOff.into() } else { Reason::reported("Error") };
    ("a-1".into(), PodDiagnosis { until, ..diagnosis(reason, permanent) })
}

#[test]
fn one_crash_does_not_stall_the_app_and_a_crash_loop_does_while_it_lasts() {
    let (mut observed, _) = three(3, 3, 2);
    observed.failing_pods = vec![crash(false, None)];
    let once = plan(&observed, NOW);
    assert_eq!(ready(&once), ("Progressing", "2 of 3 pods are ready; pod a-1: Error: why"));
    observed.failing_pods = vec![crash(true, Some(NOW + 30.seconds()))];
    let loops = plan(&observed, NOW);
    assert_eq!((ready(&loops).0, loops.next), ("CrashLoopBackOff", Requeue::After(std::time::Duration::from_secs(30))));
    let over = plan(&observed, NOW + 30.seconds());
    assert_eq!((ready(&over), over.next), (("Progressing", "2 of 3 pods are ready"), Requeue::OnChange));
}

#[test]
fn ready_waits_for_numbers_that_match_the_pods() {
    let (mut observed, _) = three(3, 3, 3);
    observed.failing_pods = vec![crash(true, None)];
    let contradicted = plan(&observed, NOW);
    assert_eq!(ready(&contradicted).0, "Progressing", "the Deployment will report the pod");
    let reported = serde_json::to_value(three(3, 3, 3).1.status.unwrap()).unwrap();
    let mut reason = |generation| {
        let mut reported = reported.clone();
        reported["observedGeneration"] = json!(generation);
        observed.app = app(json!({ "image": "i:2", "replicas": 3 }), reported);
        ready(&plan(&observed, NOW)).0.to_owned()
    };
    assert_eq!((&*reason(2), &*reason(1)), ("Running", "Progressing"), "a reported Ready stays until then");
}

#[test]
fn a_paused_app_without_its_service_is_not_ready() {
    let with = |spec: Value| {
        let app = app(spec, json!({}));
        let complete = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
        let deployment = live(&app, complete);
        let plan = plan(&observed(app, deployment), NOW);
        assert!(plan.effects.is_empty());
        status(&plan).contract.is_true(condition_type::READY)
    };
    assert!(with(json!({ "image": "i", "replicas": 1, "paused": true })));
    assert!(!with(json!({ "image": "i", "replicas": 1, "paused": true, "port": 80 })));
}

#[test]
fn a_new_deployment_of_no_pods_is_not_scaled_to_zero_after_earlier_pods() {
    let app = |had: i32| app(json!({ "image": "i", "replicas": 0 }), json!({ "replicas": had }));
    let phase = |had, deployment| status(&plan(&observed(app(had), deployment), NOW)).phase;
    let created = |had| {
        let ChildState::Owned(mut live) = live(&app(had), json!({})) else { unreachable!() };
        Arc::get_mut(&mut live.view).unwrap().meta.generation = 1;
        phase(had, ChildState::Owned(live))
    };
    assert_eq!([phase(0, ChildState::Absent), created(0)], [Some(MyAppPhase::ScaledToZero); 2]);
    assert_eq!(
        [phase(3, ChildState::Absent), created(3)],
        [Some(MyAppPhase::Progressing); 2],
        "an orphaned ReplicaSet is adopted"
    );
    let ChildState::Owned(orphan) = live(&app(0), json!({ "replicas": 3 })) else { unreachable!() };
    let planned = Observed { orphan: Some(orphan.view), ..observed(app(0), ChildState::Absent) };
    assert_eq!(
        status(&plan(&planned, NOW)).phase,
        Some(MyAppPhase::Progressing),
        "pods of a Deployment that is adopted run"
    );
}

#[test]
fn a_rejection_of_an_earlier_template_does_not_count() {
    let reported = |updated: i32| {
        let app = app(json!({ "image": "i", "replicas": 2 }), json!({}));
        let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": updated, "readyReplicas": 1,
            "conditions": [{ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota" }] });
        let deployment = live(&app, rollout);
        ready(&plan(&observed(app, deployment), NOW)).0.to_owned()
    };
    assert_eq!((&*reported(1), &*reported(2)), ("FailedCreate", "Progressing"));
}

/// The spec requests the children that the pods do not depend on, too.
#[test]
fn a_paused_app_without_its_route_or_autoscaler_is_not_ready() {
    let with = |more: &Value| {
        let mut spec = json!({ "image": "i", "paused": true });
        more.as_object().into_iter().flatten().for_each(|(name, value)| spec[name] = value.clone());
        let app = app(spec, json!({}));
        let complete = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
        let deployment = live(&app, complete);
        let service = Arc::new(
            runtime::projections::Service::decode("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"s\"}}")
                .unwrap(),
        );
        let desired = objects::service(&app).map(|apply| apply.fingerprint());
        let service = desired
            .map_or(ChildState::Absent, |fingerprint| ChildState::Owned(OwnedChild { fingerprint, view: service }));
        let plan = plan(&Observed { service, ..observed(app, deployment) }, NOW);
        assert!(plan.effects.is_empty() && plan.independent.is_empty());
        status(&plan).contract.is_true(condition_type::READY)
    };
    assert!(with(&json!({ "replicas": 1, "port": 80 })));
    assert!(!with(&json!({ "autoscaling": { "max": 3 } })));
    assert!(!with(&json!({ "replicas": 1, "port": 80, "route": { "host": "a.b" } })));
    assert!(!with(&json!({ "replicas": 1, "port": 80, "route": { "host": "a.b", "gateway": { "name": "g" } } })));
}

/// A running pod, and conditions about a deleted HTTPRoute and about a name that was taken.
#[test]
fn a_reconcile_with_a_repair_reports_other_changes() {
    let conditions = [
        ("Ready", "Running", "1 of 1 pod is ready; the name is taken"),
        ("Stalled", "NameTaken", "the name is taken"),
        ("RouteAccepted", "Accepted", "the Gateway g has accepted the HTTPRoute"),
    ];
    let conditions = conditions.map(|(type_, reason, message)| {
        json!({ "type": type_, "status": "True", "reason": reason, "message": message, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" })
    });
    let reported = json!({ "observedGeneration": 2, "conditions": conditions });
    let route = json!({ "host": "a.b", "gateway": { "name": "g" } });
    let app = app(json!({ "image": "i:2", "replicas": 1, "port": 80, "route": route }), reported);
    let complete = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
    let deployment = live(&app, complete);
    let plan = plan(&observed(app, deployment), NOW);
    assert_eq!(plan.effects.len(), 1, "its Service is recreated");
    assert_eq!(ready(&plan), ("Running", "1 of 1 pod is ready"));
    let contract = &status(&plan).contract;
    assert!(!contract.is_true(condition_type::STALLED));
    assert!(!contract.is_true(api::my_app::ROUTE_ACCEPTED));
}

#[test]
fn a_paused_app_with_a_terminating_route_is_not_ready() {
    let with = |http_route| {
        let route = json!({ "host": "a.b", "gateway": { "name": "g" } });
        let app = app(json!({ "image": "i", "replicas": 0, "port": 80, "route": route, "paused": true }), json!({}));
        let (deployment, desired) = (live(&app, json!({ "observedGeneration": 2 })), objects::service(&app).unwrap());
        let service = Arc::new(runtime::projections::Service::decode(&desired.body.to_string()).unwrap());
        let service = ChildState::Owned(OwnedChild { fingerprint: desired.fingerprint(), view: service });
        let plan = plan(&Observed { service, http_route, ..observed(app, deployment) }, NOW);
        status(&plan).contract.is_true(condition_type::READY)
    };
    assert!(with(Served::Not), "the cluster does not serve HTTPRoutes");
    assert!(!with(Served::Child(ChildState::Terminating)));
}

/// A repair alone is not reported. With another change, the whole status is current.
#[test]
fn the_repair_of_a_deployment_is_reported_with_other_changes() {
    let reported = |accepted: &str| {
        let condition = |type_: &str, status: &str, reason: &str, message: &str| {
            json!({ "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
                "lastTransitionTime": "1970-01-01T00:00:00Z" })
        };
        let missing = "this cluster does not serve HTTPRoute of gateway.networking.k8s.io/v1; install the Gateway API CRDs and a controller, or set ingressClassName instead of gateway";
        let route = condition(api::my_app::ROUTE_ACCEPTED, accepted, "GatewayAPIMissing", missing);
        let conditions = [condition("Ready", "True", "Running", "1 of 1 pod is ready"), route];
        let route = json!({ "host": "a.b", "gateway": { "name": "g" } });
        let reported = json!({ "observedGeneration": 2, "conditions": conditions });
        let app = app(json!({ "image": "i:2", "replicas": 1, "port": 80, "route": route }), reported);
        let complete = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
        let ChildState::Owned(mut edited) = live(&app, complete) else { unreachable!() };
        edited.fingerprint = Fingerprint::of_nothing();
        let plan = plan(&Observed { http_route: Served::Not, ..observed(app, ChildState::Owned(edited)) }, NOW);
        ready(&plan).0.to_owned()
    };
    assert_eq!([reported("False"), reported("Unknown")], ["Running", "Progressing"]);
}

#[test]
fn a_reconcile_with_a_repair_removes_an_outdated_stalled_condition() {
    let condition = |type_: &str, reason: &str, message: &str| {
        json!({ "type": type_, "status": "True", "reason": reason, "message": message, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" })
    };
    let conditions = [condition("Ready", "Running", "well; refused"), condition("Stalled", "Rejected", "refused")];
    let app =
        app(json!({ "image": "i:2", "replicas": 1 }), json!({ "observedGeneration": 2, "conditions": conditions }));
    let complete = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
    let ChildState::Owned(mut edited) = live(&app, complete) else { unreachable!() };
    edited.fingerprint = Fingerprint::of_nothing();
    let plan = plan(&observed(app, ChildState::Owned(edited)), NOW);
    assert_eq!(plan.effects.len(), 1);
    assert!(!status(&plan).contract.is_true(condition_type::STALLED));
}
