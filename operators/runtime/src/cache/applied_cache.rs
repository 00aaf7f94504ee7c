//! Learns how the API server normalizes our writes.
//!
//! The API server may store another value than the one that was sent, such as a default inside an atomic field. Then the live
//! fingerprint never equals the rendered one. The difference is learned from the response to our own apply or creation, so that
//! it neither counts as drift forever nor hides a later edit.

use std::collections::HashMap;

use crate::apply::drift::{Fingerprint, Rendered};
use crate::plan::meta::Key;

/// Applies whose event has not arrived, and those whose result was normalized.
#[derive(Default)]
pub(super) struct AppliedCache(HashMap<Key, PendingApply>);

struct PendingApply {
    rendered: Rendered,
    version: u64,
    live: Option<Fingerprint>,
}

impl AppliedCache {
    /// Records a successful apply; `live` is the fingerprint in the store, if the store holds that version already.
    pub(super) fn record(&mut self, key: &Key, rendered: Rendered, version: u64, live: Option<Fingerprint>) {
        if live.is_some_and(|live| rendered.is(live)) {
            self.0.remove(key);
        } else {
            self.0.insert(key.clone(), PendingApply { rendered, version, live });
        }
    }

    /// Records the event of that version.
    pub(super) fn confirm(&mut self, key: &Key, version: u64, live: Fingerprint) {
        let Some(apply) = self.0.get_mut(key) else { return };
        if apply.version == version {
            apply.live = Some(live);
        }
        let unlearned = apply.live.is_none() && version > apply.version;
        if unlearned || apply.live.is_some_and(|live| apply.rendered.is(live)) {
            self.0.remove(key);
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// The fingerprint to compare: the rendered one, if `live` is its normalized form.
    pub(super) fn rendered(&self, key: &Key, live: Fingerprint) -> Fingerprint {
        self.0.get(key).filter(|apply| apply.live == Some(live)).map_or(live, |apply| apply.rendered.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn print(of: u8) -> Fingerprint {
        Fingerprint::of_rendered(&json!({ "spec": of }))
    }

    fn rendered(of: u8) -> Rendered {
        Rendered { all: print(of), others: print(of + 100) }
    }

    #[test]
    fn a_normalization_is_learned_in_either_order_of_event_and_response() {
        let key = Key::new("n", "a");
        for event_first in [true, false] {
            let mut applied = AppliedCache::default();
            if event_first {
                applied.record(&key, rendered(1), 7, Some(print(2)));
            } else {
                applied.record(&key, rendered(1), 7, None);
                applied.confirm(&key, 7, print(2));
            }
            assert_eq!(applied.rendered(&key, print(2)), print(1));
            assert_eq!(applied.rendered(&key, print(3)), print(3), "an edit still shows");
            applied.confirm(&key, 8, print(2));
            assert_eq!(applied.rendered(&key, print(2)), print(1), "a change of status does not reset it");
        }
    }

    #[test]
    fn an_apply_that_is_stored_as_sent_is_forgotten() {
        let key = Key::new("n", "a");
        let mut applied = AppliedCache::default();
        applied.record(&key, rendered(1), 7, None);
        applied.confirm(&key, 7, print(1));
        assert!(applied.0.is_empty());
        for same in [1, 101] {
            applied.record(&key, rendered(1), 7, Some(print(same)));
            assert!(applied.0.is_empty());
        }
        applied.record(&key, rendered(1), 7, None);
        applied.confirm(&key, 9, print(2));
        assert!(applied.0.is_empty(), "another client has written since: nothing can be learned");
    }
}
