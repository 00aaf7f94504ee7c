//! An optional kind: it is no failure if it is not served, and it is polled for once it is required.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Request, Response};
use serde_json::json;
use tokio::time::{sleep, timeout};
use tower::BoxError;

use super::super::super::kind_health::WatchState;
use super::super::*;
use crate::apply::drift::Fingerprint;
use crate::plan::child::Served;
use crate::plan::meta::Meta;

/// An object of an optional kind.
struct Optional(Meta);

impl Projection for Optional {
    const KIND: ResourceKind =
        ResourceKind { group: "example.org", version: "v1", kind: "Optional", plural: "optionals" };
    const SELECTED: bool = true;
    const MAY_BE_MISSING: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let object: serde_json::Value = serde_json::from_str(json)?;
        serde_json::from_value(object["metadata"].clone()).map(Self)
    }
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_nothing()
    }
    fn has_same_content(&self, _: &Self) -> bool {
        true
    }
}

/// A server that serves the kind or not, and counts the requests.
#[derive(Clone, Default)]
struct Server {
    serves: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    lists: Arc<AtomicUsize>,
}

impl Server {
    fn answer(&self, request: &Request<Body>) -> (u16, serde_json::Value) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let object = json!({ "metadata": { "name": "a", "namespace": "n", "resourceVersion": "5" } });
        if request.uri().path() != "/apis/example.org/v1/optionals" && self.serves.load(Ordering::Relaxed) {
            assert_eq!(request.uri().path(), "/apis/example.org/v1");
            let resource =
                json!({ "name": "optionals", "singularName": "", "namespaced": true, "kind": "Optional", "verbs": [] });
            return (200, json!({ "groupVersion": "example.org/v1", "resources": [resource] }));
        }
        if request.uri().path() == "/apis/example.org/v1/optionals" {
            self.lists.fetch_add(1, Ordering::Relaxed);
        }
        match self.serves.load(Ordering::Relaxed) {
            false => (
                404,
                json!({ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no" }),
            ),
            true if request.uri().query().is_some_and(is_watch) => (200, json!(null)),
            true => (200, json!({ "kind": "List", "metadata": { "resourceVersion": "5" }, "items": [object] })),
        }
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (code, body) = server.answer(&request);
            let is_watch = request.uri().query().is_some_and(is_watch);
            async move {
                if code == 200 && is_watch {
                    sleep(Duration::from_secs(1)).await;
                }
                let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string().into_bytes()) };
                Ok::<_, BoxError>(Response::builder().status(code).body(body)?)
            }
        });
        Client::new(service, "default")
    }
}

fn owner() -> Meta {
    serde_json::from_value(json!({ "name": "a", "namespace": "n", "uid": "u" })).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_is_polled_for_once_it_is_required_and_lost_without_an_error() {
    let (server, stop) = (Server::default(), CancellationToken::new());
    let store = Arc::new(Store::<Optional>::new(1));
    let watch = tokio::spawn(run(store.clone(), server.client(), None, Outages::default(), stop.clone()));
    let (health, here) = (store.health().clone(), Arc::from("n"));
    let becomes = async |state: WatchState| {
        let mut changes = health.changes();
        let is_so = async {
            while health.state(&here) != state {
                changes.next().await
            }
        };
        timeout(Duration::from_secs(70), is_so)
            .await
            .unwrap_or_else(|_| panic!("{state:?}, not {:?}", health.state(&here)));
    };
    becomes(WatchState::NotServed).await;
    assert!(health.all_attempted() && health.failing().is_empty() && health.stale().is_empty(), "it is no failure");
    assert!(matches!(store.child_if_served(&Key::new("n", "a"), &owner()), Served::Not));
    server.serves.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(server.asked.load(Ordering::Relaxed), 1, "no object of the kind is required");

    server.serves.store(false, Ordering::Relaxed);
    health.require();
    sleep(Duration::from_secs(60)).await;
    let asked = server.asked.load(Ordering::Relaxed);
    assert!((4..=5).contains(&asked), "{asked} requests in a minute");
    assert_eq!(server.lists.load(Ordering::Relaxed), 2, "one at the start, and one when it became required");
    server.serves.store(true, Ordering::Relaxed);
    becomes(WatchState::Synced).await;
    assert!(store.len() == 1 && matches!(store.child_if_served(&Key::new("n", "a"), &owner()), Served::Child(_)));

    server.serves.store(false, Ordering::Relaxed);
    becomes(WatchState::NotServed).await;
    sleep(Duration::from_millis(1)).await;
    assert!(store.is_empty(), "its objects vanished with the kind");
    server.serves.store(true, Ordering::Relaxed);
    becomes(WatchState::Synced).await;

    server.serves.store(false, Ordering::Relaxed);
    let begun = tokio::time::Instant::now();
    health.request_recheck();
    becomes(WatchState::NotServed).await;
    assert!(begun.elapsed() < Duration::from_millis(100), "the watch checks at once: {:?}", begun.elapsed());
    server.serves.store(true, Ordering::Relaxed);
    becomes(WatchState::Synced).await;
    let asked = server.asked.load(Ordering::Relaxed);
    (0..10).for_each(|_| health.request_recheck());
    sleep(Duration::from_millis(500)).await;
    assert!(server.asked.load(Ordering::Relaxed) <= asked + 2, "however many checks are requested");
    assert_eq!(health.state(&here), WatchState::Synced);
    stop.cancel();
    watch.await.unwrap();
}

/// Once no object of the kind is required, nothing is requested from the API server.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_no_longer_required_is_no_longer_polled_for() {
    let (server, stop) = (Server::default(), CancellationToken::new());
    server.serves.store(false, Ordering::Relaxed);
    let store = Arc::new(Store::<Optional>::new(1));
    let asks = Arc::new(AtomicBool::new(true));
    let still = asks.clone();
    store.health().required_while(move || still.load(Ordering::Relaxed));
    let watch = tokio::spawn(run(store.clone(), server.client(), None, Outages::default(), stop.clone()));
    let asked_in_10_minutes = async || {
        let before = server.asked.load(Ordering::Relaxed);
        sleep(Duration::from_secs(600)).await;
        server.asked.load(Ordering::Relaxed) - before
    };
    store.health().require();
    assert!((9..=13).contains(&asked_in_10_minutes().await));
    assert!(server.lists.load(Ordering::Relaxed) <= 2, "a kind that is not served is not listed");
    asks.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(70)).await;
    assert_eq!(asked_in_10_minutes().await, 0);
    asks.store(true, Ordering::Relaxed);
    store.health().require();
    assert!((9..=13).contains(&asked_in_10_minutes().await), "until it is required again");
    stop.cancel();
    watch.await.unwrap();
}
