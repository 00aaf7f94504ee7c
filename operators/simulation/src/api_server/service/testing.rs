//! An API server for tests.

use serde_json::{Value, json};

use super::*;
use crate::api_server::kinds::Kinds;
use crate::api_server::request::{DeleteOptions, Verb};

/// An API server with the namespace `n`.
pub(in crate::api_server) fn server() -> SimulatedApiServer {
    let server = SimulatedApiServer::new(StoredState::new(Kinds::all()), Random::new(1));
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
    let mut request = request(&server, "namespaces", None, Verb::Create { body: namespace, strict: false });
    request.namespace = None;
    server.perform(&request).unwrap();
    server
}

/// A request of a user in the namespace `n`.
pub(in crate::api_server) fn request(
    server: &SimulatedApiServer,
    plural: &str,
    name: Option<&str>,
    verb: Verb,
) -> ApiRequest {
    ApiRequest {
        user: "user".to_owned(),
        kind: server.read(|state| state.kinds().plural(plural)).unwrap(),
        namespace: Some("n".to_owned()),
        name: name.map(str::to_owned),
        subresource: None,
        verb,
        manager: "user".to_owned(),
        metadata_only: false,
        sent: None,
    }
}

/// A ConfigMap with the label `a` and the entry `k`.
pub(in crate::api_server) fn config(name: &str, label: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "n", "labels": { "a": label } },
        "data": { "k": value },
    })
}

pub(in crate::api_server) fn create(server: &SimulatedApiServer, body: Value) {
    server.perform(&request(server, "configmaps", None, Verb::Create { body, strict: false })).unwrap();
}

pub(in crate::api_server) fn update(server: &SimulatedApiServer, body: Value) {
    let name = body["metadata"]["name"].as_str().map(str::to_owned);
    server.perform(&request(server, "configmaps", name.as_deref(), Verb::Update { body })).unwrap();
}

pub(in crate::api_server) fn delete(server: &SimulatedApiServer, name: &str) {
    let verb = Verb::Delete(DeleteOptions::default());
    server.perform(&request(server, "configmaps", Some(name), verb)).unwrap();
}
