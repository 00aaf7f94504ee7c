//! Whether the API server serves an optional kind.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::time::sleep;

use super::watched_object::WatchedObject;
use crate::cache::{KindHealth, Projection};
use crate::retry::jittered;
use crate::watched_value::Changes;

/// The least time between two checks, however many are requested.
const MIN_RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The first interval of polling for a required kind that is not served; each later one is twice as long.
const FIRST_POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The longest of these intervals.
const LONGEST_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Whether a failure means that the API server does not know the kind.
pub(super) fn is_missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => is_unknown(error),
        _ => false,
    }
}

fn is_unknown(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Checks at each request whether the kind is still served, and returns once it is not: a watch learns this only when it begins
/// again.
pub(super) async fn until_refuted<V: Projection>(api: Api<WatchedObject<V>>, mut rechecks: Changes<'_, ()>) {
    loop {
        rechecks.next().await;
        if api.list_metadata(&ListParams::default().limit(1)).await.is_err_and(|error| is_unknown(&error)) {
            return;
        }
        sleep(MIN_RECHECK_INTERVAL).await;
    }
}

/// Waits until a kind that is not served may be listed again: it is served now, or it has just become required.
pub(super) async fn until_served<V: Projection>(client: &Client, health: &KindHealth) {
    let mut pause = FIRST_POLL_INTERVAL;
    while health.is_required() {
        sleep(jittered(pause)).await;
        pause = LONGEST_POLL_INTERVAL.min(pause * 2);
        health.refresh_required();
        if health.is_required() && is_listed::<V>(client).await {
            return;
        }
    }
    health.until_required().await;
}

/// Whether discovery contains the kind: it costs the API server less than a list.
async fn is_listed<V: Projection>(client: &Client) -> bool {
    let request = http::Request::get(format!("/apis/{}", V::KIND.api_version())).body(Vec::new());
    let Ok(request) = request else { return false };
    match client.request::<APIResourceList>(request).await {
        Ok(served) => served.resources.iter().any(|resource| resource.name == V::KIND.plural),
        // If discovery fails, the list reports why.
        Err(error) => !is_unknown(&error),
    }
}
