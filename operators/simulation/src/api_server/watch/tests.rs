use std::collections::BTreeMap;

use runtime::outage::Outages;
use serde_json::{Value, json};

use super::*;
use crate::api_server::fate::Rates;
use crate::api_server::request::{ListOptions, Verb};
use crate::api_server::service::testing::{config, create, delete, request, server, update};

fn options(since: Option<u64>) -> WatchOptions {
    WatchOptions {
        of: ListOptions { labels: Some("a=x".to_owned()), ..ListOptions::default() },
        since,
        bookmarks: true,
        timeout: Some(Duration::from_secs(45)),
    }
}

fn opened(server: &SimulatedApiServer, options: &WatchOptions, metadata_only: bool) -> ResponseBody {
    let mut asked = request(server, "configmaps", None, Verb::Watch(options.clone()));
    asked.metadata_only = metadata_only;
    open(server, &asked, options).unwrap().into_body()
}

/// The next event: its type and its object; `None` at the end.
async fn next(body: &mut ResponseBody) -> Option<Result<(String, Value), BoxError>> {
    let line = match body.frame().await? {
        Ok(frame) => frame.into_data().unwrap(),
        Err(error) => return Some(Err(error)),
    };
    assert!(line.ends_with(b"\n"));
    let event: Value = serde_json::from_slice(&line).unwrap();
    Some(Ok((event["type"].as_str().unwrap().to_owned(), event["object"].clone())))
}

