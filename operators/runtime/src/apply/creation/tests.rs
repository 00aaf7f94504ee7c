//! The requests that applies and creations take, against an API server with one namespace of ConfigMaps and one owner.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::apply::drift::repair::patched::patched;
use crate::cache::{Projection as _, Store};
use crate::leader_election::Fence;
use crate::plan::Effect;
use crate::plan::meta::labels;
use crate::projections::ConfigMap;
use crate::workqueue::{ObjectVersion, Queue, ReconcileResult, Trigger};

mod edits;

const OWNERS: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "Owner", plural: "owners" };

/// The objects by path, and the requests.
#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    asked: Vec<String>,
    version: u64,
    /// Whether an object changes faster than the API server retries a patch.
    refuses_patches: bool,
    /// Whether a patch changes nothing, because the API server normalizes the values that it sets.
    ignores_patches: bool,
}

#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

impl Server {
    fn put(&self, path: &str, object: Value) {
        self.0.lock().unwrap().objects.insert(path.to_owned(), object);
    }

    fn remove(&self, path: &str) {
        self.0.lock().unwrap().objects.remove(path);
    }

    /// The requests since the last time.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (method, uri) = (request.method().clone(), request.uri().clone());
                let body = request.into_body().collect_bytes().await.unwrap();
                let (code, answer) = server.answer(&method, &uri, &serde_json::from_slice(&body).unwrap_or_default());
                let body = Body::from(answer.to_string().into_bytes());
                Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, method: &Method, uri: &http::Uri, body: &Value) -> (u16, Value) {
        let mut state = self.0.lock().unwrap();
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let last = uri.path().rsplit('/').next().unwrap_or_default();
        state.asked.push(format!("{method} {last}{query}"));
        let path = match *method {
            Method::POST => format!("{}/{}", uri.path(), body["metadata"]["name"].as_str().unwrap()),
            _ => uri.path().to_owned(),
        };
        let patches = *method == Method::PATCH && !query.contains("force");
        match (method.as_str(), state.objects.get(&path).cloned()) {
            ("POST", Some(_)) => (409, refusal(409, "AlreadyExists")),
            ("GET", None) => (404, refusal(404, "NotFound")),
            ("GET", Some(live)) => (200, live),
            ("PATCH", None) if patches => (404, refusal(404, "NotFound")),
            ("PATCH", _) if patches && state.refuses_patches => (409, refusal(409, "Conflict")),
            ("PATCH", Some(live)) if patches && state.ignores_patches => (200, live),
            ("PATCH", Some(live)) if body.is_array() && patched(&live, body).is_none() => (422, refusal(422, "")),
            (_, before) => {
                state.version += 1;
                let version = state.version;
                let mut object = before.unwrap_or_else(|| body.clone());
                object = patched(&object, body).unwrap_or(object);
                object["metadata"]["uid"] = object["metadata"]["uid"].as_str().unwrap_or("new").into();
                object["metadata"]["resourceVersion"] = json!(version.to_string());
                state.objects.insert(path, object.clone());
                (200, object)
            }
        }
    }
}

fn refusal(code: u16, reason: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason })
}

const CHILD: &str = "/api/v1/namespaces/n/configmaps/a";
const OWNER: &str = "/apis/example.com/v1/namespaces/n/owners/a";
const CREATED: &str = "POST configmaps?fieldManager=multi-operator-test&fieldValidation=Strict";
const PATCHED: &str = "PATCH a?fieldManager=multi-operator-test";
const APPLIED: &str = "PATCH a?fieldManager=multi-operator-test&force=true";

fn owner() -> Meta {
    serde_json::from_value(json!({ "namespace": "n", "name": "a", "uid": "o", "resourceVersion": "1" })).unwrap()
}

fn reference() -> Value {
    json!([{ "apiVersion": "example.com/v1", "kind": "Owner", "name": "a", "uid": "o", "controller": true }])
}

fn child() -> Apply {
    let metadata = json!({ "labels": labels(&OWNERS, &owner()), "ownerReferences": reference() });
    Apply::new(ConfigMap::KIND, Key::new("n", "a"), &json!({ "metadata": metadata, "data": { "a": "b" } }))
}

