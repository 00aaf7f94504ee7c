//! What waits for a change of the Deployment, which a policy may reject for a long time.

use runtime::projections::{DisruptionBudget, Service};

use super::additions::{edited, with_port};
use super::autoscaling::kinds;
use super::route::{by_ingress, created, ingress, settled, verdict};
use super::*;

/// The Deployment of `app`, which differs from the spec.
fn to_change(app: &MyApp) -> ChildState<Deployment> {
    let ChildState::Owned(mut changed) = live(app, json!({ "observedGeneration": 2 })) else { unreachable!() };
    changed.fingerprint = Fingerprint::of_nothing();
    ChildState::Owned(changed)
}

/// The same app with overrides that are rejected, so that its Deployment is not changed.
fn rejected(app: &MyApp) -> Arc<MyApp> {
    let mut spec = serde_json::to_value(&app.spec).unwrap();
    spec["podOverrides"] = json!({ "spec": { "containers": [{ "name": "app", "imagge": "x" }] } });
    super::app(spec, json!({ "observedGeneration": 2 }))
}

/// The Service of `app` with a type that another client has set.
fn by_hand(app: &MyApp) -> ChildState<Service> {
    let service = objects::service(app).unwrap();
    let fingerprint = service.fingerprint();
    let owned = json!({ "f:spec": { "f:type": {} } });
    let view = Arc::new(edited(service, &owned, |service| service["spec"]["type"] = json!("NodePort")));
    ChildState::Owned(OwnedChild { view, fingerprint })
}

#[test]
fn a_deleted_or_edited_service_does_not_wait_for_the_deployment() {
    let app = with_port();
    let planned = ["apply Deployment", "independent Service", "independent PodDisruptionBudget"];
    let deployment = || to_change(&app);
    assert_eq!(kinds(&plan(&observed(app.clone(), deployment()), NOW)), planned);
    let edited = Observed { service: by_hand(&app), ..observed(app.clone(), deployment()) };
    assert_eq!(kinds(&plan(&edited, NOW)), planned);
    let mut selected = objects::service(&app).unwrap();
    selected.body["spec"]["selector"] = json!({ "app": "x" });
    let service = || created::<Service>(selected.clone(), &json!({}));
    let applied = Observed { service: service(), ..observed(app.clone(), deployment()) };
    assert_eq!(kinds(&plan(&applied, NOW)), planned);
    let left = Observed { service: service(), app: rejected(&app), ..observed(app.clone(), deployment()) };
    assert_eq!(kinds(&plan(&left, NOW)), ["apply Service", "apply PodDisruptionBudget"]);
    let new = plan(&observed(app, ChildState::Absent), NOW);
    assert_eq!(kinds(&new), ["apply Deployment", "apply Service", "apply PodDisruptionBudget"]);
}

/// The budget may be about the new number of pods.
#[test]
fn a_changed_budget_waits_for_the_deployment() {
    let app = with_port();
    let mut before = objects::disruption_budget(&app).unwrap();
    before.body["spec"]["minAvailable"] = json!(3);
    let budget = || created::<DisruptionBudget>(before.clone(), &json!({}));
    let changed = Observed { budget: budget(), ..observed(app.clone(), to_change(&app)) };
    assert_eq!(kinds(&plan(&changed, NOW)), ["apply Deployment", "apply PodDisruptionBudget", "independent Service"]);
    let left = Observed { budget: budget(), app: rejected(&app), ..observed(app.clone(), to_change(&app)) };
    assert_eq!(
        kinds(&plan(&left, NOW)),
        ["apply Service", "apply PodDisruptionBudget"],
        "no change of the Deployment is pending"
    );
}

