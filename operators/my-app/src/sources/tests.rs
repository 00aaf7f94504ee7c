//! What is asked of the API server for `restartOn`, and what becomes of the answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use api::my_app::MyAppReason;
use api::{Reason, ReconcileReason};
use http::{Request, Response};
use kube::client::Body;
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

fn missing() -> Reason {
    MyAppReason::RestartSourceMissing.into()
}

#[tokio::test]
async fn what_is_missing_or_forbidden_is_told_and_asked_for_once_a_minute() {
    let forbidden = Reason::from(ReconcileReason::Forbidden);
    for (code, message, reason, words) in [
        (404, "configmaps \"settings\" not found", missing(), "ConfigMap settings does not exist"),
        (403, "configmaps \"settings\" is forbidden", forbidden, "the right to get configmaps in namespace n"),
    ] {
        let answers = Answers::new(move |_| (code, status(code, message)));
        let sources = Sources::new(answers.client());
        for _ in 0..3 {
            let contents = sources.look(&app("web", &on_map())).await;
            let (told, why) = contents.trouble.expect("trouble");
            assert_eq!((contents.digest, &told), (None, &reason));
            assert!(why.contains(words), "{why}");
            assert_eq!(contents.unread, None);
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
}

/// Each pass has one of few workers, and all MyApps of the cluster share them.
#[tokio::test]
async fn a_request_that_hangs_holds_up_no_pass_that_knows_what_was_seen() {
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
    let sources = Sources::new(Client::new(service, "n"));
    let digest = sources.look(&app("web", &on_map())).await.digest;
    assert!(digest.is_some());
    hangs.store(true, Ordering::SeqCst);
    forward(&sources, 1);
    for name in ["web", "other"] {
        let begun = Instant::now();
        let contents = sources.look(&app(name, &on_map())).await;
        assert!(begun.elapsed() < HURRY * 3, "{:?}", begun.elapsed());
        assert_eq!(contents.digest, digest);
        assert!(contents.due.is_some_and(|due| due <= PATIENCE), "and looks once it is over: {:?}", contents.due);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "nor is it asked anew meanwhile");
}

#[tokio::test]
async fn a_first_answer_is_awaited_for_a_while() {
    let answers = Answers::new(|_| (503, status(503, "later")));
    let sources = Sources::new(answers.client());
    for _ in 0..2 {
        let unseen = sources.look(&app("web", &on_map())).await;
        assert!(unseen.digest.is_none() && unseen.trouble.is_none(), "nothing is told of what may pass: {unseen:?}");
        let unread = unseen.unread.expect("that nothing is known");
        assert_eq!((&*unread.source, unread.is_awaited), ("ConfigMap settings", true));
        assert!(unseen.due.is_some_and(|due| due <= SOON), "{:?}", unseen.due);
    }
    assert_eq!(answers.asked(), [WHOLE]);
    let long_since = |held: &mut Held| {
        held.since = held.since.checked_sub(PATIENCE).unwrap();
        held.next = Instant::now();
    };
    sources.lock().values_mut().for_each(long_since);
    for _ in 0..2 {
        let unseen = sources.look(&app("web", &on_map())).await;
        assert_eq!(unseen.unread.map(|unread| unread.is_awaited), Some(false));
        assert!(unseen.due.is_some_and(|due| due > EVERY / 2), "nor is it looked at all the time: {:?}", unseen.due);
    }
    assert_eq!(answers.asked(), [WHOLE, WHOLE]);
}

#[tokio::test]
async fn apps_that_look_at_once_are_told_the_same_by_one_request() {
    let answers = Answers::new(|_| (200, map(1, &json!({ "a": "1" }))));
    let sources = Sources::new(answers.client());
    let (web, other) = (app("web", &on_map()), app("other", &on_map()));
    let (one, two) = tokio::join!(sources.look(&web), sources.look(&other));
    assert_eq!(answers.asked(), [WHOLE]);
    assert!(one.digest.is_some() && one.digest == two.digest, "{one:?} {two:?}");
    forward(&sources, 1);
    let (one, two) = tokio::join!(sources.look(&web), sources.look(&other));
    assert_eq!((&one.digest, answers.asked().len()), (&two.digest, 2));
    assert!([one.due, two.due].iter().all(|due| due.is_some_and(|due| due <= EVERY)));
}

#[tokio::test]
async fn an_app_that_waits_asks_itself_once_the_one_that_has_asked_is_gone() {
    let answers = Answers::new(|_| (200, map(1, &json!({ "a": "1" }))));
    let sources = Sources::new(answers.client());
    let (web, other) = (app("web", &on_map()), app("other", &on_map()));
    let mut first = Box::pin(sources.look(&web));
    let mut second = Box::pin(sources.look(&other));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    drop(first);
    assert!(second.await.digest.is_some());
}

#[tokio::test]
async fn the_order_of_names_and_names_given_twice_are_no_content() {
    let digest = async |on: Value| {
        let answers = Answers::new(|asked| match asked.ends_with("settings") {
            true => (200, map(1, &json!({ "a": "1" }))),
            false => (200, secret("s", "YQ==")),
        });
        let digest = Sources::new(answers.client()).look(&app("web", &on)).await.digest.expect("a digest");
        (digest, answers.asked().len())
    };
    let settings = json!({ "configMapRef": { "name": "settings" } });
    let keys = json!({ "secretRef": { "name": "keys" } });
    let both = digest(json!([settings, keys])).await;
    assert_eq!(both.1, 2);
    assert_eq!(digest(json!([keys, settings])).await, both);
    assert_eq!(digest(json!([settings, keys, settings])).await, both);
    assert_ne!(digest(json!([settings])).await, both);
}

#[test]
fn an_object_given_twice_may_be_missing_only_if_it_may_be_both_times() {
    let of = |optional: [bool; 2]| {
        let on = optional.map(|optional| json!({ "configMapRef": { "name": "settings", "optional": optional } }));
        sources(&app("web", &json!(on))).into_values().collect::<Vec<_>>()
    };
    assert_eq!([[true, true], [true, false], [false, true]].map(of), [vec![true], vec![false], vec![false]]);
}

#[test]
fn what_nobody_has_answered_is_asked_for_again_soon_and_then_like_all_else() {
    let seconds = Duration::from_secs;
    for (since, judged_now) in [(0, Found::Awaited), (7, Found::Awaited), (8, Found::Unknown), (600, Found::Unknown)] {
        let (found, pause) = judged(Found::Awaited, seconds(since), 1);
        assert_eq!((&found, pause), (&judged_now, if judged_now == Found::Awaited { SOON } else { EVERY }));
    }
    assert_eq!(judged(Found::Missing, seconds(1), 1), (Found::Missing, EVERY));
    assert_eq!(judged(Found::Content([0; 32]), seconds(1), 2).1, EVERY * 2);
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

/// As in a MyApp that is older than the pattern of its definition.
#[tokio::test]
async fn what_is_no_name_is_part_of_no_request() {
    for name in ["my settings", "settings#x", "settings?x", "?x", "../../../other/configmaps/x", ".."] {
        for reference in ["configMapRef", "secretRef"] {
            let answers = Answers::new(|_| (200, map(1, &json!({ "a": "1" }))));
            let sources = Sources::new(answers.client());
            let contents = sources.look(&app("web", &json!([{ reference: { "name": name } }]))).await;
            let (told, why) = contents.trouble.expect("trouble");
            assert_eq!((contents.digest, told, contents.unread), (None, missing(), None), "{name}");
            assert!(why.contains(&format!("{name}: invalid name; use a DNS subdomain")), "{why}");
            let optional = json!([{ reference: { "name": name, "optional": true } }]);
            assert!(sources.look(&app("web", &optional)).await.digest.is_some(), "{name} may be missing");
            assert_eq!(answers.asked(), [""; 0], "{name}");
        }
    }
}
