//! What is written into a status, and what is not.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use api::sample::SampleStatus;
use futures::FutureExt;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;

use super::*;
use crate::cache::{Entry, Projection as _, Store};
use crate::crd::schema::{Crd, Lack, Step};
use crate::leader_election::Fence;
use crate::projections::{Claim, Custom, CustomKind};
use crate::status::conditions::Summary;
use crate::workqueue::Queue;

#[derive(Debug)]
struct Kept;

impl CustomKind for Kept {
    const KIND: Kind = Kind { group: "example.com", version: "v1", kind: "Kept", plural: "kepts" };
    type Spec = Value;
    type Status = SampleStatus;
}

type Sent = Arc<Mutex<Vec<(String, Value)>>>;

/// A writer to an API server that takes everything, and what it was sent.
fn writer() -> (StatusWriter, Sent) {
    let taken = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "8" } });
    let (writer, _, sent) = writer_to(200, taken);
    (writer, sent)
}

/// A writer to an API server that answers that, what it knows of the kind, and what it was sent.
fn writer_to(code: u16, answer: Value) -> (StatusWriter, Arc<Health>, Sent) {
    let sent = Sent::default();
    let all = sent.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (all, answer) = (all.clone(), answer.to_string().into_bytes());
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await.unwrap();
            all.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(answer)).unwrap())
        }
    });
    let client = Client::new(service, "default");
    let events = crate::events::channel(client.clone(), "manager").0("test");
    let mut writer = Writer::new(client, Queue::new("test"), "test", Fence::open());
    let store = Arc::new(Store::<Claim>::new(1));
    writer.knows(&store);
    (
        StatusWriter { writer, events, managed_by: "ns/lease".to_owned(), controller: "test", vain: Vain::default() },
        store.health().clone(),
        sent,
    )
}

/// An object that does not decode.
fn broken(status: &Value) -> Arc<Broken> {
    let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "7",
        "generation": 2 }, "spec": "not what is expected", "status": status });
    let Ok(Entry::Broken(broken)) = Entry::<Claim>::decode(&object.to_string()) else { panic!("it decodes") };
    broken
}

fn refusal(code: u16, reason: &str, message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message })
}

/// An apply takes away whatever of this manager it does not name.
#[tokio::test]
async fn an_object_that_does_not_decode_keeps_its_whole_status() {
    let facts = json!({ "clusterID": "7", "members": ["a-1", "a-2"], "storage": { "claim": "data-a-17" } });
    let mut status = facts.clone();
    status["observedGeneration"] = json!(1);
    status["conditions"] = json!([{ "type": "UpToDate", "status": "True", "reason": "Current", "message": "m",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let (broken, (writer, sent)) = (broken(&status), writer());
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    writer.write_broken(&Claim::KIND, &broken, now).await.unwrap();
    let (path, body) = sent.lock().unwrap().first().cloned().expect("it is written");
    assert!(path.ends_with("/a/status"), "{path}");
    assert_eq!(body["metadata"]["resourceVersion"], "7", "only to what was judged");
    for (name, fact) in facts.as_object().unwrap() {
        assert_eq!(body["status"][name], *fact, "{name}");
    }
    let conditions = body["status"]["conditions"].as_array().unwrap();
    let of = |type_: &str| conditions.iter().find(|of| of["type"] == type_).unwrap_or_else(|| panic!("no {type_}"));
    assert_eq!((&of("Stalled")["reason"], &of("UpToDate")["reason"]), (&json!("Undecodable"), &json!("Current")));
}

/// Somebody else's condition in the status, say: it is none of ours to write, and what differs by it stays.
#[tokio::test]
async fn what_changed_nothing_is_not_sent_again_while_it_would_change_nothing() {
    let (writer, sent) = writer();
    let object = |version: &str, foreign: &str| {
        let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": version },
            "spec": {}, "status": { "observedGeneration": 0, "conditions": [{ "type": "Theirs", "status": "True",
            "reason": foreign, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] } });
        Custom::<Kept>::decode(&object.to_string()).unwrap()
    };
    let write = async |version: &str, foreign: &str| {
        let conditions = Summary::Ready.conditions(api::Reason::reported("Kept"), "held", Timestamp::UNIX_EPOCH);
        let status = SampleStatus { contract: Contract { conditions, ..Contract::default() } };
        let object = object(version, foreign);
        writer.write(&object, Some(status), ReconcileOutcome::Done, 0, Timestamp::UNIX_EPOCH).await.unwrap();
        std::mem::take(&mut *sent.lock().unwrap()).len()
    };
    assert_eq!(write("7", "A").await, 1);
    assert_eq!(write("7", "A").await, 1, "it changed something");
    assert_eq!(write("8", "A").await, 1);
    assert_eq!(write("8", "A").await, 0, "it changed nothing");
    assert_eq!(write("8", "B").await, 1, "what is there is another");
}

/// An API server answers so if the CRD has no subresource status.
#[tokio::test]
async fn a_status_that_finds_no_object_is_no_error_and_reason_to_look_at_the_crd() {
    let (writer, health, sent) = writer_to(404, refusal(404, "NotFound", "samples.example.com \"a\" not found"));
    writer.write_broken(&Claim::KIND, &broken(&json!({})), Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(sent.lock().unwrap().len(), 1);
    assert!(health.refusal().now_or_never().is_some());
}

#[tokio::test]
async fn a_field_that_the_crd_lacks_is_an_error_until_that_is_known_and_then_is_left_out() {
    let message = "failed to create typed patch object (n/a; example.com/v1, Kind=A): .status.extra: field not declared in schema";
    let (writer, health, sent) = writer_to(500, refusal(500, "InternalError", message));
    let broken = broken(&json!({ "extra": 1, "kept": 2 }));
    let write = async || writer.write_broken(&Claim::KIND, &broken, Timestamp::UNIX_EPOCH).await;
    write().await.unwrap_err();
    assert!(health.refusal().now_or_never().is_some());
    let extra = [Step::Field("status".into()), Step::Field("extra".into())];
    health.judged(&Crd::Lacks([Lack::Field(extra.to_vec())].into()));
    write().await.unwrap();
    let (_, body) = sent.lock().unwrap().pop().unwrap();
    assert_eq!((&body["status"]["extra"], &body["status"]["kept"]), (&json!(null), &json!(2)));
}