/// Pods have the ports of the earlier spec until they are replaced.
#[test]
fn a_service_with_other_targets_waits_for_the_deployment_and_a_route_for_the_service() {
    let app = by_ingress();
    let before = super::app(json!({ "image": "i:2", "replicas": 0, "port": 8080 }), json!({}));
    let of_before = || created::<Service>(objects::service(&before).unwrap(), &json!({}));
    let changed = |service: ChildState<Service>| Observed { service, deployment: to_change(&before), ..settled(&app) };
    let in_turn = ["apply Deployment", "apply Service", "apply Ingress"];
    assert_eq!(kinds(&plan(&changed(of_before()), NOW)), in_turn);
    let typed = objects::service(&before).unwrap();
    let owned = json!({ "f:spec": { "f:type": {} } });
    let typed = || edited(typed.clone(), &owned, |service| service["spec"]["type"] = json!("NodePort"));
    let typed = || ChildState::Owned(OwnedChild { view: Arc::new(typed()), fingerprint: Fingerprint::of_nothing() });
    assert_eq!(kinds(&plan(&changed(typed()), NOW)), in_turn, "despite additions by other clients");
    for service in [of_before(), typed()] {
        let left = plan(&Observed { app: rejected(&app), ..changed(service) }, NOW);
        assert_eq!(kinds(&left), [""; 0], "the Deployment is not changed");
    }
    let known = ingress(&app, &json!({}));
    let there = Observed { service: of_before(), ingress: known, ..settled(&app) };
    assert_eq!(kinds(&plan(&there, NOW)), ["apply Service"], "the pods have its port");
}

/// An app whose pods are being replaced by pods with another port, if that many pods exist, are of the current template, and are ready,
/// and its previous Service.
fn moving(more: &Value, [replicas, updated, ready]: [i32; 3]) -> Observed {
    let before = super::app(
        json!({ "image": "i:1", "replicas": 3, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] }),
        json!({}),
    );
    let mut spec =
        json!({ "image": "i:2", "replicas": 3, "ports": [{ "name": "http", "port": 80, "targetPort": 9090 }] });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let app = super::app(spec, json!({ "observedGeneration": 2 }));
    let rollout =
        json!({ "observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated, "readyReplicas": ready });
    let deployment = live(&app, rollout);
    Observed { service: applied(&before, |_| {}), ..observed(app, deployment) }
}

/// The Service of `app` after the operator's apply and this edit by another client, which owns the target port.
fn applied(app: &MyApp, edit: impl FnOnce(&mut Value)) -> ChildState<Service> {
    let service = objects::service(app).unwrap();
    let mut object = service.body;
    object["metadata"]["uid"] = json!("s");
    let before = object.clone();
    edit(&mut object);
    let mut port = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
    if object != before {
        drop(port.as_object_mut().unwrap().remove("f:targetPort"));
    }
    let meta = json!({ "f:labels": {}, "f:ownerReferences": {} });
    let spec = json!({ "f:selector": {}, "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": port } });
    let fields = json!({ "f:metadata": meta, "f:spec": spec });
    object["metadata"]["managedFields"] =
        json!([{ "manager": "multi-operator-my-app", "operation": "Apply", "fieldsV1": fields }]);
    let view = Arc::new(Service::decode(&object.to_string()).unwrap());
    ChildState::Owned(OwnedChild { fingerprint: view.fingerprint, view })
}

/// The target port in the Service that the plan applies, if it applies one.
fn target(observed: &Observed) -> Option<Value> {
    let plan = plan(observed, NOW);
    let effects =
        plan.effects.iter().filter_map(|effect| if let Effect::Apply(apply) = effect { Some(apply) } else { None });
    let service = effects.chain(&plan.independent).find(|apply| apply.kind == Service::KIND)?;
    Some(service.body["spec"]["ports"][0]["targetPort"].clone())
}

