//! What waits for a change of the Deployment, which a policy may refuse for as long as it stands.

use runtime::views::{DisruptionBudget, Service};

use super::additions::{edited, with_port};
use super::autoscaling::kinds;
use super::route::{by_ingress, ingress, made, settled};
use super::*;

/// The Deployment of `app`, which is to be changed.
fn to_change(app: &MyApp) -> Seen<Deployment> {
    let Seen::Ours(mut changed) = live(app, json!({ "observedGeneration": 2 })) else { unreachable!() };
    changed.fingerprint = Fingerprint::of_nothing();
    Seen::Ours(changed)
}

/// The same app with overrides that are refused, so that its Deployment is left as it is.
fn refused(app: &MyApp) -> Arc<MyApp> {
    let mut spec = serde_json::to_value(&app.spec).unwrap();
    spec["podOverrides"] = json!({ "spec": { "containers": [{ "name": "app", "imagge": "x" }] } });
    super::app(spec, json!({ "observedGeneration": 2 }))
}

/// The Service of `app`, of a type that somebody has set.
fn by_hand(app: &MyApp) -> Seen<Service> {
    let service = objects::service(app).unwrap();
    let fingerprint = service.fingerprint();
    let owned = json!({ "f:spec": { "f:type": {} } });
    let view = Arc::new(edited(service, &owned, |service| service["spec"]["type"] = json!("NodePort")));
    Seen::Ours(Live { view, fingerprint })
}

#[test]
fn a_deleted_or_edited_service_does_not_wait_for_the_deployment() {
    let app = with_port();
    let beside = ["apply Deployment", "aside Service", "aside PodDisruptionBudget"];
    let deployment = || to_change(&app);
    assert_eq!(kinds(&plan(&observed(app.clone(), deployment()), NOW)), beside);
    let edited = Observed { service: by_hand(&app), ..observed(app.clone(), deployment()) };
    assert_eq!(kinds(&plan(&edited, NOW)), beside);
    let mut selected = objects::service(&app).unwrap();
    selected.body["spec"]["selector"] = json!({ "app": "x" });
    let service = || made::<Service>(selected.clone(), &json!({}));
    let applied = Observed { service: service(), ..observed(app.clone(), deployment()) };
    assert_eq!(kinds(&plan(&applied, NOW)), beside);
    let left = Observed { service: service(), app: refused(&app), ..observed(app.clone(), deployment()) };
    assert_eq!(kinds(&plan(&left, NOW)), ["apply Service", "apply PodDisruptionBudget"]);
    let new = plan(&observed(app, Seen::Absent), NOW);
    assert_eq!(kinds(&new), ["apply Deployment", "apply Service", "apply PodDisruptionBudget"]);
}

/// It goes by the number of pods.
#[test]
fn a_changed_budget_waits_for_the_deployment() {
    let app = with_port();
    let mut before = objects::disruption_budget(&app).unwrap();
    before.body["spec"]["minAvailable"] = json!(3);
    let budget = || made::<DisruptionBudget>(before.clone(), &json!({}));
    let changed = Observed { budget: budget(), ..observed(app.clone(), to_change(&app)) };
    assert_eq!(kinds(&plan(&changed, NOW)), ["apply Deployment", "apply PodDisruptionBudget", "aside Service"]);
    let left = Observed { budget: budget(), app: refused(&app), ..observed(app.clone(), to_change(&app)) };
    assert_eq!(kinds(&plan(&left, NOW)), ["apply Service", "apply PodDisruptionBudget"], "no change is waited for");
}

/// Pods have the ports of the earlier spec until they are replaced.
#[test]
fn a_service_with_other_targets_waits_for_the_deployment_and_a_route_for_the_service() {
    let app = by_ingress();
    let before = super::app(json!({ "image": "i:2", "replicas": 0, "port": 8080 }), json!({}));
    let of_before = || made::<Service>(objects::service(&before).unwrap(), &json!({}));
    let changed = |service: Seen<Service>| Observed { service, deployment: to_change(&before), ..settled(&app) };
    let in_turn = ["apply Deployment", "apply Service", "apply Ingress"];
    assert_eq!(kinds(&plan(&changed(of_before()), NOW)), in_turn);
    let typed = objects::service(&before).unwrap();
    let owned = json!({ "f:spec": { "f:type": {} } });
    let typed = || edited(typed.clone(), &owned, |service| service["spec"]["type"] = json!("NodePort"));
    let typed = || Seen::Ours(Live { view: Arc::new(typed()), fingerprint: Fingerprint::of_nothing() });
    assert_eq!(kinds(&plan(&changed(typed()), NOW)), in_turn, "whatever somebody has added to it");
    for service in [of_before(), typed()] {
        let left = plan(&Observed { app: refused(&app), ..changed(service) }, NOW);
        assert_eq!(kinds(&left), [""; 0], "the Deployment is left as it is");
    }
    let known = ingress(&app, &json!({}));
    let there = Observed { service: of_before(), ingress: known, ..settled(&app) };
    assert_eq!(kinds(&plan(&there, NOW)), ["apply Service"], "the pods have its port");
}
