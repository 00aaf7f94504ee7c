//! What waits for a change of the Deployment, which a policy may refuse for as long as it stands.

use runtime::views::Service;

use super::additions::{edited, with_port};
use super::autoscaling::kinds;
use super::route::{by_ingress, made, settled};
use super::*;

/// The Deployment of `app`, which is to be changed.
fn to_change(app: &MyApp) -> Seen<Deployment> {
    let Seen::Ours(mut changed) = live(app, json!({ "observedGeneration": 2 })) else { unreachable!() };
    changed.fingerprint = Fingerprint::of_nothing();
    Seen::Ours(changed)
}

/// The Service of `app` as an earlier spec had it.
fn of_before(app: &MyApp) -> Seen<Service> {
    let mut before = objects::service(app).unwrap();
    before.body["spec"]["ports"][0]["port"] = json!(8080);
    made(before, &json!({}))
}

#[test]
fn what_somebody_has_deleted_or_edited_does_not() {
    let app = with_port();
    let gone = plan(&observed(app.clone(), to_change(&app)), NOW);
    assert_eq!(kinds(&gone), ["apply Deployment", "aside Service", "aside PodDisruptionBudget"]);
    let service = objects::service(&app).unwrap();
    let fingerprint = service.fingerprint();
    let typed = json!({ "f:spec": { "f:type": {} } });
    let by_hand = Arc::new(edited(service, &typed, |service| service["spec"]["type"] = json!("NodePort")));
    let service = Seen::Ours(Live { view: by_hand, fingerprint });
    let by_hand = plan(&Observed { service, ..observed(app.clone(), to_change(&app)) }, NOW);
    assert_eq!(kinds(&by_hand), ["apply Deployment", "aside Service", "aside PodDisruptionBudget"]);
    let new = plan(&observed(app, Seen::Absent), NOW);
    assert_eq!(kinds(&new), ["apply Deployment", "apply Service", "apply PodDisruptionBudget"]);
}

/// Pods have the ports of the earlier spec until they are replaced.
#[test]
fn a_service_that_the_spec_changes_does_and_ways_in_do_with_it() {
    let app = by_ingress();
    let changed = Observed { service: of_before(&app), deployment: to_change(&app), ..settled(&app) };
    assert_eq!(kinds(&plan(&changed, NOW)), ["apply Deployment", "apply Service", "apply Ingress"]);
    let service = Observed { service: of_before(&app), ..settled(&app) };
    assert_eq!(kinds(&plan(&service, NOW)), ["apply Service", "aside Ingress"], "the pods have them");
    let refused = json!({ "image": "i:2", "replicas": 0, "port": 80, "route": app.spec.route,
        "podOverrides": { "spec": { "containers": [{ "name": "app", "imagge": "x" }] } } });
    let refused = super::app(refused, json!({ "observedGeneration": 2 }));
    let left = plan(&Observed { app: refused.clone(), ..changed }, NOW);
    assert_eq!(kinds(&left), [""; 0], "the Deployment is left as it is");
    let gone = Observed { service: Seen::Absent, ..settled(&app) };
    assert_eq!(kinds(&plan(&Observed { app: refused, ..gone }, NOW)), ["apply Service"]);
}
