//! Children that refer to a Deployment or a Service by its name.

use api::my_app::SCALING_ACTIVE;
use runtime::Error;
use runtime::apply::adoption::{name_taken, with_name_taken};

use super::autoscaling::{autoscaler, kinds, scaled};
use super::route::{by_gateway, by_ingress, deleted, http_route, independent, ingress, settled, verdict};
use super::*;

/// The same MyApp with a status of that generation which reports that the name of a child is taken.
fn with_name_taken_reported(app: &MyApp, child: &str, generation: i64) -> Arc<MyApp> {
    let why = name_taken(child, "a", &MyApp::KIND).to_string();
    let stalled = json!({ "type": "Stalled", "status": "True", "reason": "NameTaken", "message": why,
        "lastTransitionTime": "1970-01-01T00:00:00Z" });
    let spec = serde_json::to_value(&app.spec).unwrap();
    super::app(spec, json!({ "observedGeneration": generation, "ready": "0/2", "conditions": [stalled] }))
}

/// As after `helm install` of a Deployment of that name while the manager did not run.
#[test]
fn an_autoscaler_of_a_foreign_deployment_is_deleted() {
    let app = scaled(2, 5);
    let works = json!([{ "type": "ScalingActive", "status": "True", "reason": "ValidMetricFound", "message": "" }]);
    let planned = |app: Arc<MyApp>, deployment: ChildState<Deployment>| {
        plan(&Observed { autoscaler: autoscaler(&app, works.clone()), ..observed(app.clone(), deployment) }, NOW)
    };
    let taken = planned(with_name_taken_reported(&app, "Deployment", 2), ChildState::Absent);
    assert_eq!(kinds(&taken), ["delete HorizontalPodAutoscaler", "apply Deployment"]);
    assert!(status(&taken).contract.condition(SCALING_ACTIVE).is_none(), "it does not scale pods of the app");
    assert_eq!(
        kinds(&planned(app.clone(), ChildState::Absent)),
        ["apply Deployment"],
        "it was deleted, and is back in a moment"
    );
    assert_eq!(
        kinds(&planned(with_name_taken_reported(&app, "Deployment", 1), ChildState::Absent)),
        ["apply Deployment"],
        "of another spec"
    );
    assert_eq!(
        kinds(&planned(with_name_taken_reported(&app, "Service", 2), ChildState::Absent)),
        ["apply Deployment"],
        "of another child"
    );
    let back = live(&app, json!({ "observedGeneration": 2 }));
    assert!(
        !kinds(&planned(with_name_taken_reported(&app, "Deployment", 2), back))
            .iter()
            .any(|kind| kind.starts_with("delete"))
    );
}

#[test]
fn a_route_to_a_foreign_service_is_deleted() {
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
        let taken = plan(&seen(with_name_taken_reported(&app, "Service", 2)), NOW);
        assert_eq!(kinds(&taken), [format!("delete {kind}"), "apply Service".to_owned()]);
        assert_eq!(verdict(&taken).map(|(status, _)| status), Some(ConditionStatus::Unknown));
        assert_eq!(kinds(&plan(&seen(app.clone()), NOW)), ["apply Service"], "it was deleted, and is back in a moment");
        // A route that the spec no longer requests leads to the foreign Service as well.
        let mut both = seen(with_name_taken_reported(&app, "Service", 2));
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

/// The Deployment is rejected as well, which the status reports first.
#[test]
fn a_route_to_a_foreign_service_is_deleted_despite_another_failure() {
    let app = by_ingress();
    let rejected = Error::Invalid { reason: ReconcileReason::Rejected.into(), message: "no such resource".into() };
    let both = with_name_taken(&rejected, &name_taken("Service", "a", &MyApp::KIND)).unwrap();
    let stalled = json!({ "type": "Stalled", "status": "True", "reason": both.reason(), "message": both.to_string(),
        "lastTransitionTime": "1970-01-01T00:00:00Z" });
    let spec = serde_json::to_value(&app.spec).unwrap();
    let reported = super::app(spec, json!({ "observedGeneration": 2, "ready": "0/2", "conditions": [stalled] }));
    let seen = Observed { service: ChildState::Absent, ingress: ingress(&app, &json!({})), ..settled(&reported) };
    assert_eq!(kinds(&plan(&seen, NOW)), ["delete Ingress", "apply Service"]);
}

/// It refers to the Deployment by name, and a foreign one may have the name until the operator has created its own.
#[test]
fn the_autoscaler_waits_for_an_owned_deployment() {
    let app = scaled(2, 5);
    let created = plan(&observed(app.clone(), ChildState::Absent), NOW);
    assert_eq!(kinds(&created), ["apply Deployment"]);
    assert_eq!(created.next, Requeue::After(std::time::Duration::from_secs(1)), "a requeue follows");
}

/// It refers to the Service by name, and a foreign one may have the name until the operator has created its own.
#[test]
fn a_route_waits_for_an_owned_service() {
    for app in [by_gateway(), by_ingress()] {
        let created = plan(&Observed { service: ChildState::Absent, ..settled(&app) }, NOW);
        assert_eq!(independent(&created), [""; 0]);
        assert!(
            matches!(created.next, Requeue::After(next) if next <= super::status::REQUEUE_AFTER_OWN_WRITE),
            "{:?}",
            created.next
        );
    }
}
