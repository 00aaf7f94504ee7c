//! MyApps: each has a Deployment, and a Service, a PodDisruptionBudget and an Ingress if it wants them.

use api::my_app::MyAppReason;
use serde_json::{Value, json};

use super::definition::{Scenario, reasons};
use super::deletion::propagation;
use crate::api_server::request::Propagation;
use crate::api_server::state::StoredState;
use crate::objects::objects;
use crate::random::Random;
use crate::user::{Deed, UserAct};

/// Two MyApps that are created, edited, scaled and deleted, and whose children are edited, deleted and anticipated by hand.
pub const SCENARIO: Scenario = Scenario {
    name: "my-app",
    controllers: "my-app",
    roots: &["myapps"],
    children: &["deployments", "services", "poddisruptionbudgets", "ingresses", "horizontalpodautoscalers"],
    kept: &["deployments"],
    volatile: &[],
    most_writes: 600,
    reasons: || reasons!(MyAppReason),
    permissions: ::my_app::PERMISSIONS,
    operand_fault: None,
    children_differ,
    act,
    wanted,
};

const NAMES: [&str; 2] = ["web", "shop"];
const IMAGES: [&str; 3] = ["nginx:1.25", "nginx:1.26", "nginx:1.27"];
/// One does not exist, the other ends soon after each start.
const WRONG_IMAGES: [&str; 2] = ["nginx:nope", "nginx:crash"];

fn act(random: &mut Random) -> UserAct {
    let name = random.pick(&NAMES).copied().unwrap_or_default().to_owned();
    let (plural, what) = match random.below(100) {
        0..50 => ("myapps", Deed::Put(json!({ "spec": spec_that_may_fail(random) }))),
        50..57 => ("myapps", Deed::Delete(propagation(random))),
        57..63 => ("myapps", Deed::EraseStatus),
        63..70 => ("deployments", Deed::Edit(json!({ "spec": { "replicas": random.below(5) } }))),
        70..74 => ("deployments", Deed::Edit(json!({ "spec": { "paused": true } }))),
        74..79 => ("deployments", Deed::Edit(json!({ "metadata": { "labels": null } }))),
        79..82 => ("poddisruptionbudgets", Deed::Put(foreign_budget())),
        82..88 => ("deployments", Deed::Delete(propagation(random))),
        88..94 => ("services", Deed::Delete(Propagation::Background)),
        _ => ("services", Deed::Edit(json!({ "spec": { "selector": { "app": "other" } } }))),
    };
    UserAct { plural, name, what }
}

fn children_differ(state: &StoredState, name: &str, app: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let child = |plural| objects(state, plural).find(|(of, _)| *of == name).map(|(_, child)| child);
    let Some(deployment) = child("deployments") else { return vec![format!("at the end, {name} has no Deployment")] };
    let of_spec = [
        ("/spec/replicas", &app["spec"]["replicas"]),
        ("/spec/template/spec/containers/0/image", &app["spec"]["image"]),
    ];
    for (path, wanted) in of_spec {
        if deployment.pointer(path) != Some(wanted) {
            found.push(format!("at the end, {path} of the Deployment {name} is not {wanted}"));
        }
    }
    let service = child("services");
    if service.is_some() == app["spec"]["port"].is_null() {
        found.push(format!("at the end, whether {name} has a Service is not what its port says"));
    }
    for (plural, field) in [("ingresses", "route"), ("poddisruptionbudgets", "disruptionBudget")] {
        if child(plural).is_some() == app["spec"][field].is_null() {
            found.push(format!("at the end, whether {name} has {plural} is not what its {field} says"));
        }
    }
    let selector = service.and_then(|service| service["spec"]["selector"].as_object().cloned()).unwrap_or_default();
    for (pod, object) in objects(state, "pods").filter(|_| service.is_some()) {
        let selected = selector.iter().all(|(label, value)| object["metadata"]["labels"][label] == *value);
        if selected != pod.starts_with(&format!("{name}-")) {
            found.push(format!("at the end, whether the Service {name} selects the pod {pod} is wrong"));
        }
    }
    found
}

fn wanted(random: &mut Random) -> Vec<UserAct> {
    let mut put = |name: &str| {
        let mut spec = spec(random);
        // The status of one without pods names the image that was Ready before, which the run without faults may never have had.
        spec["replicas"] = json!(random.between(1, 3));
        UserAct { plural: "myapps", name: name.to_owned(), what: Deed::Put(json!({ "spec": spec })) }
    };
    let puts: Vec<UserAct> = NAMES.into_iter().map(&mut put).collect();
    // What a user created in the place of a child goes.
    let delete = |name: &str| UserAct {
        plural: "poddisruptionbudgets",
        name: name.to_owned(),
        what: Deed::Delete(Propagation::Background),
    };
    NAMES.into_iter().map(delete).chain(puts).collect()
}

/// A PodDisruptionBudget of a user, unless the MyApp has one: then it is edited.
fn foreign_budget() -> Value {
    json!({ "spec": { "maxUnavailable": 2, "selector": { "matchLabels": { "app": "other" } } } })
}

/// A spec that a user tries: it may never be Ready, or depend on what was before.
fn spec_that_may_fail(random: &mut Random) -> Value {
    let mut spec = spec(random);
    if random.chance(200) {
        spec["image"] = json!(random.pick(&WRONG_IMAGES));
    }
    if random.chance(200) {
        spec["progressDeadlineSeconds"] = json!(60);
        spec["rollback"] = json!("Automatic");
    }
    if random.chance(100) {
        spec["paused"] = json!(true);
    }
    if random.chance(100) {
        spec["restartOn"] = json!([{ "configMapRef": { "name": "settings" } }]);
    }
    if random.chance(100) {
        // The API server of these worlds does not serve the Gateway API.
        spec["port"] = json!(8080);
        spec["route"] = json!({ "host": "a.example.com", "gateway": { "name": "public" } });
    }
    if random.chance(100) {
        // What administrators have not allowed, and what is no field of a pod.
        let overrides = [json!({ "hostNetwork": true }), json!({ "tolerations": "none" })];
        spec["podOverrides"] = json!({ "spec": random.pick(&overrides) });
    }
    if random.chance(150) {
        spec["replicas"] = Value::Null;
        spec["autoscaling"] = json!({ "min": random.between(1, 2), "max": 4, "cpu": "250m" });
    }
    spec
}

/// A spec that can be had, whatever was before.
fn spec(random: &mut Random) -> Value {
    let mut spec = json!({ "image": random.pick(&IMAGES), "replicas": random.below(4) });
    if random.chance(600) {
        spec["port"] = json!(random.between(8080, 8081));
        if random.chance(400) {
            spec["route"] = json!({ "host": random.pick(&["a.example.com", "b.example.com"]) });
        }
    }
    if random.chance(300) {
        spec["disruptionBudget"] = json!({ "maxUnavailable": random.between(1, 2) });
    }
    if random.chance(200) {
        let toleration = json!({ "key": "batch", "operator": "Exists" });
        spec["podOverrides"] = json!({ "spec": { "tolerations": [toleration] } });
    }
    if random.chance(300) {
        spec["env"] = json!([{ "name": "MODE", "value": random.pick(&["a", "b"]) }]);
    }
    if random.chance(200) {
        spec["progressDeadlineSeconds"] = json!(60);
    }
    spec
}
