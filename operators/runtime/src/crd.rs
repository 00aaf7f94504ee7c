//! Checks whether the CRDs that the API server serves match what the manager needs: at start, when a watch ends early (as all
//! watches of a CRD do when it is replaced), when a status cannot be written, and once a minute while there are mismatches. While
//! all is well, no request is sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{join_all, select_all};
use http::Request;
use kube::Client;
use tokio::time::sleep;

use crate::cache::KindHealth;
use crate::crd::schema::{CrdMismatch, CrdState, Document, Needed, message, mismatches};
use crate::metrics;
use crate::retry::scattered;

pub mod schema;

/// The least time after a check with a new result; after each check without one, the time doubles.
const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// The interval while there are mismatches, or a status cannot be written.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// How long to wait before a check: OpenAPI publishes a CRD a moment after it is served, and several watches end together.
pub(crate) const PUBLISH_DELAY: Duration = Duration::from_secs(2);

/// Checks the CRDs of these kinds forever, against the required `fields` (`api::FIELDS`). From the call on, reconciles of objects
/// of these kinds wait for a check where they depend on one.
pub fn run_checks(
    client: Client,
    kinds: Vec<Arc<KindHealth>>,
    fields: &'static str,
) -> impl Future<Output = ()> + Send {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for health in kinds.into_iter().filter(|health| Needed::of(&health.kind(), fields).is_some()) {
        health.enable_crd_checks();
        groups.entry((health.kind().group, health.kind().version)).or_default().push(health);
    }
    let groups = groups.into_values().map(move |kinds| GroupCheck { client: client.clone(), kinds, fields }.run());
    join_all(groups).map(drop)
}

/// The result of a check.
struct CheckResult {
    /// Whether all CRDs are known to match.
    ok: bool,
    /// Whether anything differs from the check before.
    changed: bool,
}

/// The kinds that OpenAPI publishes in one document.
struct GroupCheck {
    client: Client,
    kinds: Vec<Arc<KindHealth>>,
    fields: &'static str,
}

impl GroupCheck {
    async fn run(self) {
        for health in &self.kinds {
            health.until_all_attempted().await;
        }
        let mut pause = MIN_CHECK_INTERVAL;
        loop {
            // The check covers what happened before it.
            for health in &self.kinds {
                let _ = (health.interruption().now_or_never(), health.status_rejection().now_or_never());
            }
            let found = self.check().await;
            pause = if found.changed { MIN_CHECK_INTERVAL } else { CHECK_INTERVAL.min(pause * 2) };
            sleep(pause).await;
            self.wait_for_trigger(found.ok, CHECK_INTERVAL - pause).await;
            sleep(PUBLISH_DELAY + scattered(PUBLISH_DELAY)).await;
        }
    }

    /// Waits for a reason to check again. Only an interrupted watch is one at once, others after a while.
    async fn wait_for_trigger(&self, ok: bool, a_while: Duration) {
        let interrupted = select_all(self.kinds.iter().map(|health| Box::pin(health.interruption())));
        let others = async {
            sleep(a_while).await;
            if ok {
                select_all(self.kinds.iter().map(|health| Box::pin(health.status_rejection()))).await;
            }
        };
        tokio::select! { biased; _ = interrupted => {}, () = others => {} }
    }

    async fn check(&self) -> CheckResult {
        let published = match self.published().await {
            Ok(published) => published,
            Err(error) => {
                tracing::debug!(%error, "the published CRDs cannot be read");
                return CheckResult { ok: false, changed: false };
            }
        };
        let judged = self.kinds.iter().map(|health| self.judge(health, published.as_ref()));
        judged.fold(CheckResult { ok: true, changed: false }, |all, one| CheckResult {
            ok: all.ok && one.ok,
            changed: all.changed || one.changed,
        })
    }

    /// The OpenAPI document of the group, if the group is served.
    async fn published(&self) -> Result<Option<Document>, kube::Error> {
        let Some(health) = self.kinds.first() else { return Ok(None) };
        let path = format!("/openapi/v3/apis/{}", health.kind().api_version());
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        match self.client.request(request).await {
            Ok(document) => Ok(Some(document)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn judge(&self, health: &KindHealth, published: Option<&Document>) -> CheckResult {
        let kind = health.kind();
        let Some(needed) = Needed::of(&kind, self.fields) else { return CheckResult { ok: true, changed: false } };
        let mismatches = mismatches(published, &kind, &needed);
        if matches!(*mismatches, [CrdMismatch::Version(_)]) && health.failing().is_empty() {
            // The kind is served, and OpenAPI has yet to publish it.
            return CheckResult { ok: false, changed: false };
        }
        metrics::crd_mismatch(kind.kind, !mismatches.is_empty());
        let crd = if mismatches.is_empty() { CrdState::Matches } else { CrdState::Mismatched(mismatches.into()) };
        let before = health.set_crd(&crd);
        match (&before, crd.mismatches()) {
            (Some(_), Some(mismatches)) => tracing::warn!(kind = kind.kind, "{}", message(&kind, mismatches)),
            (Some(CrdState::Mismatched(_)), None) => {
                tracing::info!(kind = kind.kind, "the CRD {}.{} matches this manager again", kind.plural, kind.group);
            }
            _ => {}
        }
        CheckResult { ok: crd == CrdState::Matches, changed: before.is_some() }
    }
}

#[cfg(test)]
mod tests;
