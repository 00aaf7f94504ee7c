//! What is applied beside the effects of a plan: each try that failed is remembered, and repeated with growing delays, so
//! that it slows down nothing else.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Writer;
use crate::Error;
use crate::plan::drift::Fingerprint;
use crate::plan::meta::{Key, Kind, Meta};
use crate::plan::{Apply, Told};
use crate::retry::Backoff;

/// Applies that failed. Parts of one child that are applied apart fail apart.
#[derive(Default)]
pub(super) struct Failed(Mutex<HashMap<Child, Try>>);

/// What is applied, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Child {
    owner: Key,
    kind: Kind,
    key: Key,
    /// The part of it, if it is not applied as a whole.
    part: Option<&'static str>,
}

/// The last try of one apply.
struct Try {
    rendered: Fingerprint,
    error: Error,
    backoff: Backoff,
    failures: u32,
    again: Instant,
}

/// What became of what stands beside the effects.
#[derive(Default)]
pub struct Beside {
    /// Whether anything was applied. No event tells of that: it is an own write.
    pub wrote: bool,
    /// The first failure, be it an earlier one.
    pub failed: Option<Aside>,
}

/// That something beside the effects could not be applied.
pub struct Aside {
    /// The first failure.
    pub error: Error,
    /// How often in a row that has failed before.
    pub failures: u32,
    /// When to try again.
    pub again: Duration,
}

impl Writer {
    /// Applies each of these, unless it has failed and its time has not come yet.
    pub async fn aside(&self, kind: &Kind, owner: &Meta, told: Told, applies: Vec<Apply>) -> Beside {
        self.failed.retain(&owner.key, &applies);
        let mut beside = Beside::default();
        for apply in applies {
            let child =
                Child { owner: owner.key.clone(), kind: apply.kind, key: apply.key.clone(), part: apply.hand_over };
            let rendered = apply.fingerprint();
            #[cfg(feature = "failpoints")]
            let failpoint = crate::failpoint::Failpoint::of(&apply);
            let tried = match self.failed.waits(&child, rendered) {
                Some(waits) => Err(waits),
                None => match self.apply(kind, owner, told, apply).await {
                    Ok(()) => {
                        #[cfg(feature = "failpoints")]
                        failpoint.passed();
                        Ok(())
                    }
                    Err(error) => Err(self.failed.note(child, rendered, error)),
                },
            };
            match tried {
                Ok(()) => beside.wrote = true,
                Err(aside) => drop(beside.failed.get_or_insert(aside)),
            }
        }
        beside
    }

    /// Forgets an owner that is gone.
    pub fn forget(&self, owner: &Key) {
        self.failed.retain(owner, &[]);
        self.last.forget(owner);
    }
}

impl Failed {
    /// Forgets what is not asked for any more: because it is so now, or is not wanted.
    fn retain(&self, owner: &Key, applies: &[Apply]) {
        let is = |apply: &Apply, child: &Child| {
            apply.kind == child.kind && apply.key == child.key && apply.hand_over == child.part
        };
        self.lock().retain(|child, _| child.owner != *owner || applies.iter().any(|apply| is(apply, child)));
    }

    /// The failure, if the same apply is not to be tried yet.
    fn waits(&self, child: &Child, rendered: Fingerprint) -> Option<Aside> {
        let tries = self.lock();
        let last = tries.get(child).filter(|last| last.rendered == rendered)?;
        let again = last.again.checked_duration_since(Instant::now())?;
        Some(Aside { error: last.error.clone(), failures: last.failures, again })
    }

    fn note(&self, child: Child, rendered: Fingerprint, error: Error) -> Aside {
        let mut tries = self.lock();
        let before = tries.remove(&child).filter(|last| last.rendered == rendered);
        let (mut backoff, failures) =
            before.map_or_else(|| (Backoff::object(), 0), |last| (last.backoff, last.failures + 1));
        let again = backoff.delay();
        if failures == 0 && !error.is_ordinary(failures) {
            tracing::warn!(class = error.class(), reason = &*error.reason(), child = %child.key, kind = child.kind.kind, "{error}");
        }
        let last = Try { rendered, error: error.clone(), backoff, failures, again: Instant::now() + again };
        tries.insert(child, last);
        Aside { error, failures, again }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Child, Try>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Apply;
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
