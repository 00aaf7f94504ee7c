//! When an object is requeued.

use std::convert::Infallible;
use std::sync::Mutex;

use api::sample::SampleStatus;
use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::apply::ObjectWriter;
use crate::cache::{CacheEntry, Store};
use crate::controller::WatchBuilder;
use crate::leader_election::Fence;
use crate::plan::meta::{Key, ResourceKind};
use crate::plan::{Apply, Plan};
use crate::projections::{ConfigMap, Custom, CustomKind};
use crate::status::NoOpWrites;
use crate::workqueue::Queue;

#[derive(Debug)]
struct Named;

impl CustomKind for Named {
    const KIND: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "Named", plural: "nameds" };
    type Spec = Vec<String>;
    type Status = SampleStatus;
}

/// Applies the ConfigMaps that the spec names and that do not exist: the one named `effect` as an effect, others independently.
struct Test {
    objects: Arc<Store<Custom<Named>>>,
    created: Arc<Mutex<Vec<String>>>,
}

impl Operator for Test {
    const NAME: &'static str = "test";
    type Object = Custom<Named>;
    type Observed = Vec<String>;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<Self::Object>> {
        &self.objects
    }

    fn watch(&self, _: &mut WatchBuilder) {}

    async fn observe(&self, object: &Arc<Self::Object>) -> Result<Self::Observed, Error> {
        let created = self.created.lock().unwrap();
        Ok(object.spec.iter().filter(|name| !created.contains(*name)).cloned().collect())
    }

    fn plan(missing: &Self::Observed, _: Timestamp) -> Plan<SampleStatus, Infallible> {
        let apply =
            |name: &String| Apply::new(ConfigMap::KIND, Key::new("n", name), &json!({ "metadata": { "name": name } }));
        let (effects, independent): (Vec<_>, Vec<_>) =
            missing.iter().map(apply).partition(|apply| *apply.key.name == *"effect");
        Plan { effects: effects.into_iter().map(Effect::Apply).collect(), independent, ..Plan::nothing() }
    }

