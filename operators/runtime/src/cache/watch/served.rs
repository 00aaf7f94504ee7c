//! Whether a kind that may be missing is served.

use std::future::pending;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::sleep;

use super::wire::Wire;
use crate::cache::{Health, Projection};
use crate::retry::jittered;

/// How far apart looks are, however many doubt.
const LOOKS: Duration = Duration::from_secs(1);

/// How long after it was missed it is looked for a kind that somebody has asked for; each later pause is twice as long.
const SEEKS: Duration = Duration::from_secs(10);
/// The longest of them.
const SELDOM: Duration = Duration::from_secs(60);

/// Whether a failure says that the server knows no such kind.
pub(super) fn is_missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => is_unknown(error),
        _ => false,
    }
}

fn is_unknown(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Looks whenever somebody doubts that the kind is served, until it is not: a watch is told so only when it begins again.
pub(super) async fn refuted<V: Projection>(api: Api<Wire<V>>, mut doubts: watch::Receiver<u64>) {
    while doubts.changed().await.is_ok() {
        if api.list_metadata(&ListParams::default().limit(1)).await.is_err_and(|error| is_unknown(&error)) {
            return;
        }
        sleep(LOOKS).await;
    }
    pending().await
}

/// Waits until a kind that is not served is worth a list: it is served by now, or somebody is the first to ask for it.
pub(super) async fn appears<V: Projection>(client: &Client, health: &Health) {
    let mut pause = SEEKS;
    while health.is_sought() {
        sleep(jittered(pause)).await;
        pause = SELDOM.min(pause * 2);
        health.reconsider();
        if health.is_sought() && is_listed::<V>(client).await {
            return;
        }
    }
    health.sought().await;
}

/// Whether the API server names the kind among those that it serves: what it says of a group costs it less than a list.
async fn is_listed<V: Projection>(client: &Client) -> bool {
    let request = http::Request::get(format!("/apis/{}", V::KIND.api_version())).body(Vec::new());
    let Ok(request) = request else { return false };
    match client.request::<APIResourceList>(request).await {
        Ok(served) => served.resources.iter().any(|resource| resource.name == V::KIND.plural),
        // Who may not ask, or gets no answer, is told by a list.
        Err(error) => !is_unknown(&error),
    }
}
