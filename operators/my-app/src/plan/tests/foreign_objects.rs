//! What names a Deployment or a Service goes by the name alone.

use api::my_app::SCALING_ACTIVE;
use runtime::Error;
use runtime::apply::adoption::{name_taken, with_taken};

use super::autoscaling::{autoscaler, kinds, scaled};
use super::route::{aside, by_gateway, by_ingress, deleted, http_route, ingress, said, settled};
use super::*;

/// The same MyApp, of which the status tells since that generation that a child's name is somebody else's.
fn told_taken(app: &MyApp, child: &str, generation: i64) -> Arc<MyApp> {
    let why = name_taken(child, "a", &MyApp::KIND).to_string();
    let stalled = json!({ "type": "Stalled", "status": "True", "reason": "NameTaken", "message": why,
        "lastTransitionTime": "1970-01-01T00:00:00Z" });
    let spec = serde_json::to_value(&app.spec).unwrap();
    super::app(spec, json!({ "observedGeneration": generation, "ready": "0/2", "conditions": [stalled] }))
}

/// As after `helm install` of a Deployment of that name while the manager was away.
#[test]
fn an_autoscaler_whose_deployment_is_somebody_elses_by_now_goes() {
    let app = scaled(2, 5);
    let works = json!([{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "" }]);
    let beside = |app: Arc<MyApp>, deployment: ChildState<Deployment>| {
        plan(&Observed { autoscaler: autoscaler(&app, works.clone()), ..observed(app.clone(), deployment) }, NOW)
    };
    let taken = beside(told_taken(&app, "Deployment", 2), ChildState::Absent);
    assert_eq!(kinds(&taken), ["delete HorizontalPodAutoscaler", "apply Deployment"]);
    assert!(status(&taken).contract.condition(SCALING_ACTIVE).is_none(), "it scales none of ours");
    assert_eq!(
        kinds(&beside(app.clone(), ChildState::Absent)),
        ["apply Deployment"],
        "it was deleted, and is back in a moment"
    );
    assert_eq!(
        kinds(&beside(told_taken(&app, "Deployment", 1), ChildState::Absent)),
        ["apply Deployment"],
        "of another spec"
    );
    assert_eq!(
        kinds(&beside(told_taken(&app, "Service", 2), ChildState::Absent)),
        ["apply Deployment"],
        "of another child"
    );
    let back = live(&app, json!({ "observedGeneration": 2 }));
    assert!(!kinds(&beside(told_taken(&app, "Deployment", 2), back)).iter().any(|kind| kind.starts_with("delete")));
}

#[test]
fn a_way_in_whose_service_is_somebody_elses_by_now_goes() {
    for (app, kind) in [(by_gateway(), "HTTPRoute"), (by_ingress(), "Ingress")] {
        let seen = |app: Arc<MyApp>| {
            let mut seen = Observed { service: ChildState::Absent, ..settled(&app) };
            match kind {
                "Ingress" => {
                    seen.ingress = ingress(&app, &json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } }))
                }
                _ => seen.http_route = http_route(&app, &json!({})),
            }
            seen
        };
        let taken = plan(&seen(told_taken(&app, "Service", 2)), NOW);
        assert_eq!(kinds(&taken), [format!("delete {kind}"), "apply Service".to_owned()]);
        assert_eq!(said(&taken).map(|(status, _)| status), Some(ConditionStatus::Unknown));
        assert_eq!(kinds(&plan(&seen(app.clone()), NOW)), ["apply Service"], "it was deleted, and is back in a moment");
        // One that is not asked for any more leads to it as well.
        let mut both = seen(told_taken(&app, "Service", 2));
        both.ingress = ingress(&by_ingress(), &json!({}));
        both.http_route = http_route(&by_gateway(), &json!({}));
        both.service = ChildState::Absent;
        assert_eq!(kinds(&plan(&both, NOW)), ["delete Ingress", "delete HTTPRoute", "apply Service"]);
        let mut paused = MyApp::clone(&both.app);
        paused.spec.paused = true;
        both.app = Arc::new(paused);
        assert_eq!(deleted(&plan(&both, NOW)), [""; 0], "a pause changes nothing");
    }
}

/// The Deployment is rejected as well, which is told first.
#[test]
fn a_way_in_goes_though_something_else_has_failed_too() {
    let app = by_ingress();
    let rejected = Error::Invalid { reason: ReconcileReason::Rejected.into(), message: "no such resource".into() };
    let both = with_taken(&rejected, &name_taken("Service", "a", &MyApp::KIND)).unwrap();
    let stalled = json!({ "type": "Stalled", "status": "True", "reason": both.reason(), "message": both.to_string(),
        "lastTransitionTime": "1970-01-01T00:00:00Z" });
    let spec = serde_json::to_value(&app.spec).unwrap();
    let told = super::app(spec, json!({ "observedGeneration": 2, "ready": "0/2", "conditions": [stalled] }));
    let seen = Observed { service: ChildState::Absent, ingress: ingress(&app, &json!({})), ..settled(&told) };
    assert_eq!(kinds(&plan(&seen, NOW)), ["delete Ingress", "apply Service"]);
}

/// It goes by the name of the Deployment, which may be somebody else's until ours is there.
#[test]
fn nothing_is_scaled_before_the_deployment_is_ours() {
    let app = scaled(2, 5);
    let made = plan(&observed(app.clone(), ChildState::Absent), NOW);
    assert_eq!(kinds(&made), ["apply Deployment"]);
    assert_eq!(made.next, Requeue::After(std::time::Duration::from_secs(1)), "then it is looked at again");
}

/// It leads to the Service of the name, which may be somebody else's until ours is there.
#[test]
fn no_route_leads_to_a_service_that_is_not_ours() {
    for app in [by_gateway(), by_ingress()] {
        let made = plan(&Observed { service: ChildState::Absent, ..settled(&app) }, NOW);
        assert_eq!(aside(&made), [""; 0]);
        assert!(
            matches!(made.next, Requeue::After(next) if next <= super::status::REQUEUE_AFTER_OWN_WRITE),
            "{:?}",
            made.next
        );
    }
}
