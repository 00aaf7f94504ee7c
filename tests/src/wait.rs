//! Waiting, without blind sleeps: by watching one object, or by polling. Limits are in normal time ([`crate::patience`]). A wait
//! that fails says how long it was, and the last state.

use std::fmt::{self, Debug, Display};
use std::future::Future;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Resource;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use crate::patience::{Deadline, Late, timeout};

/// How long tests wait by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// The shortest interval of polling, where a watch is not possible.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often at least.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A wait that was in vain.
#[derive(Clone, Debug)]
pub struct InVain<S> {
    /// How long it was.
    pub late: Late,
    /// The last state seen.
    pub last: S,
}

impl<S: Display> Display for InVain<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in vain; last: {}", self.late, self.last)
    }
}

impl<S: Debug + Display> std::error::Error for InVain<S> {}

/// Polls `ask` until it returns `Ok`; an `Err` says what is still missing.
///
/// # Panics
/// When the time is up, with the last answer.
pub async fn wait_until<T, F>(what: &str, limit: Duration, ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    match try_wait(limit, ask).await {
        Ok(found) => found,
        Err(in_vain) => panic!("{what}: {in_vain}"),
    }
}

/// Polls `ask` until it returns `Ok` or the time is up.
///
/// # Errors
/// The last answer.
pub async fn try_wait<T, F>(limit: Duration, mut ask: impl FnMut() -> F) -> Result<T, InVain<String>>
where
    F: Future<Output = Result<T, String>>,
{
    let deadline = Deadline::after(limit);
    let mut last = "no answer at all".to_owned();
    loop {
        let begun = Instant::now();
        match timeout(deadline.left(), ask()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(missing)) => last = missing,
            Err(_) => return Err(InVain { late: deadline.late(), last }),
        }
        // An answer that is there at once is never late.
        if deadline.is_over() {
            return Err(InVain { late: deadline.late(), last });
        }
        // Asking may take a process, and many tests ask at a time: on a machine that is slow enough, it would be all that the
        // machine does.
        sleep((begun.elapsed() * 3).clamp(POLL_INTERVAL, MAX_POLL_INTERVAL)).await;
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
            // The caller has a deadline.
            Err(kube::Error::Api(refusal)) if refusal.code < 500 && refusal.code != 429 => panic!("{refusal:?}"),
            Err(_) => {
                sleep(POLL_INTERVAL).await;
                continue;
            }
        };
        let version = now.metadata.resource_version.unwrap_or_default();
        if let ControlFlow::Break(found) = each(now.items.into_iter().next()) {
            return found;
        }
        let watch = WatchParams::default().fields(&fields).disable_bookmarks().timeout(240);
        let Ok(events) = api.watch(&watch, &version).await else {
            sleep(POLL_INTERVAL).await;
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

/// Watches until `judge` returns a value.
///
/// # Errors
/// The last object seen, when the time is up.
pub async fn found<K, T>(
    api: &Api<K>,
    name: &str,
    limit: Duration,
    mut judge: impl FnMut(Option<&K>) -> Option<T>,
) -> Result<T, InVain<Option<K>>>
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
    let result = timeout(limit, watching).await;
    result.map_err(|late| InVain { late, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn asking_without_waiting_ends_when_the_time_is_up() {
        let asking = try_wait(Duration::from_millis(300), || async { Err::<(), _>("not yet".to_owned()) });
        let ended = tokio::time::timeout(Duration::from_secs(60), asking).await.expect("it ends");
        assert_eq!(ended.expect_err("it was in vain").last, "not yet");
    }
}
