//! Waiting, without blind sleeps: by watching one object, or by asking again. What is waited for in vain is told with
//! the last state seen.

use std::fmt::Debug;
use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Resource;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

/// How long tests wait by default: long enough for a busy machine with two cores.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How often is asked again, where watching does not do.
const AGAIN: Duration = Duration::from_millis(200);

/// Asks until the answer is `Ok`; an `Err` says what is still missing.
///
/// # Panics
/// When the time is up, with the last answer.
pub async fn wait_until<T, F>(what: &str, deadline: Duration, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    match try_wait(deadline, &mut ask).await {
        Ok(found) => found,
        Err(last) => panic!("waited {deadline:?} in vain for {what}; last: {last}"),
    }
}

/// Asks until the answer is `Ok` or the time is up.
///
/// # Errors
/// The last answer.
pub async fn try_wait<T, F>(deadline: Duration, mut ask: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, String>>,
{
    let end = Instant::now() + deadline;
    let mut last = "no answer at all".to_owned();
    loop {
        match tokio::time::timeout_at(end, ask()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(missing)) => last = missing,
            Err(_) => return Err(last),
        }
        if Instant::now() + AGAIN >= end {
            return Err(last);
        }
        sleep(AGAIN).await;
    }
}

/// Shows `each` the object now (`None` if absent) and after every change, until it breaks.
///
/// # Panics
/// If the API server refuses.
pub async fn watched<K, T>(api: &Api<K>, name: &str, mut each: impl FnMut(Option<K>) -> ControlFlow<T>) -> T
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let fields = format!("metadata.name={name}");
    loop {
        let now = match api.list(&ListParams::default().fields(&fields)).await {
            Ok(now) => now,
            // Whoever waits has a deadline.
            Err(kube::Error::Api(refusal)) if refusal.code < 500 && refusal.code != 429 => panic!("{refusal:?}"),
            Err(_) => {
                sleep(AGAIN).await;
                continue;
            }
        };
        let version = now.metadata.resource_version.unwrap_or_default();
        if let ControlFlow::Break(found) = each(now.items.into_iter().next()) {
            return found;
        }
        let watch = WatchParams::default().fields(&fields).disable_bookmarks().timeout(240);
        let Ok(events) = api.watch(&watch, &version).await else {
            sleep(AGAIN).await;
            continue;
        };
        let mut events = Box::pin(events);
        while let Some(Ok(event)) = events.next().await {
            let seen = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                WatchEvent::Deleted(_) => None,
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(_) => break,
            };
            if let ControlFlow::Break(found) = each(seen) {
                return found;
            }
        }
    }
}

/// Watches until `judge` finds what it looks for.
///
/// # Errors
/// The last object seen, when the time is up.
pub async fn found<K, T>(
    api: &Api<K>,
    name: &str,
    deadline: Duration,
    mut judge: impl FnMut(Option<&K>) -> Option<T>,
) -> Result<T, Option<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut last = None;
    let watching = watched(api, name, |seen| match judge(seen.as_ref()) {
        Some(found) => ControlFlow::Break(found),
        None => {
            last = seen;
            ControlFlow::Continue(())
        }
    });
    let result = timeout(deadline, watching).await;
    result.map_err(|_| last)
}
