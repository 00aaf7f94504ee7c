//! Whether a kind that may be missing is served.

use std::future::pending;
use std::time::Duration;

use kube::Api;
use kube::api::ListParams;
use kube::runtime::watcher;
use tokio::sync::watch;
use tokio::time::sleep;

use super::{View, Wire};

/// How far apart looks are, however many doubt.
const LOOKS: Duration = Duration::from_secs(1);

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
pub(super) async fn refuted<V: View>(api: Api<Wire<V>>, mut doubts: watch::Receiver<u64>) {
    while doubts.changed().await.is_ok() {
        if api.list_metadata(&ListParams::default().limit(1)).await.is_err_and(|error| is_unknown(&error)) {
            return;
        }
        sleep(LOOKS).await;
    }
    pending().await
}
