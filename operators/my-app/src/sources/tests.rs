//! The requests for objects of `restartOn`, and what results from the answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use api::my_app::MyAppReason;
use api::{Reason, ReconcileReason};
use http::{Request, Response};
use kube::client::Body;
use runtime::cache::Projection;
use serde_json::{Value, json};

use runtime::plan::{Create, Key};

use super::*;
use crate::plan::{DryRunFailure, RestartContents};
use crate::queries::Queries;
use crate::testing::{FakeApiServer, status};
use crate::{MyApp, contents};

mod digests;

impl Queries for SourceReader {
    async fn content(&self, source: &RestartSource) -> (SourceState, Duration) {
        self.read(source).await
    }

    async fn dry_run(&self, _: &Key, _: &Create) -> Option<DryRunFailure> {
        None
    }
}

impl SourceReader {
    async fn query(&self, app: &MyApp) -> RestartContents {
        contents::query(app, self).await
    }
}

fn app(name: &str, on: &Value) -> MyApp {
    let metadata = json!({ "name": name, "namespace": "n", "uid": "u", "generation": 1 });
    MyApp::decode(&json!({ "metadata": metadata, "spec": { "image": "i", "restartOn": on } }).to_string()).unwrap()
}

fn on_map() -> Value {
    json!([{ "configMapRef": { "name": "settings" } }])
}

fn map(version: u64, data: &Value) -> Value {
    let metadata = json!({ "name": "settings", "namespace": "n", "uid": "m", "resourceVersion": version.to_string() });
    json!({ "metadata": metadata, "data": data })
}

fn secret(uid: &str, text: &str) -> Value {
    let metadata = json!({ "name": "keys", "namespace": "n", "uid": uid, "resourceVersion": "1" });
    // `YQ==` and `Yg==` are `a` and `b`.
    json!({ "metadata": metadata, "data": { "key": text } })
}

/// Advances the time by minutes.
fn forward(sources: &SourceReader, minutes: u32) {
    sources.lock().values_mut().for_each(|held| held.next = held.next.checked_sub(READ_INTERVAL * minutes).unwrap());
}

const WHOLE: &str = "GET /api/v1/namespaces/n/configmaps/settings";
const METADATA: &str = "GET /api/v1/namespaces/n/configmaps/settings metadata";

#[tokio::test]
async fn content_is_read_again_only_with_another_version() {
    let version = Arc::new(AtomicU64::new(1));
    let content = Arc::new(AtomicU64::new(1));
    let (now, of) = (version.clone(), content.clone());
    let answers = FakeApiServer::new(move |_| {
        (200, map(now.load(Ordering::SeqCst), &json!({ "a": of.load(Ordering::SeqCst).to_string() })))
    });
    let sources = SourceReader::new(answers.client());
    let first = sources.query(&app("web", &on_map())).await;
    let digest = first.digest.expect("a digest");
    assert!(first.failure.is_none() && first.due.is_some_and(|due| due <= READ_INTERVAL), "{:?}", first.due);
    for name in ["web", "other"] {
        assert_eq!(sources.query(&app(name, &on_map())).await.digest.as_ref(), Some(&digest), "within the minute");
    }
    assert_eq!(answers.requests(), [WHOLE], "once, no matter which MyApp names it");
    forward(&sources, 1);
    assert_eq!(sources.query(&app("web", &on_map())).await.digest.as_ref(), Some(&digest));
    assert_eq!(answers.requests()[1..], [METADATA]);

    version.store(2, Ordering::SeqCst);
    forward(&sources, 1);
    let labelled = sources.query(&app("web", &on_map())).await;
    assert_eq!(labelled.digest.as_ref(), Some(&digest), "a label is not content");
    assert_eq!(answers.requests()[2..], [METADATA, WHOLE]);
    assert!(
        labelled.due.is_some_and(|due| due > READ_INTERVAL),
        "two requests are those of two minutes: {:?}",
        labelled.due
    );

    version.store(3, Ordering::SeqCst);
    content.store(2, Ordering::SeqCst);
    forward(&sources, 2);
    let changed = sources.query(&app("web", &on_map())).await.digest;
    assert!(changed.is_some() && changed != Some(digest));
}

fn missing() -> Reason {
    MyAppReason::RestartSourceMissing.into()
}

#[tokio::test]
async fn missing_and_forbidden_objects_are_reported_and_read_once_a_minute() {
    let forbidden = Reason::from(ReconcileReason::Forbidden);
    for (code, answer, reason, message) in [
        (404, "configmaps \"settings\" not found", missing(), "ConfigMap settings does not exist"),
        (403, "configmaps \"settings\" is forbidden", forbidden, "permission to get configmaps in namespace n"),
    ] {
        let answers = FakeApiServer::new(move |_| (code, status(code, answer)));
        let sources = SourceReader::new(answers.client());
        for _ in 0..3 {
            let contents = sources.query(&app("web", &on_map())).await;
            let (reported, why) = contents.failure.expect("a failure");
            assert_eq!((contents.digest, &reported), (None, &reason));
            assert!(why.contains(message), "{why}");
            assert_eq!(contents.unread, None);
        }
        forward(&sources, 1);
        drop(sources.query(&app("web", &on_map())).await);
        assert_eq!(answers.requests(), [WHOLE, WHOLE]);
    }
    let answers = FakeApiServer::new(|_| (404, status(404, "not found")));
    let optional = json!([{ "configMapRef": { "name": "settings", "optional": true } }]);
    let contents = SourceReader::new(answers.client()).query(&app("web", &optional)).await;
    assert!(contents.digest.is_some() && contents.failure.is_none(), "{contents:?}");
}

