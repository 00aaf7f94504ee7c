//! The namespace controller: deletes the content of a terminating namespace, pods first, and then the namespace.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client, Target, is_outdated};
use super::object::{is_deleting, items, name, remove};
use crate::api_server::kinds::KindId;
use crate::api_server::request::DeleteOptions;
use crate::api_server::service::SimulatedApiServer;
use crate::api_server::state::StoredState;
use crate::random::Random;

/// The namespace controller. It writes no conditions.
pub struct NamespaceController;

/// An object in a namespace, and its kind.
type Content = (KindId, Arc<Value>);

impl Actor for NamespaceController {
    fn name(&self) -> &'static str {
        "namespace-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let (namespaces, pods) = (client.kind("namespaces")?, client.kind("pods")?);
        let mut failed = false;
        for namespace in client.list(namespaces).iter().filter(|namespace| is_deleting(namespace)) {
            let content = server.read(|state| content(state, name(namespace)));
            if content.is_empty() && !items(&namespace["spec"]["finalizers"]).is_empty() {
                failed |= client.update(namespaces, finalized(namespace)).is_err_and(|refused| !is_outdated(&refused));
            }
            for target in to_delete(&content, pods) {
                let deleted = client.delete(target, DeleteOptions::default());
                failed |= deleted.is_err_and(|refused| !is_outdated(&refused));
            }
        }
        failed.then_some(RETRY)
    }
}

/// The namespace as the controller leaves it: finalizers of its metadata may hold it yet.
fn finalized(namespace: &Value) -> Value {
    let mut namespace = namespace.clone();
    remove(&mut namespace, &["spec"]);
    namespace
}

/// All objects of a namespace.
fn content(state: &StoredState, namespace: &str) -> Vec<Content> {
    let kinds = (0..).map_while(|kind| Some((kind, state.kinds().get(kind)?)));
    let namespaced = kinds.filter(|(_, kind)| kind.namespaced).map(|(id, _)| id);
    let objects = |kind| {
        state.all(kind).filter(move |(key, _)| key.0 == namespace).map(move |(_, object)| (kind, Arc::clone(object)))
    };
    namespaced.flat_map(objects).collect()
}

/// What is to be deleted next: the pods, then everything else. (feature `OrderedNamespaceDeletion`)
fn to_delete(content: &[Content], pods: KindId) -> Vec<Target> {
    let has_pods = content.iter().any(|(kind, _)| *kind == pods);
    let next = content.iter().filter(|(kind, object)| (*kind == pods || !has_pods) && !is_deleting(object));
    next.map(|(kind, object)| Target::of(*kind, object)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, NAMESPACE};
    use super::*;
    use serde_json::json;

    #[test]
    fn pods_are_deleted_first_and_objects_with_a_deletion_time_only_awaited() {
        let object = |name: &str| Arc::new(json!({ "metadata": { "name": name, "namespace": "n" } }));
        let deleting = Arc::new(json!({ "metadata": { "name": "d", "deletionTimestamp": "2026-01-01T00:00:00Z" } }));
        let names =
            |content: &[Content]| to_delete(content, 1).into_iter().map(|target| target.name).collect::<Vec<_>>();
        assert_eq!(names(&[(0, object("map")), (1, object("pod"))]), ["pod"]);
        assert_eq!(names(&[(0, object("map")), (1, Arc::clone(&deleting))]), Vec::<String>::new());
        assert_eq!(names(&[(0, object("map")), (0, deleting)]), ["map"]);
    }

    #[test]
    fn a_namespace_goes_with_its_content_and_waits_for_finalizers() {
        let server = testing::server();
        let mut actors = super::super::all(Vec::new());
        testing::create(&server, "deployments", testing::deployment("a", 1));
        let held =
            json!({ "metadata": { "name": "held", "namespace": NAMESPACE, "finalizers": ["example.com/hold"] } });
        testing::create(&server, "configmaps", held);
        let now = testing::settle(&server, &mut actors, runtime::clock::now());
        let find = || testing::list(&server, "namespaces").into_iter().find(|one| name(one) == NAMESPACE);
        testing::delete(&server, "namespaces", &find().unwrap(), DeleteOptions::default());
        let now = testing::settle(&server, &mut actors, now);
        assert!(testing::list(&server, "pods").is_empty());
        assert!(testing::list(&server, "deployments").is_empty());
        assert!(find().is_some(), "a finalizer holds a ConfigMap");
        testing::merge(&server, "configmaps", "held", json!({ "metadata": { "finalizers": null } }));
        testing::settle(&server, &mut actors, now);
        assert_eq!(find(), None);
        assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
    }
}