/// With a Service that leads to a port that no serving pod has, no request reaches the healthy pods.
#[test]
fn a_service_keeps_its_port_until_the_new_pods_serve() {
    let none = json!({});
    let mut edited = moving(&none, [3, 3, 3]);
    let before = super::app(json!({ "image": "i:1", "replicas": 3, "port": 8080 }), json!({}));
    let rollout = json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 });
    edited.deployment = live(&before, rollout);
    let ChildState::Owned(live) = &mut edited.deployment else { unreachable!() };
    live.fingerprint = Fingerprint::of_nothing();
    assert_eq!(kinds(&plan(&edited, NOW)), ["apply Deployment"], "with the edit");
    let ChildState::Owned(live) = &mut edited.deployment else { unreachable!() };
    Arc::get_mut(&mut live.view).unwrap().rollout.ready_replicas = 0;
    assert_eq!(kinds(&plan(&edited, NOW)), ["apply Deployment", "apply Service"], "no earlier pod serves");
    for numbers in [[4, 1, 3], [4, 1, 4], [4, 2, 4], [13, 6, 11]] {
        assert_eq!(target(&moving(&none, numbers)), None, "{numbers:?}");
    }
    for numbers in [[4, 3, 4], [4, 3, 3], [13, 8, 11], [11, 10, 10], [1, 0, 0], [3, 3, 3], [3, 3, 0], [0, 0, 0]] {
        assert_eq!(target(&moving(&none, numbers)), Some(json!(9090)), "{numbers:?}");
    }
    let same = json!({ "ports": [{ "name": "http", "port": 81, "targetPort": 8080 }] });
    assert_eq!(target(&moving(&same, [4, 1, 3])), Some(json!(8080)), "the earlier pods have that port as well");
    let routed = json!({ "route": { "host": "a.example" } });
    assert_eq!(kinds(&plan(&moving(&routed, [4, 1, 3]), NOW)), ["independent Ingress"], "the Service has its port");
    let mut other = routed;
    other["ports"] = json!([{ "name": "http", "port": 90, "targetPort": 9090 }]);
    assert_eq!(route_port(&moving(&other, [4, 1, 3])), Some(json!(80)), "the Service does not");
    other["ports"] = json!([{ "name": "http", "port": 80, "targetPort": 9090 }, { "name": "more", "port": 91 }]);
    assert_eq!(
        kinds(&plan(&moving(&other, [4, 1, 3]), NOW)),
        ["independent Ingress"],
        "the route leads to another port"
    );
}

/// The port in the route that the plan applies, if it applies one.
fn route_port(observed: &Observed) -> Option<Value> {
    let plan = plan(observed, NOW);
    let spec =
        |kind: &str| plan.independent.iter().find(|apply| apply.kind.kind == kind).map(|apply| &apply.body["spec"]);
    let ingress =
        spec("Ingress").map(|spec| &spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"]);
    ingress.or_else(|| spec("HTTPRoute").map(|spec| &spec["rules"][0]["backendRefs"][0]["port"])).cloned()
}

/// If an edit of the route deletes the previous one, no client could connect until the new pods serve.
#[test]
fn a_route_leads_to_the_current_port_of_the_service_until_then() {
    let ports = json!([{ "name": "http", "port": 90, "targetPort": 9090 }]);
    for route in [json!({ "host": "a.example" }), json!({ "host": "a.example", "gateway": { "name": "public" } })] {
        let edited = json!({ "ports": ports, "route": route });
        let mut seen = moving(&edited, [4, 1, 3]);
        assert_eq!(route_port(&seen), Some(json!(80)));
        // The route that results from that spec.
        let there = |apply: Option<Apply>| objects::to_port(apply.unwrap(), 80);
        match route["gateway"].is_null() {
            true => seen.ingress = created(there(objects::ingress(&seen.app)), &json!({})),
            false => seen.http_route = Served::Child(created(there(objects::http_route(&seen.app)), &json!({}))),
        }
        assert_eq!((route_port(&seen), verdict(&plan(&seen, NOW)).unwrap().0), (None, ConditionStatus::Unknown));
        let rollout = [4, 3, 4];
        let then = Observed { deployment: moving(&edited, rollout).deployment, ..seen };
        assert_eq!(route_port(&then), Some(json!(90)), "the new pods have taken over");
    }
    // The Service has a port of the specified number that must not be reachable from outside.
    let swapped =
        json!({ "ports": [{ "name": "admin", "port": 91, "targetPort": 9091 }], "route": { "host": "a.example" } });
    let mut seen = moving(&swapped, [4, 1, 3]);
    let ChildState::Owned(service) = &mut seen.service else { unreachable!() };
    let two = json!([
        { "name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP" },
        { "name": "admin", "port": 91, "targetPort": 9100, "protocol": "TCP" },
    ]);
    Arc::get_mut(&mut service.view).unwrap().ports = Some(two.to_string().into());
    assert_eq!(route_port(&seen), Some(json!(80)));
    // The same while the Deployment is not changed.
    let mut held = moving(&json!({ "ports": ports, "route": { "host": "a.example" } }), [3, 3, 3]);
    let before =
        json!({ "image": "i:1", "replicas": 3, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] });
    held.deployment = to_change(&super::app(before, json!({})));
    held.app = rejected(&held.app);
    assert_eq!(
        (kinds(&plan(&held, NOW)), route_port(&held)),
        (vec!["independent Ingress".to_owned()], Some(json!(80)))
    );
}

