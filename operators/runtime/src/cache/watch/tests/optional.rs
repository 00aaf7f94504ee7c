//! A kind that may be missing: not served is no failure, and it is looked for once somebody asks for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Request, Response};
use serde_json::json;
use tokio::time::{sleep, timeout};
use tower::BoxError;

use super::super::super::health::State;
use super::super::*;
use crate::apply::drift::Fingerprint;
use crate::plan::child::Served;
use crate::plan::meta::Meta;

/// An object of such a kind.
struct Optional(Meta);

impl Projection for Optional {
    const KIND: Kind = Kind { group: "example.org", version: "v1", kind: "Optional", plural: "optionals" };
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
    fn same(&self, _: &Self) -> bool {
        true
    }
}

/// A server that serves the kind or not, and counts what it is asked.
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
async fn what_may_be_missing_is_looked_for_once_it_is_asked_for_and_lost_without_an_error() {
    let (server, stop) = (Server::default(), CancellationToken::new());
    let store = Arc::new(Store::<Optional>::new(1));
    let watch = tokio::spawn(run(store.clone(), server.client(), None, Outages::default(), stop.clone()));
    let (health, here) = (store.health().clone(), Arc::from("n"));
    let becomes = async |state: State| {
        let mut watches = health.subscribe();
        let is_so = async {
            while health.state(&here) != state {
                watches.changed().await.unwrap()
            }
        };
        timeout(Duration::from_secs(70), is_so)
            .await
            .unwrap_or_else(|_| panic!("{state:?}, not {:?}", health.state(&here)));
    };
    becomes(State::NotServed).await;
    assert!(health.tried() && health.failing().is_empty() && health.blind().is_empty(), "it is no failure");
    assert!(matches!(store.child_if_served(&Key::new("n", "a"), &owner()), Served::Not));
    server.serves.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(server.asked.load(Ordering::Relaxed), 1, "nobody asks for such an object");

    server.serves.store(false, Ordering::Relaxed);
    health.seek();
    sleep(Duration::from_secs(60)).await;
    let asked = server.asked.load(Ordering::Relaxed);
    assert!((4..=5).contains(&asked), "{asked} requests in a minute");
    assert_eq!(server.lists.load(Ordering::Relaxed), 2, "one when it began, and one for who was the first to ask");
    server.serves.store(true, Ordering::Relaxed);
    becomes(State::Synced).await;
    assert!(store.len() == 1 && matches!(store.child_if_served(&Key::new("n", "a"), &owner()), Served::Child(_)));

    server.serves.store(false, Ordering::Relaxed);
    becomes(State::NotServed).await;
    sleep(Duration::from_millis(1)).await;
    assert!(store.is_empty(), "what was there went with its kind");
    server.serves.store(true, Ordering::Relaxed);
    becomes(State::Synced).await;

    server.serves.store(false, Ordering::Relaxed);
    let begun = tokio::time::Instant::now();
    health.doubt();
    becomes(State::NotServed).await;
    assert!(
        begun.elapsed() < Duration::from_millis(100),
        "somebody was told, and the watch not yet: {:?}",
        begun.elapsed()
    );
    server.serves.store(true, Ordering::Relaxed);
    becomes(State::Synced).await;
    let asked = server.asked.load(Ordering::Relaxed);
    (0..10).for_each(|_| health.doubt());
    sleep(Duration::from_millis(500)).await;
    assert!(server.asked.load(Ordering::Relaxed) <= asked + 2, "however many doubt");
    assert_eq!(health.state(&here), State::Synced);
    stop.cancel();
    watch.await.unwrap();
}

/// At rest nothing is asked of the API server, whoever has asked for such an object before.
#[tokio::test(start_paused = true)]
async fn what_nobody_asks_for_any_more_is_looked_for_no_more() {
    let (server, stop) = (Server::default(), CancellationToken::new());
    server.serves.store(false, Ordering::Relaxed);
    let store = Arc::new(Store::<Optional>::new(1));
    let asks = Arc::new(AtomicBool::new(true));
    let still = asks.clone();
    store.health().sought_while(move || still.load(Ordering::Relaxed));
    let watch = tokio::spawn(run(store.clone(), server.client(), None, Outages::default(), stop.clone()));
    let asked_in_10_minutes = async || {
        let before = server.asked.load(Ordering::Relaxed);
        sleep(Duration::from_secs(600)).await;
        server.asked.load(Ordering::Relaxed) - before
    };
    store.health().seek();
    assert!((9..=13).contains(&asked_in_10_minutes().await));
    assert!(server.lists.load(Ordering::Relaxed) <= 2, "what is not served is listed by nobody");
    asks.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(70)).await;
    assert_eq!(asked_in_10_minutes().await, 0);
    asks.store(true, Ordering::Relaxed);
    store.health().seek();
    assert!((9..=13).contains(&asked_in_10_minutes().await), "until somebody asks again");
    stop.cancel();
    watch.await.unwrap();
}