async fn writer(server: &Server) -> ObjectWriter {
    let queue = Queue::new("test");
    queue.add(&owner().key);
    drop(queue.next().await);
    let mut writer = ObjectWriter::new(server.client(), queue, "test", Fence::open());
    writer.add_store(&Arc::new(Store::<ConfigMap>::new(1)));
    server.put(OWNER, json!({ "metadata": { "namespace": "n", "name": "a", "uid": "o", "resourceVersion": "1" } }));
    writer
}

/// Applies the child for an owner that had children before or not.
async fn perform(writer: &ObjectWriter, had_children: bool) -> Result<(), Error> {
    let reported = if had_children { Reported::Something } else { Reported::Nothing };
    try_to(writer, reported, child()).await
}

async fn write(writer: &ObjectWriter, apply: Apply) {
    try_to(writer, Reported::Something, apply).await.unwrap();
}

async fn try_to(writer: &ObjectWriter, reported: Reported, apply: Apply) -> Result<(), Error> {
    let effect = Effect::<Infallible>::Apply(apply);
    writer.perform(&OWNERS, &owner(), reported, effect, async |act| match act {}).await
}

#[tokio::test]
async fn an_absent_child_is_created_by_one_request_also_after_its_deletion() {
    let server = Server::default();
    perform(&writer(&server).await, false).await.unwrap();
    assert_eq!(server.asked(), [CREATED]);

    server.remove(CHILD);
    let writer = writer(&server).await;
    perform(&writer, true).await.unwrap();
    assert_eq!(server.asked(), [CREATED], "it existed before, and a user has deleted it");
}

#[tokio::test]
async fn a_child_that_vanishes_again_is_recreated_only_if_its_owner_exists() {
    let server = Server::default();
    let writer = writer(&server).await;
    perform(&writer, true).await.unwrap();
    server.remove(CHILD);
    perform(&writer, true).await.unwrap();
    assert_eq!(server.asked(), [CREATED, "GET a", CREATED]);

    server.remove(CHILD);
    server.remove(OWNER);
    assert_eq!(perform(&writer, true).await.unwrap_err().reason(), ReconcileReason::OwnerLeaving);
    assert_eq!(server.asked(), ["GET a"], "the garbage collector would delete it again");
}

#[tokio::test]
async fn a_child_deleted_soon_after_its_first_creation_is_recreated_by_one_request() {
    let server = Server::default();
    let writer = writer(&server).await;
    perform(&writer, false).await.unwrap();
    server.remove(CHILD);
    perform(&writer, true).await.unwrap();
    assert_eq!(server.asked(), [CREATED, CREATED]);
}

#[tokio::test]
async fn a_foreign_object_is_left_untouched() {
    let server = Server::default();
    let theirs = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "x" }, "data": { "a": "theirs" } });
    server.put(CHILD, theirs.clone());
    let error = perform(&writer(&server).await, false).await.unwrap_err();
    assert_eq!((&*error.reason(), error.stalled()), ("NameTaken", true));
    assert_eq!(server.asked(), [CREATED, "GET a"]);
    assert_eq!(server.0.lock().unwrap().objects[CHILD], theirs);
}

#[tokio::test]
async fn an_orphan_is_adopted_unless_its_owner_is_terminating() {
    let server = Server::default();
    let metadata = json!({ "namespace": "n", "name": "a", "uid": "c", "labels": labels(&OWNERS, &owner()) });
    server.put(CHILD, json!({ "metadata": metadata, "data": { "a": "b" } }));
    let writer = writer(&server).await;
    perform(&writer, true).await.unwrap();
    // Who owns it, whether its owner is being deleted, and which fields a creation of ours owns.
    assert_eq!(server.asked(), [CREATED, "GET a", "GET a", "GET a", APPLIED]);

    server.remove(OWNER);
    assert_eq!(perform(&writer, true).await.unwrap_err().reason(), ReconcileReason::OwnerLeaving);
    let asked = server.asked();
    assert!(!asked.contains(&APPLIED.to_owned()), "{asked:?}");
}

#[tokio::test]
async fn for_kinds_without_creation_a_live_read_precedes_the_first_apply() {
    let server = Server::default();
    let apply = Apply { creates: false, ..child() };
    write(&writer(&server).await, apply).await;
    assert_eq!(server.asked(), ["GET a", "GET a", "PATCH a?fieldManager=multi-operator-test&force=false"]);
    let claim =
        ResourceKind { group: "", version: "v1", kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims" };
    assert!(!Apply::new(claim, Key::new("n", "a"), &json!({ "metadata": {} })).creates);
}