    async fn act(&self, _: &Arc<Self::Object>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}

/// An API server that rejects the creation of these objects.
fn operator(refused: &Arc<Mutex<Vec<&'static str>>>) -> (Test, StatusWriter) {
    answering(refused, 500)
}

/// The same, with that code.
fn answering(refused: &Arc<Mutex<Vec<&'static str>>>, refusal: u16) -> (Test, StatusWriter) {
    let operator = Test { objects: Arc::new(Store::new(1)), created: Arc::default() };
    let (refused, created) = (refused.clone(), operator.created.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (refused, created) = (refused.clone(), created.clone());
        async move {
            let creates = request.method() == Method::POST;
            let body: serde_json::Value =
                serde_json::from_slice(&request.into_body().collect_bytes().await.unwrap()).unwrap();
            let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let code = if creates && refused.lock().unwrap().contains(&&*name) { refusal } else { 200 };
            if creates && code == 200 {
                created.lock().unwrap().push(name.clone());
            }
            let answer = match code {
                200 => json!({ "metadata": { "namespace": "n", "name": name, "uid": "u", "resourceVersion": "9" } }),
                _ => {
                    json!({ "kind": "Status", "status": "Failure", "code": code, "reason": "InternalError", "message": "no" })
                }
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    let client = Client::new(service, "default");
    let events = crate::events::channel(client.clone(), "manager").0("test");
    let mut writer = ObjectWriter::new(client, Queue::new("test"), "test", Fence::open());
    writer.add_store(&operator.objects);
    (
        operator,
        StatusWriter {
            writer,
            events,
            managed_by: "ns/lease".to_owned(),
            controller: "test",
            no_op_writes: NoOpWrites::default(),
        },
    )
}

fn object(spec: &[&str]) -> Arc<Custom<Named>> {
    let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "o", "resourceVersion": "7", "generation": 1 },
        "spec": spec });
    CacheEntry::decode(&object.to_string()).unwrap().into_object().expect("it decodes")
}

#[tokio::test]
async fn an_object_is_requeued_after_an_independent_apply() {
    let refused = Arc::new(Mutex::new(vec!["a"]));
    let (operator, context) = operator(&refused);
    let object = object(&["a"]);
    let reconciled = async || reconcile(&operator, &context, &object, 0).await.unwrap();
    let Requeue::After(again) = reconciled().await else { panic!("it is retried") };
    assert!(again < REQUEUE_AFTER_INDEPENDENT_APPLY, "{again:?}");
    refused.lock().unwrap().clear();
    tokio::time::sleep(again).await;
    assert_eq!(reconciled().await, Requeue::After(REQUEUE_AFTER_INDEPENDENT_APPLY), "the next steps may depend on it");
    assert_eq!(reconciled().await, Requeue::OnChange, "nothing is left to do");
}

/// The requeue does not wait for the backoff of another apply, which may be a minute.
#[tokio::test]
async fn an_object_is_requeued_soon_although_another_independent_apply_fails() {
    let (operator, context) = operator(&Arc::new(Mutex::new(vec!["b"])));
    let object = object(&["b"]);
    let mut again = Duration::ZERO;
    while again <= REQUEUE_AFTER_INDEPENDENT_APPLY {
        tokio::time::sleep(again).await;
        let Requeue::After(delay) = reconcile(&operator, &context, &object, 0).await.unwrap() else {
            panic!("no requeue")
        };
        again = delay;
    }
    let object = self::object(&["b", "c"]);
    let Requeue::After(delay) = reconcile(&operator, &context, &object, 0).await.unwrap() else { panic!("no requeue") };
    assert!(delay <= REQUEUE_AFTER_INDEPENDENT_APPLY, "{delay:?}, though the other is retried after {again:?}");
}

/// A quota, for example, or a missing priority class: until a user has changed that, other applies continue.
#[tokio::test]
async fn a_failure_that_needs_attention_does_not_block_independent_applies() {
    for (code, created) in [(403, vec!["b"]), (500, vec![])] {
        let (operator, context) = answering(&Arc::new(Mutex::new(vec!["effect"])), code);
        reconcile(&operator, &context, &object(&["effect", "b"]), 0).await.unwrap_err();
        assert_eq!(*operator.created.lock().unwrap(), created, "{code}");
    }
}

/// What routes to that name is removed once the status reports it.
#[tokio::test]
async fn a_taken_name_is_reported_in_addition_to_a_failed_effect() {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let seen = reported.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let seen = seen.clone();
        async move {
            let (method, path) = (request.method().clone(), request.uri().path().to_owned());
            let body = request.into_body().collect_bytes().await.unwrap();
            let name = serde_json::from_slice(&body).unwrap_or(json!({}))["metadata"]["name"].clone();
            let failed = |code, reason| json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "no" });
            let (code, answer) = match method {
                Method::POST if name == "effect" => (422, failed(422, "Invalid")),
                Method::POST => (409, failed(409, "AlreadyExists")),
                // Without a known owner.
                Method::GET => {
                    (200, json!({ "metadata": { "namespace": "n", "name": "b", "uid": "x", "resourceVersion": "3" } }))
                }
                _ => {
                    if path.ends_with("/status") {
                        seen.lock().unwrap().push(String::from_utf8_lossy(&body).into_owned());
                    }
                    (200, json!({ "metadata": { "namespace": "n", "name": "a", "uid": "o", "resourceVersion": "8" } }))
                }
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    let (operator, mut context) = answering(&Arc::default(), 500);
    let mut writer = ObjectWriter::new(Client::new(service, "default"), Queue::new("test"), "test", Fence::open());
    writer.add_store(&operator.objects);
    context.writer = writer;
    reconcile(&operator, &context, &object(&["effect", "b"]), 0).await.unwrap_err();
    let reported = reported.lock().unwrap().join("\n");
    assert!(reported.contains("ConfigMap b exists and does not belong to this Named"), "{reported}");
}
