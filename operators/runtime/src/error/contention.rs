//! Messages about other writers of children.

use super::Error;
use crate::plan::meta::{Key, ResourceKind};
use crate::workqueue::{Contention, SLOW_CONTENTION};
use api::ReconcileReason;

impl Error {
    /// Another client keeps changing a child, and the operator restores it each time: one of the two has to stop.
    #[must_use]
    pub fn contended(contention: &Contention) -> Self {
        let ((kind, child), rate) = (&contention.child, contention.rate);
        let message = format!(
            "another client keeps changing {} {}: this manager has restored it {} times within {} s, and now \
             does so only occasionally; stop one of the two: managedFields name the client (kubectl get {} {} -o yaml \
             --show-managed-fields)",
            kind.kind,
            child.name,
            rate.times,
            rate.within.as_secs(),
            kind.plural,
            child.name
        );
        Self::Transient { reason: ReconcileReason::Contested.into(), message, stalled: true }
    }

    /// A message about a child that another client changes occasionally, and that the operator restores at once each time.
    #[must_use]
    pub fn changed_occasionally((kind, child): &(ResourceKind, Key)) -> String {
        format!(
            "another client changes {} {} occasionally: this manager has restored it {} times within {} \
             minutes; if it is a program, stop one of the two: managedFields name it (kubectl get {} {} -o yaml \
             --show-managed-fields)",
            kind.kind,
            child.name,
            SLOW_CONTENTION.times,
            SLOW_CONTENTION.within.as_secs() / 60,
            kind.plural,
            child.name
        )
    }
}
