//! Fields that other clients add where the operator owns everything.

use super::*;
use runtime::projections::{DisruptionBudget, Service};

const OTHER_MANAGER: &str = "kubectl-edit";

/// The child that `apply` creates, after an edit by another client that owns `edited` (a FieldsV1).
pub(super) fn edited<V: Projection>(apply: Apply, edited: &Value, edit: impl FnOnce(&mut Value)) -> V {
    let mut object = apply.body;
    object["metadata"]["uid"] = json!("c");
    edit(&mut object);
    object["metadata"]["managedFields"] = json!([
        { "manager": OTHER_MANAGER, "operation": "Update", "fieldsV1": edited },
    ]);
    V::decode(&object.to_string()).unwrap()
}

pub(super) fn with_port() -> Arc<MyApp> {
    app(json!({ "image": "i:2", "replicas": 0, "port": 80, "disruptionBudget": { "minAvailable": 1 } }), json!({}))
}

/// The plan if everything matches the spec but this edited Service and PodDisruptionBudget.
fn planned(app: &Arc<MyApp>, service: Service, budget: DisruptionBudget) -> Plan<MyAppStatus> {
    let (service, budget) = (Arc::new(service), Arc::new(budget));
    let deployment = live(app, json!({ "observedGeneration": 2 }));
    let fingerprint = objects::service(app).unwrap().fingerprint();
    let service = ChildState::Owned(OwnedChild { view: service, fingerprint });
    let fingerprint = objects::disruption_budget(app).unwrap().fingerprint();
    let budget = ChildState::Owned(OwnedChild { view: budget, fingerprint });
    plan(&Observed { service, budget, ..observed(app.clone(), deployment) }, NOW)
}

fn repaired(plan: &Plan<MyAppStatus>) -> Vec<&str> {
    let applies = plan.effects.iter().map(|effect| match effect {
        Effect::Apply(apply) => {
            assert!(apply.repairs && apply.seen.as_deref() == Some("c"), "{apply:?}");
            apply.kind.kind
        }
        other => panic!("{other:?}"),
    });
    applies.collect()
}

#[test]
fn additions_to_a_service_and_a_budget_are_repaired() {
    let app = with_port();
    let (service, budget) = (objects::service(&app).unwrap(), objects::disruption_budget(&app).unwrap());
    let none = json!({});
    let as_made = || (edited(service.clone(), &none, |_| {}), edited(budget.clone(), &none, |_| {}));
    // A manager with an empty set owns everything. With the same values, that adds nothing.
    let (of_service, of_budget) = as_made();
    assert!(planned(&app, of_service, of_budget).effects.is_empty());

    let typed = edited(service.clone(), &json!({ "f:spec": { "f:type": {} } }), |service| {
        service["spec"]["type"] = json!("NodePort");
    });
    let plan = planned(&app, typed, as_made().1);
    assert_eq!(repaired(&plan), ["Service"]);
    assert_eq!(status(&plan).phase, Some(MyAppPhase::ScaledToZero), "a repair is not reported");

    let ports = json!({ "f:spec": { "f:ports": { "k:{\"port\":81,\"protocol\":\"TCP\"}": {} } } });
    let with_ports = edited(service.clone(), &ports, |service| {
        service["spec"]["ports"][0]["port"] = json!(81);
    });
    let swapped = edited(budget.clone(), &json!({ "f:spec": { "f:maxUnavailable": {} } }), |budget| {
        budget["spec"]["maxUnavailable"] = json!(1);
    });
    assert_eq!(repaired(&planned(&app, with_ports, swapped)), ["Service", "PodDisruptionBudget"]);
}

#[test]
fn an_addition_to_a_deployment_and_a_pause_are_repaired_together() {
    let app = app(json!({ "image": "i:2", "strategy": { "type": "Recreate" } }), json!({}));
    let apply = objects::deployment(&app, &app.spec.image);
    let container = "k:{\"name\":\"app\"}";
    let owned =
        json!({ "f:spec": { "f:template": { "f:spec": { "f:containers": { container: { "f:args": {} } } } } } });
    let deployment: Deployment = edited(apply.clone(), &owned, |deployment| {
        deployment["spec"]["paused"] = json!(true);
        deployment["spec"]["strategy"] = json!({ "rollingUpdate": {} });
        deployment["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["x"]);
    });
    let seen = ChildState::Owned(OwnedChild { fingerprint: apply.fingerprint(), view: Arc::new(deployment) });
    let plan = plan(&observed(app, seen), NOW);
    assert_eq!(repaired(&plan), ["Deployment"], "and no pace is taken away first: the patch does");
    let Effect::Apply(apply) = &plan.effects[0] else { unreachable!() };
    assert_eq!(apply.body["spec"]["paused"], false);
}