#[tokio::test]
async fn the_last_answer_is_valid_while_the_api_server_does_not_answer() {
    let away = Arc::new(AtomicU64::new(0));
    let now = away.clone();
    let answers = FakeApiServer::new(move |_| match now.load(Ordering::SeqCst) {
        0 => (200, map(1, &json!({ "a": "1" }))),
        _ => (503, status(503, "later")),
    });
    let sources = SourceReader::new(answers.client());
    let digest = sources.query(&app("web", &on_map())).await.digest;
    away.store(1, Ordering::SeqCst);
    forward(&sources, 1);
    let contents = sources.query(&app("web", &on_map())).await;
    assert!(contents.digest.is_some() && contents.digest == digest && contents.failure.is_none());
}

/// All MyApps of the cluster share a few workers.
#[tokio::test]
async fn a_request_that_hangs_delays_no_reconcile_with_an_earlier_answer() {
    let (hangs, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (now, count) = (hangs.clone(), asked.clone());
    let service = tower::service_fn(move |_: Request<Body>| {
        count.fetch_add(1, Ordering::SeqCst);
        let hangs = now.load(Ordering::SeqCst);
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            let body = Body::from(map(1, &json!({ "a": "1" })).to_string().into_bytes());
            Ok::<_, std::convert::Infallible>(Response::new(body))
        }
    });
    let sources = SourceReader::new(Client::new(service, "n"));
    let digest = sources.query(&app("web", &on_map())).await.digest;
    assert!(digest.is_some());
    hangs.store(true, Ordering::SeqCst);
    forward(&sources, 1);
    for name in ["web", "other"] {
        let begun = Instant::now();
        let contents = sources.query(&app(name, &on_map())).await;
        assert!(begun.elapsed() < WAIT_LIMIT * 3, "{:?}", begun.elapsed());
        assert_eq!(contents.digest, digest);
        assert!(contents.due.is_some_and(|due| due <= REQUEST_TIMEOUT), "and requeues for its end: {:?}", contents.due);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "no other request is sent meanwhile");
}

#[tokio::test]
async fn a_first_answer_is_awaited_for_a_while() {
    let answers = FakeApiServer::new(|_| (503, status(503, "later")));
    let sources = SourceReader::new(answers.client());
    for _ in 0..2 {
        let unseen = sources.query(&app("web", &on_map())).await;
        assert!(
            unseen.digest.is_none() && unseen.failure.is_none(),
            "nothing is reported that may end by itself: {unseen:?}"
        );
        let unread = unseen.unread.expect("that nothing is known");
        assert_eq!((&*unread.source, unread.is_awaited), ("ConfigMap settings", true));
        assert!(unseen.due.is_some_and(|due| due <= RETRY_INTERVAL), "{:?}", unseen.due);
    }
    assert_eq!(answers.requests(), [WHOLE]);
    let long_since = |held: &mut CachedRead| {
        held.since = held.since.checked_sub(REQUEST_TIMEOUT).unwrap();
        held.next = Instant::now();
    };
    sources.lock().values_mut().for_each(long_since);
    for _ in 0..2 {
        let unseen = sources.query(&app("web", &on_map())).await;
        assert_eq!(unseen.unread.map(|unread| unread.is_awaited), Some(false));
        assert!(unseen.due.is_some_and(|due| due > READ_INTERVAL / 2), "nor is it read all the time: {:?}", unseen.due);
    }
    assert_eq!(answers.requests(), [WHOLE, WHOLE]);
}

#[tokio::test]
async fn concurrent_reconciles_share_one_request() {
    let answers = FakeApiServer::new(|_| (200, map(1, &json!({ "a": "1" }))));
    let sources = SourceReader::new(answers.client());
    let (web, other) = (app("web", &on_map()), app("other", &on_map()));
    let (one, two) = tokio::join!(sources.query(&web), sources.query(&other));
    assert_eq!(answers.requests(), [WHOLE]);
    assert!(one.digest.is_some() && one.digest == two.digest, "{one:?} {two:?}");
    forward(&sources, 1);
    let (one, two) = tokio::join!(sources.query(&web), sources.query(&other));
    assert_eq!((&one.digest, answers.requests().len()), (&two.digest, 2));
    assert!([one.due, two.due].iter().all(|due| due.is_some_and(|due| due <= READ_INTERVAL)));
}

#[tokio::test]
async fn a_waiting_reconcile_sends_the_request_once_the_other_one_is_dropped() {
    let answers = FakeApiServer::new(|_| (200, map(1, &json!({ "a": "1" }))));
    let sources = SourceReader::new(answers.client());
    let (web, other) = (app("web", &on_map()), app("other", &on_map()));
    let mut first = Box::pin(sources.query(&web));
    let mut second = Box::pin(sources.query(&other));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    drop(first);
    assert!(second.await.digest.is_some());
}