#[test]
fn other_fields_and_edited_ports_of_the_service_are_repaired_meanwhile() {
    let options = json!({ "service": { "annotations": { "a": "b" } } });
    assert_eq!(target(&moving(&options, [4, 1, 3])), Some(json!(8080)));
    let before =
        super::app(json!({ "image": "i:1", "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] }), json!({}));
    let edited = || applied(&before, |service| service["spec"]["ports"][0]["targetPort"] = json!(99));
    let by_hand = Observed { service: edited(), ..moving(&json!({}), [4, 1, 3]) };
    assert_eq!(target(&by_hand), Some(json!(9090)));
    let mut ready = moving(&json!({}), [4, 1, 3]);
    let status = json!({ "observedGeneration": 2, "conditions": [{ "type": "Ready", "status": "True", "reason": "Running",
        "message": "", "lastTransitionTime": NOW.to_string() }] });
    ready.app = super::app(serde_json::to_value(&ready.app.spec).unwrap(), status);
    assert_eq!(target(&ready), Some(json!(9090)), "pods have served by this spec");
}

/// Another client has edited the port of the Deployment and of the Service, and the API server now rejects pods with the overrides.
#[test]
fn a_rejection_is_reported_while_a_service_waits_for_its_repair() {
    let spec = json!({ "image": "i:2", "replicas": 3, "port": 80, "podOverrides": { "spec": { "nodeSelector": { "a": "b" } } } });
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Running", "message": "", "lastTransitionTime": NOW.to_string() });
    let app = super::app(spec, json!({ "observedGeneration": 2, "conditions": [ready] }));
    let ChildState::Owned(mut deployment) = to_change(&app) else { unreachable!() };
    Arc::get_mut(&mut deployment.view).unwrap().template.ports[0].number = 81;
    let why = DryRunFailure { is_transient: false, message: "no".into(), due: Duration::from_secs(15) };
    let observed = Observed {
        service: by_hand(&app),
        dry_run_failure: Some(why),
        ..observed(app.clone(), ChildState::Owned(deployment))
    };
    let plan = plan(&observed, NOW);
    assert_eq!(kinds(&plan), [""; 0]);
    assert!(status(&plan).contract.is_true(condition_type::STALLED));
    assert_eq!(ready_reason(&plan), "Rejected");
    assert!(matches!(plan.next, Requeue::After(next) if next > Duration::from_secs(1)), "{:?}", plan.next);
}

fn ready_reason(plan: &Plan<MyAppStatus>) -> &str {
    ready(plan).0
}
