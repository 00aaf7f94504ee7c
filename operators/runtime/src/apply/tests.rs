//! Rejected writes of children of optional kinds.

use std::convert::Infallible;
use std::sync::Arc;

use api::ReconcileReason;
use futures::FutureExt as _;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;

use super::*;
use crate::Error;
use crate::cache::{Projection, Store};
use crate::leader_election::Fence;
use crate::plan::meta::Key;
use crate::projections::{ConfigMap, HttpRoute};
use crate::workqueue::Queue;

/// A writer to an API server with one fixed response, and the store of a kind.
fn writer_to<V: Projection>(code: u16, answer: &Value) -> (ObjectWriter, Arc<Store<V>>) {
    let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    let service = tower::service_fn(move |_: Request<Body>| {
        let body = Body::from(answer.clone().into_bytes());
        async move { Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap()) }
    });
    let store = Arc::new(Store::<V>::new(1));
    let mut writer = ObjectWriter::new(Client::new(service, "default"), Queue::new("test"), "test", Fence::open());
    writer.add_store(&store);
    (writer, store)
}

/// Why an apply failed, and whether the watch has to check that the kind is served.
async fn refused<V: Projection>(code: u16, answer: &Value, seen: bool) -> (Error, bool) {
    let (writer, store) = writer_to::<V>(code, answer);
    let mut rechecks = store.health().rechecks();
    let owner: Meta = serde_json::from_value(json!({ "namespace": "n", "name": "a", "uid": "o" })).unwrap();
    let apply = Apply::new(V::KIND, Key::new("n", "a"), &json!({ "metadata": {} }));
    let apply = Apply { seen: seen.then(|| "u".into()), ..apply };
    let owners = ResourceKind { group: "example.com", version: "v1", kind: "Owner", plural: "owners" };
    let effect = Effect::<Infallible>::Apply(apply);
    let error = writer.perform(&owners, &owner, Reported::Nothing, effect, async |act| match act {}).await.unwrap_err();
    (error, rechecks.next().now_or_never().is_some())
}

fn refusal(code: u16, reason: &str, message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message })
}

#[tokio::test]
async fn a_removed_kind_is_no_failure_until_its_watch_could_have_reported_it() {
    let terminating = "create not allowed while custom resource definition is terminating";
    for (code, answer) in [
        (404, json!("404 page not found")),
        (404, refusal(404, "NotFound", "the server could not find the requested resource")),
        (405, refusal(405, "MethodNotAllowed", terminating)),
        (403, refusal(403, "Forbidden", &format!("httproutes \"a\" is forbidden: {terminating}"))),
    ] {
        for seen in [false, true] {
            let (error, doubted) = refused::<HttpRoute>(code, &answer, seen).await;
            assert_eq!(
                (error.reason(), error.stalled(), doubted),
                (ReconcileReason::KindNotServed.into(), false, true),
                "{answer}"
            );
            assert!(
                error.is_expected(0) && error.is_expected(4) && !error.is_expected(5),
                "it is reported if it lasts"
            );
        }
    }
    let (error, doubted) = refused::<HttpRoute>(403, &refusal(403, "Forbidden", "no permission"), false).await;
    assert_eq!((&*error.reason(), error.stalled(), doubted), ("Forbidden", true, false));
    let (error, doubted) = refused::<ConfigMap>(404, &json!("404 page not found"), false).await;
    assert_eq!((&*error.reason(), error.stalled(), doubted), ("NotFound", true, false), "ConfigMaps are always served");
}
