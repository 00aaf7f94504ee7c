//! A small world for the tests of actors, without a runtime: they step in turn.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Actor;
use super::client::{Client, Target};
use super::object::set;
use crate::api_server::kinds::Kinds;
use crate::api_server::request::DeleteOptions;
use crate::api_server::service::SimulatedApiServer;
use crate::api_server::state::StoredState;
use crate::random::Random;

/// The namespace of all objects.
pub const NAMESPACE: &str = "test";

const USER: &str = "user";

/// An API server with the namespace.
pub fn server() -> SimulatedApiServer {
    let server = SimulatedApiServer::new(StoredState::new(Kinds::all()), Random::new(1));
    // A state may begin with namespaces of its own.
    if list(&server, "namespaces").iter().all(|namespace| namespace["metadata"]["name"] != NAMESPACE) {
        create(&server, "namespaces", json!({ "metadata": { "name": NAMESPACE } }));
    }
    server
}

/// Creates an object of that kind.
pub fn create(server: &SimulatedApiServer, plural: &str, mut object: Value) -> Value {
    let client = Client::new(server, USER);
    let kind = client.kind(plural).unwrap();
    let (api_version, name) = server.read(|state| {
        let kind = state.kinds().get(kind).unwrap();
        (kind.api_version(), kind.kind.clone())
    });
    set(&mut object, &["apiVersion"], json!(api_version));
    set(&mut object, &["kind"], json!(name));
    client.create(kind, object).unwrap()
}

/// All objects of that kind.
pub fn list(server: &SimulatedApiServer, plural: &str) -> Vec<Arc<Value>> {
    let client = Client::new(server, USER);
    client.list(client.kind(plural).unwrap())
}

/// The object of that name.
pub fn get(server: &SimulatedApiServer, plural: &str, name: &str) -> Option<Arc<Value>> {
    let client = Client::new(server, USER);
    client.get(client.kind(plural).unwrap(), NAMESPACE, name)
}

/// Patches the object of that name.
pub fn merge(server: &SimulatedApiServer, plural: &str, name: &str, patch: Value) -> Value {
    let client = Client::new(server, USER);
    let kind = client.kind(plural).unwrap();
    client.merge(Target { kind, namespace: NAMESPACE.to_owned(), name: name.to_owned() }, patch).unwrap()
}

/// Deletes an object.
pub fn delete(server: &SimulatedApiServer, plural: &str, object: &Value, options: DeleteOptions) {
    let client = Client::new(server, USER);
    client.delete(Target::of(client.kind(plural).unwrap(), object), options).unwrap();
}

/// Steps all actors until nothing changes and no timer is due within two minutes. Returns the time at the end.
pub fn settle(server: &SimulatedApiServer, actors: &mut [Box<dyn Actor>], mut now: Timestamp) -> Timestamp {
    let mut random = Random::new(1);
    for _ in 0..500 {
        let before = server.read(StoredState::version);
        let again = actors.iter_mut().filter_map(|actor| actor.step(server, now, &mut random)).min();
        if server.read(StoredState::version) == before {
            let Some(after) = again.filter(|after| *after < Duration::from_secs(120)) else { return now };
            now = later(now, after + Duration::from_millis(1));
        }
    }
    panic!("the actors never come to rest");
}

/// That time, later.
pub fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(SignedDuration::try_from(by).unwrap()).unwrap()
}

/// A Deployment of one container.
pub fn deployment(name: &str, replicas: i64) -> Value {
    json!({
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "app", "image": "app:1" }] },
            },
        },
    })
}
