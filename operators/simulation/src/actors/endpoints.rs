//! The EndpointSlices of headless Services, from which cluster DNS publishes names. Slices of other Services are not modelled:
//! no manager reads them.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client, is_outdated};
use super::object::{controller, controller_reference, is_deleting, items, name, namespace, set, text, uid};
use super::pod::is_ended;
use super::{conditions, selector};
use crate::api_server::kinds::KindId;
use crate::api_server::request::ApiError;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

/// The controller of EndpointSlices.
pub struct EndpointSliceController;

impl Actor for EndpointSliceController {
    fn name(&self) -> &'static str {
        "endpointslice-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["services", "pods", "endpointslices"]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let (kind, slices) = (client.kind("services")?, client.kind("endpointslices")?);
        let services = client.list(kind);
        let mut headless = services.iter().filter(|service| is_headless(service) && !is_deleting(service)).peekable();
        headless.peek()?;
        let (pods, present) = (client.list(client.kind("pods")?), client.list(slices));
        let mut failed = false;
        for service in headless {
            let wanted: Vec<Value> = pods.iter().filter_map(|pod| endpoint(service, pod)).collect();
            let slice = present.iter().find(|slice| {
                let owner = controller(slice).map(|owner| text(&owner["uid"]));
                owner == Some(uid(service)) && !is_deleting(slice)
            });
            let done = publish(&client, slices, service, slice.map(|slice| &**slice), wanted);
            failed |= done.is_err_and(|refused| !is_outdated(&refused));
        }
        failed.then_some(RETRY)
    }
}

fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None" && service["spec"]["selector"].is_object()
}

/// The endpoint that a pod is for a Service: once it has an address, and is ready or published before that.
fn endpoint(service: &Value, pod: &Value) -> Option<Value> {
    let selected = selector::matches(&json!({ "matchLabels": service["spec"]["selector"] }), pod);
    let address = pod["status"]["podIP"].as_str()?;
    if !selected || is_ended(pod) || namespace(pod) != namespace(service) {
        return None;
    }
    let is_ready = conditions::find_true(&pod["status"], "Ready").is_some() && !is_deleting(pod);
    let ready = is_ready || service["spec"]["publishNotReadyAddresses"] == true;
    Some(json!({
        "addresses": [address], "conditions": { "ready": ready, "serving": ready, "terminating": is_deleting(pod) },
        "targetRef": { "kind": "Pod", "name": name(pod), "namespace": namespace(pod), "uid": uid(pod) },
    }))
}

fn publish(
    client: &Client<'_>,
    kind: KindId,
    service: &Value,
    slice: Option<&Value>,
    endpoints: Vec<Value>,
) -> Result<(), ApiError> {
    let endpoints = Value::Array(endpoints);
    let Some(slice) = slice else {
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": endpoints,
            "metadata": {
                "generateName": format!("{}-", name(service)), "namespace": namespace(service),
                "labels": { "kubernetes.io/service-name": name(service) },
                "ownerReferences": [controller_reference(service, "v1", "Service")],
            },
        });
        return client.create(kind, slice).map(drop);
    };
    if slice["endpoints"] == endpoints || (items(&slice["endpoints"]).is_empty() && items(&endpoints).is_empty()) {
        return Ok(());
    }
    let mut changed = slice.clone();
    set(&mut changed, &["endpoints"], endpoints);
    client.update(kind, changed).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, NAMESPACE};
    use super::*;
    use crate::api_server::request::DeleteOptions;

    fn service(name: &str, headless: bool) -> Value {
        let mut spec = json!({ "selector": { "app": "a" }, "ports": [{ "port": 80 }] });
        if headless {
            set(&mut spec, &["clusterIP"], json!("None"));
        }
        json!({ "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec })
    }

    #[test]
    fn a_headless_service_publishes_its_pods_and_another_has_no_slice() {
        let server = testing::server();
        let mut actors = super::super::all(Vec::new());
        testing::create(&server, "services", service("peers", true));
        testing::create(&server, "services", service("clients", false));
        for (pod, app) in [("a-0", "a"), ("b-0", "b")] {
            let spec = json!({ "containers": [{ "name": "app", "image": "app:1" }] });
            let metadata = json!({ "name": pod, "namespace": NAMESPACE, "labels": { "app": app } });
            testing::create(&server, "pods", json!({ "metadata": metadata, "spec": spec }));
        }
        let now = testing::settle(&server, &mut actors, runtime::clock::now());
        let slices = testing::list(&server, "endpointslices");
        assert_eq!(slices.len(), 1);
        assert_eq!(slices[0]["metadata"]["labels"]["kubernetes.io/service-name"], "peers");
        let published: Vec<&str> =
            items(&slices[0]["endpoints"]).iter().map(|one| text(&one["targetRef"]["name"])).collect();
        assert_eq!(published, ["a-0"]);
        assert_eq!(slices[0]["endpoints"][0]["conditions"]["ready"], true);
        let pod = testing::get(&server, "pods", "a-0").unwrap();
        testing::delete(&server, "pods", &pod, DeleteOptions::default());
        testing::settle(&server, &mut actors, now);
        assert_eq!(items(&testing::list(&server, "endpointslices")[0]["endpoints"]).len(), 0);
        assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
    }
}
