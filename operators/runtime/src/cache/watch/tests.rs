//! How a watch continues after an interruption.

mod optional;

use std::convert::Infallible;

use futures::FutureExt;
use http::{Request, Response};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tower::BoxError;

use super::super::kind_health::WatchState;
use super::*;
use crate::projections::{ConfigMap, Pvc};

/// During a long outage the pauses between attempts grow to many seconds. After it, no watch waits for them, and a failure is
/// reported only after the next attempt.
#[tokio::test(start_paused = true)]
async fn a_watch_that_was_requested_in_an_outage_is_requested_again_at_once() {
    let outages = Outages::default();
    let (asked, mut asks) = mpsc::unbounded_channel();
    let over = outages.clone();
    let service = tower::service_fn(move |_: Request<Body>| {
        let (asked, over) = (asked.clone(), over.clone());
        async move {
            let _ = asked.send(Instant::now());
            over.resumed().await;
            Err::<Response<Body>, _>(BoxError::from(SentIntoOutage))
        }
    });
    let store = Arc::new(Store::<Pvc>::new(1));
    let stop = CancellationToken::new();
    let client = Client::new(service, "default");
    let watch = tokio::spawn(run(store.clone(), client, None, outages.clone(), stop.clone()));
    asks.recv().await.expect("it asks");
    for _ in 0..8 {
        outages.seen(false);
        sleep(Duration::from_secs(60)).await;
        outages.seen(true);
        let ended = Instant::now();
        let again = timeout(Duration::from_secs(20), asks.recv()).await.expect("it asks again").expect("it runs");
        assert!(again.duration_since(ended) <= Duration::from_millis(1100), "{:?}", again.duration_since(ended));
        assert_eq!(store.health().state(&"n".into()), WatchState::Starting, "nothing is known yet");
    }
    stop.cancel();
    watch.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_early_was_interrupted() {
    let service = tower::service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty())));
    let health = Store::<ConfigMap>::new(1).health().clone();
    let client = reporting(Client::new(service, "default"), health.clone(), None);
    let send = async |uri: &str| client.send(Request::get(uri).body(Body::empty()).unwrap()).await.map(drop);
    let interrupted = || health.interruption().now_or_never().is_some();
    send("/api/v1/configmaps?limit=100").await.unwrap();
    send("/api/v1/configmaps?watch=true&resourceVersion=1").await.unwrap();
    assert!(!interrupted(), "a watch follows a list");
    tokio::time::sleep(Duration::from_secs(44)).await;
    send("/api/v1/configmaps?watch=true&resourceVersion=2").await.unwrap();
    assert!(!interrupted(), "the API server ends each watch");
    tokio::time::sleep(Duration::from_secs(20)).await;
    send("/api/v1/configmaps?watch=true&resourceVersion=3").await.unwrap();
    assert!(interrupted() && !interrupted());
}
