//! Independent applies that failed: each is retried when its backoff has elapsed, or at once if the apply has changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::Error;
use crate::apply::drift::Fingerprint;
use crate::plan::Apply;
use crate::plan::meta::{Key, ResourceKind};
use crate::retry::Backoff;

/// The failed applies. Parts of one child that are applied separately fail separately.
#[derive(Default)]
pub(super) struct FailedApplies(Mutex<HashMap<ApplyTarget, LastAttempt>>);

/// The child of an apply, and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ApplyTarget {
    pub(super) owner: Key,
    pub(super) kind: ResourceKind,
    pub(super) key: Key,
    /// The prefix of the field manager, if only a part of the child is applied.
    pub(super) part: Option<&'static str>,
}

/// The last attempt of one apply.
struct LastAttempt {
    rendered: Fingerprint,
    error: Error,
    backoff: Backoff,
    failures: u32,
    again: Instant,
}

/// The failure of an independent apply.
pub struct IndependentApplyError {
    /// The first failure.
    pub error: Error,
    /// How many attempts in a row failed before this one.
    pub failures: u32,
    /// When to retry.
    pub again: Duration,
}

impl FailedApplies {
    /// Forgets the applies of `owner` that its plan no longer contains.
    pub(super) fn retain(&self, owner: &Key, applies: &[Apply]) {
        let is = |apply: &Apply, child: &ApplyTarget| {
            apply.kind == child.kind && apply.key == child.key && apply.manager_prefix == child.part
        };
        self.lock().retain(|child, _| child.owner != *owner || applies.iter().any(|apply| is(apply, child)));
    }

    /// The last failure, while the backoff of the same apply has not elapsed.
    pub(super) fn pending(&self, child: &ApplyTarget, rendered: Fingerprint) -> Option<IndependentApplyError> {
        let tries = self.lock();
        let last = tries.get(child).filter(|last| last.rendered == rendered)?;
        let again = last.again.checked_duration_since(Instant::now())?;
        Some(IndependentApplyError { error: last.error.clone(), failures: last.failures, again })
    }

    pub(super) fn record(&self, child: ApplyTarget, rendered: Fingerprint, error: Error) -> IndependentApplyError {
        let mut tries = self.lock();
        let before = tries.remove(&child).filter(|last| last.rendered == rendered);
        let (mut backoff, failures) =
            before.map_or_else(|| (Backoff::object(), 0), |last| (last.backoff, last.failures + 1));
        let again = backoff.delay();
        if failures == 0 && !error.is_expected(failures) {
            tracing::warn!(class = error.class(), reason = &*error.reason(), child = %child.key, kind = child.kind.kind, "{error}");
        }
        let last = LastAttempt { rendered, error: error.clone(), backoff, failures, again: Instant::now() + again };
        tries.insert(child, last);
        IndependentApplyError { error, failures, again }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApplyTarget, LastAttempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KIND: ResourceKind = ResourceKind { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };

    fn apply(of: u32) -> Apply {
        Apply::new(KIND, Key::new("n", "c"), &json!({ "metadata": {}, "data": { "a": of } }))
    }

    #[test]
    fn a_failed_apply_backs_off_and_a_changed_one_does_not() {
        let (failed, owner) = (FailedApplies::default(), Key::new("n", "a"));
        let child = ApplyTarget { owner: owner.clone(), kind: KIND, key: Key::new("n", "c"), part: None };
        let (one, other) = (apply(1).fingerprint(), apply(2).fingerprint());
        assert!(failed.pending(&child, one).is_none());
        let error = Error::transient(api::ReconcileReason::Forbidden, "no");
        assert_eq!(failed.record(child.clone(), one, error.clone()).failures, 0);
        assert_eq!(failed.record(child.clone(), one, error.clone()).failures, 1);
        let pending = failed.pending(&child, one).unwrap();
        assert_eq!((pending.error, pending.failures), (error, 1));
        assert!(failed.pending(&child, other).is_none(), "a changed apply is attempted at once");
        failed.retain(&Key::new("n", "b"), &[]);
        assert!(failed.pending(&child, one).is_some(), "reconciles of other owners do not matter");
        let part = ApplyTarget { part: Some("part"), ..child.clone() };
        failed.record(part.clone(), other, Error::transient(api::ReconcileReason::Forbidden, "no"));
        let both = failed.pending(&child, one).zip(failed.pending(&part, other));
        assert_eq!(
            both.map(|(whole, part)| (whole.failures, part.failures)),
            Some((1, 0)),
            "parts of one child fail separately"
        );
        failed.retain(&owner, &[apply(1)]);
        assert!(failed.pending(&child, one).is_some() && failed.pending(&part, other).is_none());
        failed.retain(&owner, &[]);
        assert!(failed.pending(&child, one).is_none(), "no plan contains it any more");
    }
}
