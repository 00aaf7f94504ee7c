//! Applies beside the effects that failed: each is tried again once its time has come, or at once if it is another one by then.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::apply::drift::Fingerprint;
use crate::plan::Apply;
use crate::plan::meta::{Key, Kind};
use crate::retry::Backoff;

/// Applies that failed. Parts of one child that are applied apart fail apart.
#[derive(Default)]
pub(super) struct Failed(Mutex<HashMap<Child, Try>>);

/// What is applied, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Child {
    pub(super) owner: Key,
    pub(super) kind: Kind,
    pub(super) key: Key,
    /// The part of it, if it is not applied as a whole.
    pub(super) part: Option<&'static str>,
}

/// The last try of one apply.
struct Try {
    rendered: Fingerprint,
    error: Error,
    backoff: Backoff,
    failures: u32,
    again: Instant,
}

/// That something beside the effects could not be applied.
pub struct IndependentApplyError {
    /// The first failure.
    pub error: Error,
    /// How often in a row that has failed before.
    pub failures: u32,
    /// When to try again.
    pub again: Duration,
}

impl Failed {
    /// Forgets what is not asked for any more: because it is so now, or is not wanted.
    pub(super) fn retain(&self, owner: &Key, applies: &[Apply]) {
        let is = |apply: &Apply, child: &Child| {
            apply.kind == child.kind && apply.key == child.key && apply.hand_over == child.part
        };
        self.lock().retain(|child, _| child.owner != *owner || applies.iter().any(|apply| is(apply, child)));
    }

    /// The failure, if the same apply is not to be tried yet.
    pub(super) fn waits(&self, child: &Child, rendered: Fingerprint) -> Option<IndependentApplyError> {
        let tries = self.lock();
        let last = tries.get(child).filter(|last| last.rendered == rendered)?;
        let again = last.again.checked_duration_since(Instant::now())?;
        Some(IndependentApplyError { error: last.error.clone(), failures: last.failures, again })
    }

    pub(super) fn note(&self, child: Child, rendered: Fingerprint, error: Error) -> IndependentApplyError {
        let mut tries = self.lock();
        let before = tries.remove(&child).filter(|last| last.rendered == rendered);
        let (mut backoff, failures) =
            before.map_or_else(|| (Backoff::object(), 0), |last| (last.backoff, last.failures + 1));
        let again = backoff.delay();
        if failures == 0 && !error.is_expected(failures) {
            tracing::warn!(class = error.class(), reason = &*error.reason(), child = %child.key, kind = child.kind.kind, "{error}");
        }
        let last = Try { rendered, error: error.clone(), backoff, failures, again: Instant::now() + again };
        tries.insert(child, last);
        IndependentApplyError { error, failures, again }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Child, Try>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KIND: Kind = Kind { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };

    fn apply(of: u32) -> Apply {
        Apply::new(KIND, Key::new("n", "c"), &json!({ "metadata": {}, "data": { "a": of } }))
    }

    #[test]
    fn what_failed_waits_and_what_was_edited_does_not() {
        let (failed, owner) = (Failed::default(), Key::new("n", "a"));
        let child = Child { owner: owner.clone(), kind: KIND, key: Key::new("n", "c"), part: None };
        let (one, other) = (apply(1).fingerprint(), apply(2).fingerprint());
        assert!(failed.waits(&child, one).is_none());
        let error = Error::transient(api::ReconcileReason::Forbidden, "no");
        assert_eq!(failed.note(child.clone(), one, error.clone()).failures, 0);
        assert_eq!(failed.note(child.clone(), one, error.clone()).failures, 1);
        let waits = failed.waits(&child, one).unwrap();
        assert_eq!((waits.error, waits.failures), (error, 1));
        assert!(failed.waits(&child, other).is_none(), "another rendering is another try");
        failed.retain(&Key::new("n", "b"), &[]);
        assert!(failed.waits(&child, one).is_some(), "another owner's passes do not matter");
        let part = Child { part: Some("part"), ..child.clone() };
        failed.note(part.clone(), other, Error::transient(api::ReconcileReason::Forbidden, "no"));
        let both = failed.waits(&child, one).zip(failed.waits(&part, other));
        assert_eq!(
            both.map(|(whole, part)| (whole.failures, part.failures)),
            Some((1, 0)),
            "parts of one child fail apart"
        );
        failed.retain(&owner, &[apply(1)]);
        assert!(failed.waits(&child, one).is_some() && failed.waits(&part, other).is_none());
        failed.retain(&owner, &[]);
        assert!(failed.waits(&child, one).is_none(), "nobody asks for it any more");
    }
}
