use std::convert::Infallible;
use std::sync::Mutex;

use api::sample::SampleStatus;
use http::Response;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::cache::Store;
use crate::plan::meta::ResourceKind;
use crate::projections::{Custom, CustomKind};

#[derive(Debug)]
struct Sample;

impl CustomKind for Sample {
    const KIND: ResourceKind =
        ResourceKind { group: "example.com", version: "v1alpha1", kind: "Sample", plural: "samples" };
    type Spec = Value;
    type Status = SampleStatus;
}

/// An API server whose OpenAPI document changes, and the number of requests.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<(Value, usize)>>);

impl Server {
    fn publishes(&self, paths: &[&str], schema: &Value) {
        let mut schema = schema.clone();
        schema["x-kubernetes-group-version-kind"] =
            json!([{ "group": "example.com", "version": "v1alpha1", "kind": "Sample" }]);
        let path = |path: &&str| (format!("/apis/example.com/v1alpha1/{path}"), json!({}));
        let paths: serde_json::Map<_, _> = paths.iter().map(path).collect();
        self.0.lock().unwrap().0 = json!({ "paths": paths, "components": { "schemas": { "s": schema } } });
    }

    fn ours(&self) {
        let line = api::FIELDS.lines().find(|line| line.contains("\"kind\":\"Sample\"")).unwrap();
        let schema = serde_json::from_str::<Value>(line).unwrap()["schema"].take();
        self.publishes(&["samples", BELOW, &format!("{BELOW}/{{name}}/status")], &schema);
    }

    fn minimal(&self) {
        self.publishes(
            &["samples", BELOW],
            &json!({ "type": "object", "properties": { "testString": { "type": "string" } } }),
        );
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap().1
    }

    fn client(&self) -> Client {
        let server = self.0.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let mut server = server.lock().unwrap();
            server.1 += 1;
            assert_eq!(request.uri().path(), "/openapi/v3/apis/example.com/v1alpha1");
            let response = match &server.0 {
                Value::Null => Response::builder().status(404).body(Body::from(b"404 page not found".to_vec())),
                document => Response::builder().body(Body::from(document.to_string().into_bytes())),
            };
            async move { Ok::<_, Infallible>(response.unwrap()) }
        });
        Client::new(service, "default")
    }

    /// Checks the CRD of Samples forever.
    fn checks(&self) -> Arc<KindHealth> {
        let health = Store::<Custom<Sample>>::new(1).health().clone();
        health.synced(None);
        // Kinds that are no custom resources are ignored.
        let child = Store::<crate::projections::ConfigMap>::new(1).health().clone();
        tokio::spawn(run_checks(self.client(), vec![child, health.clone()], api::FIELDS));
        health
    }
}

const BELOW: &str = "namespaces/{namespace}/samples";

async fn seconds(count: u64) {
    sleep(Duration::from_secs(count)).await;
}

#[tokio::test(start_paused = true)]
async fn a_matching_crd_is_checked_once() {
    let server = Server::default();
    server.ours();
    let health = server.checks();
    seconds(3600).await;
    assert_eq!((server.asked(), health.crd()), (1, CrdState::Matches));
}

#[tokio::test(start_paused = true)]
async fn another_crd_is_noticed_when_watches_end_and_so_is_the_matching_one() {
    let server = Server::default();
    server.ours();
    let health = server.checks();
    seconds(20).await;
    server.minimal();
    health.interrupted();
    seconds(5).await;
    let message = health.crd_mismatch_message().unwrap_or_default();
    assert!(
        message.contains("it has no subresource status") && message.contains("it has no .status; apply"),
        "{message}"
    );
    let restored = tokio::spawn({
        let health = health.clone();
        async move { health.crd_matches_again().await }
    });
    seconds(600).await;
    assert!(server.asked() <= 13 && !restored.is_finished(), "{} times in ten minutes", server.asked());
    server.ours();
    health.interrupted();
    timeout(Duration::from_secs(65), restored).await.unwrap().unwrap();
    let asked = server.asked();
    seconds(3600).await;
    assert_eq!((server.asked(), health.crd()), (asked, CrdState::Matches));
}

#[tokio::test(start_paused = true)]
async fn statuses_that_cannot_be_written_cause_a_check_per_minute() {
    let server = Server::default();
    server.ours();
    let health = server.checks();
    for _ in 0..600 {
        seconds(1).await;
        health.status_rejected();
    }
    assert!((9..=11).contains(&server.asked()), "{} times in ten minutes", server.asked());
    server.minimal();
    seconds(65).await;
    assert!(health.crd_mismatch_message().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_unpublished_crd_is_missing_only_if_it_is_not_served_either() {
    let server = Server::default();
    let health = server.checks();
    seconds(5).await;
    assert_eq!(health.crd(), CrdState::Unknown, "the kind can be watched");
    health.failed(None, crate::cache::watch_health::WatchFailure::Fault("404 page not found".to_owned()));
    seconds(120).await;
    let message = health.crd_mismatch_message().unwrap_or_default();
    assert!(message.contains("it does not serve v1alpha1, or does not exist"), "{message}");
    server.ours();
    health.synced(None);
    seconds(65).await;
    assert_eq!(health.crd(), CrdState::Matches);
}
