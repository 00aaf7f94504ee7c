//! When a pass over an object is followed by another.

use std::convert::Infallible;
use std::sync::Mutex;

use api::sample::SampleStatus;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::apply::Writer;
use crate::cache::{Entry, Store};
use crate::controller::Watches;
use crate::leader_election::Fence;
use crate::plan::meta::{Key, Kind};
use crate::plan::{Apply, Plan};
use crate::projections::{ConfigMap, Custom, CustomKind};
use crate::status::Vain;
use crate::workqueue::Queue;

#[derive(Debug)]
struct Named;

impl CustomKind for Named {
    const KIND: Kind = Kind { group: "example.com", version: "v1", kind: "Named", plural: "nameds" };
    type Spec = Vec<String>;
    type Status = SampleStatus;
}

/// Has, beside its effects, the ConfigMaps that the spec names and that have not been made. One called `effect` is an effect.
struct Test {
    objects: Arc<Store<Custom<Named>>>,
    made: Arc<Mutex<Vec<String>>>,
}

impl Operator for Test {
    const NAME: &'static str = "test";
    type Object = Custom<Named>;
    type Observed = Vec<String>;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<Self::Object>> {
        &self.objects
    }

    fn watch(&self, _: &mut Watches) {}

    async fn observe(&self, object: &Arc<Self::Object>) -> Result<Self::Observed, Error> {
        let made = self.made.lock().unwrap();
        Ok(object.spec.iter().filter(|name| !made.contains(*name)).cloned().collect())
    }

    fn plan(missing: &Self::Observed, _: Timestamp) -> Plan<SampleStatus, Infallible> {
        let apply =
            |name: &String| Apply::new(ConfigMap::KIND, Key::new("n", name), &json!({ "metadata": { "name": name } }));
        let (effects, aside): (Vec<_>, Vec<_>) =
            missing.iter().map(apply).partition(|apply| *apply.key.name == *"effect");
        Plan { effects: effects.into_iter().map(Effect::Apply).collect(), independent: aside, ..Plan::nothing() }
    }

    async fn act(&self, _: &Arc<Self::Object>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}

/// An API server that refuses to make these.
fn operator(refused: &Arc<Mutex<Vec<&'static str>>>) -> (Test, StatusWriter) {
    answering(refused, 500)
}

/// The same, with that code.
fn answering(refused: &Arc<Mutex<Vec<&'static str>>>, refusal: u16) -> (Test, StatusWriter) {
    let operator = Test { objects: Arc::new(Store::new(1)), made: Arc::default() };
    let (refused, made) = (refused.clone(), operator.made.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (refused, made) = (refused.clone(), made.clone());
        async move {
            let creates = request.method() == Method::POST;
            let body: serde_json::Value =
                serde_json::from_slice(&request.into_body().collect_bytes().await.unwrap()).unwrap();
            let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let code = if creates && refused.lock().unwrap().contains(&&*name) { refusal } else { 200 };
            if creates && code == 200 {
                made.lock().unwrap().push(name.clone());
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
    let mut writer = Writer::new(client, Queue::new("test"), "test", Fence::open());
    writer.knows(&operator.objects);
    (
        operator,
        StatusWriter { writer, events, managed_by: "ns/lease".to_owned(), controller: "test", vain: Vain::default() },
    )
}

fn object(spec: &[&str]) -> Arc<Custom<Named>> {
    let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "o", "resourceVersion": "7", "generation": 1 },
        "spec": spec });
    Entry::decode(&object.to_string()).unwrap().into_object().expect("it decodes")
}

#[tokio::test]
async fn what_is_made_late_beside_the_effects_is_looked_at_once_more() {
    let refused = Arc::new(Mutex::new(vec!["a"]));
    let (operator, context) = operator(&refused);
    let object = object(&["a"]);
    let pass = async || reconcile(&operator, &context, &object, 0).await.unwrap();
    let Requeue::After(again) = pass().await else { panic!("it is tried again") };
    assert!(again < LOOK_AGAIN, "{again:?}");
    refused.lock().unwrap().clear();
    tokio::time::sleep(again).await;
    assert_eq!(pass().await, Requeue::After(LOOK_AGAIN), "something may go because it is there");
    assert_eq!(pass().await, Requeue::OnChange, "at rest nothing is looked for");
}

/// What follows from one does not wait for the other's next try, which may be a minute away.
#[tokio::test]
async fn what_is_made_is_looked_at_whatever_becomes_of_the_rest() {
    let (operator, context) = operator(&Arc::new(Mutex::new(vec!["b"])));
    let object = object(&["b"]);
    let mut again = Duration::ZERO;
    while again <= LOOK_AGAIN {
        tokio::time::sleep(again).await;
        let Requeue::After(delay) = reconcile(&operator, &context, &object, 0).await.unwrap() else { panic!("no try") };
        again = delay;
    }
    let object = self::object(&["b", "c"]);
    let Requeue::After(delay) = reconcile(&operator, &context, &object, 0).await.unwrap() else { panic!("no try") };
    assert!(delay <= LOOK_AGAIN, "{delay:?}, though the other is tried again after {again:?}");
}

/// A quota, say, or a class of priority that is not there: until a person has changed that, the rest goes on.
#[tokio::test]
async fn what_is_refused_keeps_nothing_else_from_being_made() {
    for (code, made) in [(403, vec!["b"]), (500, vec![])] {
        let (operator, context) = answering(&Arc::new(Mutex::new(vec!["effect"])), code);
        reconcile(&operator, &context, &object(&["effect", "b"]), 0).await.unwrap_err();
        assert_eq!(*operator.made.lock().unwrap(), made, "{code}");
    }
}

/// What leads to that name goes once the status tells of it.
#[tokio::test]
async fn a_name_that_is_taken_beside_an_effect_that_failed_is_told_as_well() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
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
                // Of nobody that we know.
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
    let mut writer = Writer::new(Client::new(service, "default"), Queue::new("test"), "test", Fence::open());
    writer.knows(&operator.objects);
    context.writer = writer;
    reconcile(&operator, &context, &object(&["effect", "b"]), 0).await.unwrap_err();
    let told = told.lock().unwrap().join("\n");
    assert!(told.contains("ConfigMap b exists and does not belong to this Named"), "{told}");
}
