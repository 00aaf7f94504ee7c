//! What prevents the reconcile of an object: another manager, stale watches, and a CRD that has pruned fields of the object, or
//! may have.

use std::sync::Arc;
use std::time::Duration;

use api::{Contract, ReconcileReason};

use super::Controller;
use crate::cache::watch_health::message;
use crate::cache::{CacheEntry, Projection};
use crate::crd::PUBLISH_DELAY;
use crate::crd::schema::{self, can_prune, pruned_fields};
use crate::leader_election::{ForeignLease, LeaseName};
use crate::plan::{EventDraft, Requeue};
use crate::{Error, Operator};

/// When to requeue an object whose CRD is about to be checked.
const POLL_CRD_CHECK: Duration = Duration::from_secs(1);
/// How long a check of the CRD is waited for. It comes a minute after the one before at the latest, but may fail.
const CRD_CHECK_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the first check is waited for before the first reconcile.
const FIRST_CRD_CHECK_TIMEOUT: Duration = Duration::from_secs(5);

impl<O: Operator> Controller<O> {
    /// Waits for the first check of the CRD of the objects.
    pub(super) async fn wait_for_crd_check(&self) {
        let _ = tokio::time::timeout(FIRST_CRD_CHECK_TIMEOUT, self.operator.objects().health().first_crd_check()).await;
    }

    /// When to requeue instead of reconciling, if the CRD has pruned fields of the object, or may have: a reconcile would act on
    /// the rest, and a write of the status would store it.
    pub(super) async fn wait_for_crd(&self, entry: &CacheEntry<O::Object>) -> Result<Option<Requeue>, Error> {
        let (kind, meta, health) = (O::Object::KIND, entry.meta(), self.operator.objects().health());
        if let Some(since) = entry.reread().filter(|since| since.elapsed() < CRD_CHECK_TIMEOUT)
            && health.awaits_crd_check(since + PUBLISH_DELAY)
        {
            health.interrupted();
            return Ok(Some(Requeue::After(POLL_CRD_CHECK)));
        }
        let crd = health.crd();
        let Some(mismatches) = crd.mismatches().filter(|mismatches| can_prune(mismatches)) else { return Ok(None) };
        let Some(live) = self.context.writer.metadata(&kind, &meta.key).await? else {
            return Ok(Some(Requeue::OnChange));
        };
        let pruned_fields = pruned_fields(&live, mismatches);
        if pruned_fields.is_empty() {
            return Ok(None);
        }
        let message = format!(
            "this {} is not reconciled: a write would lose its {}; {}",
            kind.kind,
            pruned_fields.join(", "),
            schema::message(&kind, mismatches)
        );
        tracing::debug!("{message}");
        self.context.events.publish(
            &kind,
            meta,
            EventDraft { warning: true, reason: ReconcileReason::CRDMismatch.into(), message },
        );
        Ok(Some(Requeue::OnChange))
    }

    /// The message of the condition Conflict, if the status names another manager whose Lease is held or unreadable.
    pub(super) async fn managed_elsewhere(&self, status: &Contract) -> Option<String> {
        let holder = status.managed_by.as_deref()?;
        if self.settings.take_over || holder == self.context.managed_by {
            return None;
        }
        let lease: LeaseName = holder.parse().ok()?;
        match self.foreign.state(&lease).await {
            ForeignLease::Expired => None,
            ForeignLease::Held => Some(format!(
                "the manager with the Lease {holder} manages this object{}yields: stop one of the two, or start this one \
                 with --take-over",
                self.context.conflict_marker()
            )),
            ForeignLease::Unreadable(why) => Some(format!(
                "the manager with the Lease {holder} may manage this object{}yields: {why}; if that manager no longer exists, \
                 start this one with --take-over",
                self.context.conflict_marker()
            )),
        }
    }

    /// Why no decision can be made in that namespace now: kinds that were never listed there, or whose watch is stale.
    pub(super) fn stale(&self, namespace: &Arc<str>) -> Option<String> {
        let unwatched: Vec<_> = self.health.iter().filter_map(|health| health.stale_in(namespace)).collect();
        (!unwatched.is_empty()).then(|| message(&unwatched))
    }
}
