//! MyApps: each has a Deployment, and a Service, a PodDisruptionBudget and an Ingress if it wants them.

use serde_json::{Value, json};

use super::definition::Scenario;
use super::deletion::propagation;
use crate::api_server::request::Propagation;
use crate::api_server::state::StoredState;
use crate::objects::objects;
use crate::random::Random;
use crate::user::{Deed, UserAct};

/// Two MyApps that are created, edited, scaled and deleted, and whose children are edited and deleted by hand.
pub const SCENARIO: Scenario = Scenario {
    name: "my-app",
    controllers: "my-app",
    roots: &["myapps"],
    children: &["deployments", "services", "poddisruptionbudgets", "ingresses", "horizontalpodautoscalers"],
    kept: &["deployments"],
    volatile: &[],
    most_writes: 600,
    operand_fault: None,
    children_differ,
    act,
    wanted,
};

const NAMES: [&str; 2] = ["web", "shop"];
const IMAGES: [&str; 3] = ["nginx:1.25", "nginx:1.26", "nginx:1.27"];
/// Does not exist.
const WRONG_IMAGE: &str = "nginx:nope";

fn act(random: &mut Random) -> UserAct {
    let name = random.pick(&NAMES).copied().unwrap_or_default().to_owned();
    let (plural, what) = match random.below(100) {
        0..50 => ("myapps", Deed::Put(json!({ "spec": spec(random) }))),
        50..58 => ("myapps", Deed::Delete(propagation(random))),
        58..66 => ("myapps", Deed::EraseStatus),
        66..76 => ("deployments", Deed::Edit(json!({ "spec": { "replicas": random.below(5) } }))),
        76..82 => ("deployments", Deed::Edit(json!({ "metadata": { "labels": null } }))),
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
        spec["image"] = json!(random.pick(&IMAGES));
        // The status of one without pods names the image that was Ready before, which the run without faults may never have had.
        spec["replicas"] = json!(random.between(1, 3));
        UserAct { plural: "myapps", name: name.to_owned(), what: Deed::Put(json!({ "spec": spec })) }
    };
    NAMES.into_iter().map(&mut put).collect()
}

fn spec(random: &mut Random) -> Value {
    let exists = random.chance(800);
    let image = random.pick(&IMAGES).copied().filter(|_| exists).unwrap_or(WRONG_IMAGE);
    let mut spec = json!({ "image": image, "replicas": random.below(4) });
    if random.chance(600) {
        spec["port"] = json!(random.between(8080, 8081));
    }
    if random.chance(300) {
        spec["env"] = json!([{ "name": "MODE", "value": random.pick(&["a", "b"]) }]);
    }
    if random.chance(200) {
        spec["progressDeadlineSeconds"] = json!(60);
    }
    spec
}
