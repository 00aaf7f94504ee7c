//! Writes of statuses.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use api::sample::SampleStatus;
use futures::FutureExt;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;

use super::*;
use crate::cache::{CacheEntry, Projection as _, Store};
use crate::crd::schema::{CrdMismatch, CrdState, PathStep};
use crate::leader_election::Fence;
use crate::projections::{Custom, CustomKind, Pvc};
use crate::status::conditions::Summary;
use crate::workqueue::Queue;

#[derive(Debug)]
struct TestKind;

impl CustomKind for TestKind {
    const KIND: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "Kept", plural: "kepts" };
    type Spec = Value;
    type Status = SampleStatus;
}

type Sent = Arc<Mutex<Vec<(String, Value)>>>;

/// A writer to an API server that accepts everything, and the requests.
fn writer() -> (StatusWriter, Sent) {
    let taken = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "8" } });
    let (writer, _, sent) = writer_to(200, taken);
    (writer, sent)
}

/// A writer to an API server with one response, the health of the kind, and the requests.
fn writer_to(code: u16, answer: Value) -> (StatusWriter, Arc<KindHealth>, Sent) {
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
    let mut writer = ObjectWriter::new(client, Queue::new("test"), "test", Fence::open());
    let store = Arc::new(Store::<Pvc>::new(1));
    writer.add_store(&store);
    (
        StatusWriter {
            writer,
            events,
            managed_by: "ns/lease".to_owned(),
            controller: "test",
            no_op_writes: NoOpWrites::default(),
        },
        store.health().clone(),
        sent,
    )
}

/// An object that does not decode.
fn undecodable(status: &Value) -> Arc<Undecodable> {
    let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "7",
        "generation": 2 }, "spec": "not what is expected", "status": status });
    let Ok(CacheEntry::Undecodable(undecodable)) = CacheEntry::<Pvc>::decode(&object.to_string()) else {
        panic!("it decodes")
    };
    undecodable
}

fn refusal(code: u16, reason: &str, message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message })
}

/// An apply removes the fields of this manager that it does not contain.
#[tokio::test]
async fn an_undecodable_object_keeps_its_status() {
    let facts = json!({ "clusterID": "7", "members": ["a-1", "a-2"], "storage": { "claim": "data-a-17" } });
    let mut status = facts.clone();
    status["observedGeneration"] = json!(1);
    status["conditions"] = json!([{ "type": "UpToDate", "status": "True", "reason": "Current", "message": "m",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let (undecodable, (writer, sent)) = (undecodable(&status), writer());
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    writer.write_undecodable(&Pvc::KIND, &undecodable, now).await.unwrap();
    let (path, body) = sent.lock().unwrap().first().cloned().expect("it is written");
    assert!(path.ends_with("/a/status"), "{path}");
    assert_eq!(body["metadata"]["resourceVersion"], "7", "only to the observed version");
    for (name, fact) in facts.as_object().unwrap() {
        assert_eq!(body["status"][name], *fact, "{name}");
    }
    let conditions = body["status"]["conditions"].as_array().unwrap();
    let of = |type_: &str| conditions.iter().find(|of| of["type"] == type_).unwrap_or_else(|| panic!("no {type_}"));
    assert_eq!((&of("Stalled")["reason"], &of("UpToDate")["reason"]), (&json!("Undecodable"), &json!("Current")));
}

/// For example with a condition of another controller, which this manager does not write, so that the difference stays.
#[tokio::test]
async fn a_write_that_changed_nothing_is_not_repeated() {
    let (writer, sent) = writer();
    let object = |version: &str, foreign: &str| {
        let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": version },
            "spec": {}, "status": { "observedGeneration": 0, "conditions": [{ "type": "Theirs", "status": "True",
            "reason": foreign, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] } });
        Custom::<TestKind>::decode(&object.to_string()).unwrap()
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
    assert_eq!(write("8", "B").await, 1, "the present status differs");
}

/// The response of an API server if the CRD has no subresource status.
#[tokio::test]
async fn a_missing_subresource_is_no_error_and_triggers_a_check_of_the_crd() {
    let (writer, health, sent) = writer_to(404, refusal(404, "NotFound", "samples.example.com \"a\" not found"));
    writer.write_undecodable(&Pvc::KIND, &undecodable(&json!({})), Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(sent.lock().unwrap().len(), 1);
    assert!(health.status_rejection().now_or_never().is_some());
}

#[tokio::test]
async fn a_field_that_the_crd_does_not_have_is_left_out_once_that_is_known() {
    let message = "failed to create typed patch object (n/a; example.com/v1, Kind=A): .status.extra: field not declared in schema";
    let (writer, health, sent) = writer_to(500, refusal(500, "InternalError", message));
    let undecodable = undecodable(&json!({ "extra": 1, "kept": 2 }));
    let write = async || writer.write_undecodable(&Pvc::KIND, &undecodable, Timestamp::UNIX_EPOCH).await;
    write().await.unwrap_err();
    assert!(health.status_rejection().now_or_never().is_some());
    let extra = [PathStep::Field("status".into()), PathStep::Field("extra".into())];
    health.set_crd(&CrdState::Mismatched([CrdMismatch::Field(extra.to_vec())].into()));
    write().await.unwrap();
    let (_, body) = sent.lock().unwrap().pop().unwrap();
    assert_eq!((&body["status"]["extra"], &body["status"]["kept"]), (&json!(null), &json!(2)));
}