async fn event(body: &mut ResponseBody) -> (String, Value) {
    next(body).await.unwrap().unwrap()
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn version(server: &SimulatedApiServer) -> u64 {
    server.read(|state| state.version())
}

#[tokio::test(start_paused = true)]
async fn events_follow_the_selector() {
    let server = server();
    let mut body = opened(&server, &options(Some(version(&server))), false);
    create(&server, config("other", "y", "1"));
    create(&server, config("a", "x", "1"));
    let (kind, object) = event(&mut body).await;
    assert_eq!((&*kind, &object["data"]["k"], version_of(&object)), ("ADDED", &json!("1"), version(&server)));
    update(&server, config("a", "x", "2"));
    let (kind, object) = event(&mut body).await;
    assert_eq!((&*kind, &object["data"]["k"]), ("MODIFIED", &json!("2")));
    update(&server, config("a", "y", "3"));
    let (kind, object) = event(&mut body).await;
    assert_eq!((&*kind, &object["data"]["k"], version_of(&object)), ("DELETED", &json!("2"), version(&server)));
    update(&server, config("a", "x", "4"));
    assert_eq!(event(&mut body).await.0, "ADDED");
    delete(&server, "a");
    let (kind, object) = event(&mut body).await;
    assert_eq!((&*kind, &object["data"]["k"], version_of(&object)), ("DELETED", &json!("4"), version(&server)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_metadata_without_a_version_begins_with_the_present_objects() {
    let server = server();
    create(&server, config("a", "x", "1"));
    let mut body = opened(&server, &options(None), true);
    let (kind, object) = event(&mut body).await;
    assert_eq!((&*kind, &object["kind"], &object["data"]), ("ADDED", &json!("PartialObjectMetadata"), &Value::Null));
    update(&server, config("a", "x", "2"));
    assert_eq!(event(&mut body).await.0, "MODIFIED");
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_on_time_after_a_bookmark() {
    let (server, begun) = (server(), Instant::now());
    let mut body = opened(&server, &options(Some(version(&server))), false);
    create(&server, config("other", "y", "1"));
    let (kind, object) = event(&mut body).await;
    assert_eq!((&*kind, version_of(&object)), ("BOOKMARK", version(&server)));
    assert_eq!(begun.elapsed().as_secs(), 43);
    assert!(next(&mut body).await.is_none());
    assert_eq!(begun.elapsed().as_secs(), 45);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_compacted_has_expired() {
    let server = server();
    let before = version(&server);
    create(&server, config("a", "x", "1"));
    server.edit(crate::api_server::state::StoredState::compact);
    let mut body = opened(&server, &options(Some(before)), false);
    let (kind, status) = event(&mut body).await;
    assert_eq!((&*kind, &status["code"], &status["reason"]), ("ERROR", &json!(410), &json!("Expired")));
    assert!(next(&mut body).await.is_none());
    let mut body = opened(&server, &options(Some(version(&server))), false);
    create(&server, config("b", "x", "1"));
    assert_eq!(event(&mut body).await.0, "ADDED");
}

#[tokio::test(start_paused = true)]
async fn an_outage_resets_or_freezes_a_watch_of_those_that_it_concerns() {
    for silent in [false, true] {
        let server = server();
        let mut body = opened(&server, &options(Some(version(&server))), false);
        let begun = Instant::now();
        let end = begun + Duration::from_secs(5);
        let (result, ()) = tokio::join!(next(&mut body), async {
            server.faults(|faults| faults.cut_off_until = BTreeMap::from([("another".to_owned(), end)]));
            tokio::time::sleep(Duration::from_secs(1)).await;
            server.faults(|faults| {
                faults.outages_are_silent = silent;
                faults.away_until = Some(end);
            });
            create(&server, config("a", "x", "1"));
        });
        assert!(result.is_some_and(|event| event.is_err()), "no event is delivered");
        assert_eq!(begun.elapsed().as_secs(), if silent { 121 } else { 1 });
        assert!(next(&mut body).await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn all_watches_are_cut_and_those_opened_afterwards_are_not() {
    let server = server();
    let mut body = opened(&server, &options(Some(version(&server))), false);
    let (result, ()) = tokio::join!(next(&mut body), async { server.cut_watches() });
    assert!(result.is_some_and(|event| event.is_err()));
    let mut body = opened(&server, &options(Some(version(&server))), false);
    assert_eq!(event(&mut body).await.0, "BOOKMARK");
}

#[tokio::test(start_paused = true)]
async fn a_lagging_watch_delivers_all_events_in_order() {
    let server = server();
    server.faults(|faults| faults.rates = Rates { watch_lagging: 1000, lag: Duration::from_secs(5), ..Rates::NONE });
    let mut body = opened(&server, &options(Some(version(&server))), false);
    for number in 0..5 {
        create(&server, config(&format!("a{number}"), "x", "1"));
    }
    for number in 0..5 {
        assert_eq!(event(&mut body).await.1["metadata"]["name"], format!("a{number}"));
    }
}

#[tokio::test(start_paused = true)]
async fn watches_are_interrupted_in_the_ways_that_the_rates_name() {
    for (rates, seconds, fails) in [
        (Rates { watch_reset: 1000, ..Rates::NONE }, 0..60, true),
        (Rates { watch_ended: 1000, ..Rates::NONE }, 0..60, false),
        (Rates { watch_frozen: 1000, ..Rates::NONE }, 120..180, true),
    ] {
        let server = server();
        server.faults(|faults| faults.rates = rates.clone());
        let (begun, mut never_ending) = (Instant::now(), options(Some(version(&server))));
        (never_ending.bookmarks, never_ending.timeout) = (false, None);
        let mut body = opened(&server, &never_ending, false);
        assert_eq!(next(&mut body).await.is_some_and(|event| event.is_err()), fails, "{rates:?}");
        assert!(seconds.contains(&begun.elapsed().as_secs()), "{rates:?}: {:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn kubes_client_reads_a_watch() {
    use futures::TryStreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{WatchEvent, WatchParams};

    let server = server();
    let configs: kube::Api<ConfigMap> = kube::Api::namespaced(server.client("manager-0", &Outages::default()), "n");
    let since = version(&server).to_string();
    let mut events = std::pin::pin!(configs.watch(&WatchParams::default().timeout(10), &since).await.unwrap());
    create(&server, config("a", "x", "1"));
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Bookmark(_)))));
    assert!(matches!(events.try_next().await, Ok(None)));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_late_misses_nothing() {
    let server = server();
    let mut body = opened(&server, &options(Some(version(&server))), false);
    create(&server, config("a", "x", "1"));
    let created = version(&server);
    // A bookmark is due, too, when it reads at last.
    tokio::time::advance(Duration::from_secs(44)).await;
    loop {
        let (kind, object) = event(&mut body).await;
        if kind == "ADDED" {
            break;
        }
        assert!(version_of(&object) < created, "a bookmark at {object} hides the change of version {created}");
    }
}
