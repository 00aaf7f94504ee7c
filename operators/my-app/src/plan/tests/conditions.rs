//! What is said holds at the instant that it is said.

use super::*;

fn crash(lasting: bool, until: Option<Timestamp>) -> (Arc<str>, PodDiagnosis) {
    let reason = if lasting { PodReason::CrashLoopBackOff.into() } else { Reason::reported("Error") };
    ("a-1".into(), PodDiagnosis { until, ..trouble(reason, lasting) })
}

#[test]
fn one_crash_stalls_nothing_and_a_loop_does_so_for_as_long_as_it_is_one() {
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
fn numbers_that_a_pod_contradicts_are_waited_for() {
    let (mut observed, _) = three(3, 3, 3);
    observed.failing_pods = vec![crash(true, None)];
    let contradicted = plan(&observed, NOW);
    assert_eq!(ready(&contradicted).0, "Progressing", "the Deployment's word on it is on its way");
    let told = serde_json::to_value(three(3, 3, 3).1.status.unwrap()).unwrap();
    let mut said = |generation| {
        let mut told = told.clone();
        told["observedGeneration"] = json!(generation);
        observed.app = app(json!({ "image": "i:2", "replicas": 3 }), told);
        ready(&plan(&observed, NOW)).0.to_owned()
    };
    assert_eq!(
        (&*said(2), &*said(1)),
        ("Running", "Progressing"),
        "what has been said is not taken back before it comes"
    );
}

#[test]
fn a_paused_app_that_lacks_its_service_is_not_as_asked() {
    let with = |spec: Value| {
        let app = app(spec, json!({}));
        let whole = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
        let deployment = live(&app, whole);
        let plan = plan(&observed(app, deployment), NOW);
        assert!(plan.effects.is_empty());
        status(&plan).contract.is_true(condition_type::READY)
    };
    assert!(with(json!({ "image": "i", "replicas": 1, "paused": true })));
    assert!(!with(json!({ "image": "i", "replicas": 1, "paused": true, "port": 80 })));
}

#[test]
fn a_new_deployment_of_no_pods_proves_nothing_where_there_were_pods() {
    let app = |had: i32| app(json!({ "image": "i", "replicas": 0 }), json!({ "replicas": had }));
    let phase = |had, deployment| status(&plan(&observed(app(had), deployment), NOW)).phase;
    let made = |had| {
        let ChildState::Owned(mut live) = live(&app(had), json!({})) else { unreachable!() };
        Arc::get_mut(&mut live.view).unwrap().meta.generation = 1;
        phase(had, ChildState::Owned(live))
    };
    assert_eq!([phase(0, ChildState::Absent), made(0)], [Some(Phase::ScaledToZero); 2]);
    assert_eq!(
        [phase(3, ChildState::Absent), made(3)],
        [Some(Phase::Progressing); 2],
        "an orphaned ReplicaSet is adopted"
    );
    let ChildState::Owned(orphan) = live(&app(0), json!({ "replicas": 3 })) else { unreachable!() };
    let beside = Observed { orphan: Some(orphan.view), ..observed(app(0), ChildState::Absent) };
    assert_eq!(status(&plan(&beside, NOW)).phase, Some(Phase::Progressing), "pods of a Deployment that is adopted run");
}

#[test]
fn a_refusal_of_an_earlier_template_is_none_of_this_one() {
    let told = |updated: i32| {
        let app = app(json!({ "image": "i", "replicas": 2 }), json!({}));
        let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": updated, "readyReplicas": 1,
            "conditions": [{ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota" }] });
        let deployment = live(&app, rollout);
        ready(&plan(&observed(app, deployment), NOW)).0.to_owned()
    };
    assert_eq!((&*told(1), &*told(2)), ("FailedCreate", "Progressing"));
}

/// What stands beside the pods is not asked for by them, but by the spec.
#[test]
fn a_paused_app_that_lacks_its_way_in_or_its_autoscaler_is_not_as_asked() {
    let with = |more: &Value| {
        let mut spec = json!({ "image": "i", "paused": true });
        more.as_object().into_iter().flatten().for_each(|(name, value)| spec[name] = value.clone());
        let app = app(spec, json!({}));
        let whole = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
        let deployment = live(&app, whole);
        let service = Arc::new(
            runtime::projections::Service::decode("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"s\"}}")
                .unwrap(),
        );
        let wanted = objects::service(&app).map(|apply| apply.fingerprint());
        let service = wanted
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

/// Three pods that run, with a word of an HTTPRoute that is gone, and of an autoscaler whose name was taken.
#[test]
fn a_pass_that_puts_something_back_tells_what_else_is_so_by_now() {
    let conditions = [
        ("Ready", "Running", "1 of 1 pod is ready; the name is taken"),
        ("Stalled", "NameTaken", "the name is taken"),
        ("RouteAccepted", "Accepted", "the Gateway g has accepted the HTTPRoute"),
    ];
    let conditions = conditions.map(|(type_, reason, message)| {
        json!({ "type": type_, "status": "True", "reason": reason, "message": message, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" })
    });
    let told = json!({ "observedGeneration": 2, "conditions": conditions });
    let route = json!({ "host": "a.b", "gateway": { "name": "g" } });
    let app = app(json!({ "image": "i:2", "replicas": 1, "port": 80, "route": route }), told);
    let whole = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
    let deployment = live(&app, whole);
    let plan = plan(&observed(app, deployment), NOW);
    assert_eq!(plan.effects.len(), 1, "its Service is made again");
    assert_eq!(ready(&plan), ("Running", "1 of 1 pod is ready"));
    let contract = &status(&plan).contract;
    assert!(!contract.is_true(condition_type::STALLED));
    assert!(!contract.is_true(api::my_app::ROUTE_ACCEPTED));
}

#[test]
fn a_paused_app_whose_way_in_is_going_is_not_as_asked() {
    let with = |http_route| {
        let route = json!({ "host": "a.b", "gateway": { "name": "g" } });
        let app = app(json!({ "image": "i", "replicas": 0, "port": 80, "route": route, "paused": true }), json!({}));
        let (deployment, wanted) = (live(&app, json!({ "observedGeneration": 2 })), objects::service(&app).unwrap());
        let service = Arc::new(runtime::projections::Service::decode(&wanted.body.to_string()).unwrap());
        let service = ChildState::Owned(OwnedChild { fingerprint: wanted.fingerprint(), view: service });
        let plan = plan(&Observed { service, http_route, ..observed(app, deployment) }, NOW);
        status(&plan).contract.is_true(condition_type::READY)
    };
    assert!(with(Served::Not), "there can be none");
    assert!(!with(Served::Child(ChildState::Terminating)));
}

/// What is put back is no news by itself, but where there is other news, what is told with it holds as well.
#[test]
fn a_deployment_that_is_put_back_is_told_of_with_other_news() {
    let told = |accepted: &str| {
        let condition = |type_: &str, status: &str, reason: &str, message: &str| {
            json!({ "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
                "lastTransitionTime": "1970-01-01T00:00:00Z" })
        };
        let missing = "this cluster does not serve HTTPRoute of gateway.networking.k8s.io/v1; install the Gateway API CRDs and a controller, or set ingressClassName instead of gateway";
        let route = condition(api::my_app::ROUTE_ACCEPTED, accepted, "GatewayAPIMissing", missing);
        let conditions = [condition("Ready", "True", "Running", "1 of 1 pod is ready"), route];
        let route = json!({ "host": "a.b", "gateway": { "name": "g" } });
        let told = json!({ "observedGeneration": 2, "conditions": conditions });
        let app = app(json!({ "image": "i:2", "replicas": 1, "port": 80, "route": route }), told);
        let whole = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
        let ChildState::Owned(mut edited) = live(&app, whole) else { unreachable!() };
        edited.fingerprint = Fingerprint::of_nothing();
        let plan = plan(&Observed { http_route: Served::Not, ..observed(app, ChildState::Owned(edited)) }, NOW);
        ready(&plan).0.to_owned()
    };
    assert_eq!([told("False"), told("Unknown")], ["Running", "Progressing"]);
}

#[test]
fn a_deployment_that_is_put_back_beside_what_is_free_by_now_is_told_of_without_it() {
    let condition = |type_: &str, reason: &str, message: &str| {
        json!({ "type": type_, "status": "True", "reason": reason, "message": message, "observedGeneration": 2,
            "lastTransitionTime": "1970-01-01T00:00:00Z" })
    };
    let conditions = [condition("Ready", "Running", "well; refused"), condition("Stalled", "Rejected", "refused")];
    let app =
        app(json!({ "image": "i:2", "replicas": 1 }), json!({ "observedGeneration": 2, "conditions": conditions }));
    let whole = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1 });
    let ChildState::Owned(mut edited) = live(&app, whole) else { unreachable!() };
    edited.fingerprint = Fingerprint::of_nothing();
    let plan = plan(&observed(app, ChildState::Owned(edited)), NOW);
    assert_eq!(plan.effects.len(), 1);
    assert!(!status(&plan).contract.is_true(condition_type::STALLED));
}
