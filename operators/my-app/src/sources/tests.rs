//! What is asked of the API server for `restartOn`, and what becomes of the answers.

use std::sync::atomic::{AtomicU64, Ordering};

use runtime::cache::View;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Answers, status};

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

/// Lets a minute, or several, go by.
fn forward(sources: &Sources, minutes: u32) {
    sources.lock().values_mut().for_each(|held| held.next = held.next.checked_sub(EVERY * minutes).unwrap());
}

const WHOLE: &str = "GET /api/v1/namespaces/n/configmaps/settings";
const METADATA: &str = "GET /api/v1/namespaces/n/configmaps/settings metadata";

#[tokio::test]
async fn content_is_read_once_and_again_only_with_another_version() {
    let version = Arc::new(AtomicU64::new(1));
    let content = Arc::new(AtomicU64::new(1));
    let (now, of) = (version.clone(), content.clone());
    let answers = Answers::new(move |_| {
        (200, map(now.load(Ordering::SeqCst), &json!({ "a": of.load(Ordering::SeqCst).to_string() })))
    });
    let sources = Sources::new(answers.client());
    let first = sources.look(&app("web", &on_map())).await;
    let digest = first.digest.expect("a digest");
    assert!(first.trouble.is_none() && first.due.is_some_and(|due| due <= EVERY), "{:?}", first.due);
    for name in ["web", "other"] {
        assert_eq!(sources.look(&app(name, &on_map())).await.digest.as_ref(), Some(&digest), "within the minute");
    }
    assert_eq!(answers.asked(), [WHOLE], "once, whoever names it");
    forward(&sources, 1);
    assert_eq!(sources.look(&app("web", &on_map())).await.digest.as_ref(), Some(&digest));
    assert_eq!(answers.asked()[1..], [METADATA]);

    version.store(2, Ordering::SeqCst);
    forward(&sources, 1);
    let labelled = sources.look(&app("web", &on_map())).await;
    assert_eq!(labelled.digest.as_ref(), Some(&digest), "a label is no content");
    assert_eq!(answers.asked()[2..], [METADATA, WHOLE]);
    assert!(labelled.due.is_some_and(|due| due > EVERY), "two requests are those of two minutes: {:?}", labelled.due);

    version.store(3, Ordering::SeqCst);
    content.store(2, Ordering::SeqCst);
    forward(&sources, 2);
    let changed = sources.look(&app("web", &on_map())).await.digest;
    assert!(changed.is_some() && changed != Some(digest));
}

#[tokio::test]
async fn what_is_missing_or_forbidden_is_told_and_asked_for_once_a_minute() {
    for (code, message, reason, words) in [
        (404, "configmaps \"settings\" not found", "RestartSourceMissing", "ConfigMap settings does not exist"),
        (403, "configmaps \"settings\" is forbidden", "Forbidden", "the right to get configmaps in namespace n"),
    ] {
        let answers = Answers::new(move |_| (code, status(code, message)));
        let sources = Sources::new(answers.client());
        for _ in 0..3 {
            let contents = sources.look(&app("web", &on_map())).await;
            let (told, why) = contents.trouble.expect("trouble");
            assert_eq!((contents.digest, told), (None, reason));
            assert!(why.contains(words), "{why}");
        }
        forward(&sources, 1);
        drop(sources.look(&app("web", &on_map())).await);
        assert_eq!(answers.asked(), [WHOLE, WHOLE]);
    }
    let answers = Answers::new(|_| (404, status(404, "not found")));
    let optional = json!([{ "configMapRef": { "name": "settings", "optional": true } }]);
    let contents = Sources::new(answers.client()).look(&app("web", &optional)).await;
    assert!(contents.digest.is_some() && contents.trouble.is_none(), "{contents:?}");
}

#[tokio::test]
async fn what_was_seen_holds_while_the_api_server_does_not_say() {
    let away = Arc::new(AtomicU64::new(0));
    let now = away.clone();
    let answers = Answers::new(move |_| match now.load(Ordering::SeqCst) {
        0 => (200, map(1, &json!({ "a": "1" }))),
        _ => (503, status(503, "later")),
    });
    let sources = Sources::new(answers.client());
    let digest = sources.look(&app("web", &on_map())).await.digest;
    away.store(1, Ordering::SeqCst);
    forward(&sources, 1);
    let contents = sources.look(&app("web", &on_map())).await;
    assert!(contents.digest.is_some() && contents.digest == digest && contents.trouble.is_none());

    let sources = Sources::new(answers.client());
    for _ in 0..2 {
        let unseen = sources.look(&app("web", &on_map())).await;
        assert!(unseen.digest.is_none() && unseen.trouble.is_none(), "nothing is told of what may pass: {unseen:?}");
        assert!(unseen.due.is_some_and(|due| due > EVERY / 2), "nor is it looked at all the time: {unseen:?}");
    }
}

#[tokio::test]
async fn a_digest_of_a_secret_cannot_be_compared_with_that_of_another() {
    let digest = async |uid: &'static str, text: &'static str| {
        let answers = Answers::new(move |_| (200, secret(uid, text)));
        let on = json!([{ "secretRef": { "name": "keys" } }]);
        Sources::new(answers.client()).look(&app("web", &on)).await.digest.expect("a digest")
    };
    assert_eq!(digest("s", "YQ==").await, digest("s", "YQ==").await);
    assert_ne!(digest("s", "YQ==").await, digest("s", "Yg==").await);
    assert_ne!(digest("s", "YQ==").await, digest("t", "YQ==").await);
}

#[tokio::test]
async fn an_app_that_names_nothing_asks_for_nothing() {
    let answers = Answers::new(|_| (500, status(500, "no")));
    let contents = Sources::new(answers.client()).look(&app("web", &json!([]))).await;
    assert!(contents.digest.is_none() && contents.due.is_none() && answers.asked().is_empty());
}

#[test]
fn entries_are_told_apart_from_their_values() {
    let of = |entries: &[(&str, &str)]| {
        digest("", entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect())
    };
    assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
    assert_ne!(of(&[("a", "1"), ("b", "2")]), of(&[("a", "1b2")]));
    assert_ne!(of(&[]), of(&[("", "")]));
}
