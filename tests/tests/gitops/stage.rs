//! What all tests begin with: projects and ApplicationSet applied once, and every Application present and healthy.

use std::time::{Duration, Instant};

use e2e::argocd::{self, APPLICATIONS, Recorder, Seen};
use tokio::sync::OnceCell;

/// From nothing to three environments, one after the other.
const FIRST: Duration = Duration::from_secs(900);

/// The states of the Applications until they were healthy.
pub struct Stage {
    /// Whether this run has created the ApplicationSet.
    pub fresh: bool,
    /// Everything seen meanwhile.
    pub seen: Vec<Seen>,
    /// How long that took.
    pub took: Duration,
}

/// Every Application is Synced and Healthy.
pub async fn stage() -> &'static Stage {
    static STAGE: OnceCell<Stage> = OnceCell::const_new();
    STAGE
        .get_or_init(|| async {
            let fresh = !argocd::is_there().await;
            let begun = Instant::now();
            let mut recorder = Recorder::start();
            argocd::apply_repository().await;
            argocd::are_healthy_within(&APPLICATIONS, None, FIRST).await;
            Stage { fresh, seen: recorder.seen(), took: begun.elapsed() }
        })
        .await
}
