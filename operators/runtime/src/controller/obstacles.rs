//! What keeps a pass over an object from beginning: another manager, kinds that are not seen, and a CRD that has cut something out of
//! the object, or may have.

use std::sync::Arc;
use std::time::Duration;

use api::{Contract, ReconcileReason};

use super::Controller;
use crate::cache::watch_health::sentence;
use crate::cache::{Entry, Projection};
use crate::crd::SETTLES;
use crate::crd::schema::{self, cut, cuts};
use crate::leader_election::{ForeignLease, LeaseName};
use crate::plan::{EventDraft, Requeue};
use crate::{Error, Operator};

/// When to look again at an object whose CRD is about to be looked at.
const AGAIN: Duration = Duration::from_secs(1);
/// For how long a look is waited for, which comes a minute after the one before at the latest: it may not be possible at all.
const LOOKED: Duration = Duration::from_secs(120);
/// For how long the first one is, before the first pass.
const LOOKED_FIRST: Duration = Duration::from_secs(5);

impl<O: Operator> Controller<O> {
    /// Waits until it is known whether the objects' CRD has what is needed.
    pub(super) async fn crd_looked_at(&self) {
        let _ = tokio::time::timeout(LOOKED_FIRST, self.operator.objects().health().crd_known()).await;
    }

    /// What to do instead of a pass over an object that would act on what is left of it, and whose status would be stored with that.
    pub(super) async fn withheld(&self, entry: &Entry<O::Object>) -> Result<Option<Requeue>, Error> {
        let (kind, meta, health) = (O::Object::KIND, entry.meta(), self.operator.objects().health());
        if let Some(since) = entry.reread().filter(|since| since.elapsed() < LOOKED)
            && health.awaits_look(since + SETTLES)
        {
            health.interrupted();
            return Ok(Some(Requeue::After(AGAIN)));
        }
        let crd = health.crd();
        let Some(lacks) = crd.lacking().filter(|lacks| cuts(lacks)) else { return Ok(None) };
        let Some(live) = self.context.writer.metadata(&kind, &meta.key).await? else {
            return Ok(Some(Requeue::OnChange));
        };
        let cut = cut(&live, lacks);
        if cut.is_empty() {
            return Ok(None);
        }
        let message = format!(
            "nothing is written for this {} or for what belongs to it: {} was set in it, and a write would lose that; {}",
            kind.kind,
            cut.join(", "),
            schema::sentence(&kind, lacks)
        );
        tracing::debug!("{message}");
        self.context.events.publish(
            &kind,
            meta,
            EventDraft { warning: true, reason: ReconcileReason::CRDMismatch.into(), message },
        );
        Ok(Some(Requeue::OnChange))
    }

    /// Why another manager keeps us from an object with that status, if one does.
    pub(super) async fn held_elsewhere(&self, status: &Contract) -> Option<String> {
        let holder = status.managed_by.as_deref()?;
        if self.settings.take_over || holder == self.context.managed_by {
            return None;
        }
        let lease: LeaseName = holder.parse().ok()?;
        match self.foreign.state(&lease).await {
            ForeignLease::Expired => None,
            ForeignLease::Held => Some(format!(
                "the manager with the Lease {holder} looks after this object, and {}: stop one of the two, or start this one with --take-over",
                self.context.stands_back()
            )),
            ForeignLease::Unreadable(why) => Some(format!(
                "the manager with the Lease {holder} may look after this object, and {}: {why}; if that manager is gone, start this one with --take-over",
                self.context.stands_back()
            )),
        }
    }

    /// Why no decision can be made now in that namespace: of kinds that were never listed there, or have not been watched
    /// for a while.
    pub(super) fn blind(&self, namespace: &Arc<str>) -> Option<String> {
        let unseen: Vec<_> = self.health.iter().filter_map(|health| health.blind_in(namespace)).collect();
        (!unseen.is_empty()).then(|| sentence(&unseen))
    }
}
