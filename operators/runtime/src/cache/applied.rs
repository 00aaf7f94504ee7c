//! What became of our applies. The API server may write a value another way than we do (a default inside an atomic
//! field, say); then the live fingerprint never equals the rendered one. That difference is learned from the answer to
//! our own apply or creation, so that it is neither taken for drift for ever nor hides a later edit.

use std::collections::HashMap;

use crate::apply::drift::{Fingerprint, Rendered};
use crate::plan::meta::Key;

/// Applies that have not come back, and those that came back another way.
#[derive(Default)]
pub(super) struct Applied(HashMap<Key, Apply>);

struct Apply {
    rendered: Rendered,
    version: u64,
    live: Option<Fingerprint>,
}

impl Applied {
    /// An apply was answered; `live` is what the store holds of that very version, if it does already.
    pub(super) fn note(&mut self, key: &Key, rendered: Rendered, version: u64, live: Option<Fingerprint>) {
        if live.is_some_and(|live| rendered.is(live)) {
            self.0.remove(key);
        } else {
            self.0.insert(key.clone(), Apply { rendered, version, live });
        }
    }

    /// An event brought that version.
    pub(super) fn came_back(&mut self, key: &Key, version: u64, live: Fingerprint) {
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

    /// The fingerprint to compare: what was rendered, if `live` is what became of it.
    pub(super) fn rendered(&self, key: &Key, live: Fingerprint) -> Fingerprint {
        self.0.get(key).filter(|apply| apply.live == Some(live)).map_or(live, |apply| apply.rendered.whole)
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
        Rendered { whole: print(of), others: print(of + 100) }
    }

    #[test]
    fn what_the_server_writes_another_way_is_learned_from_either_order() {
        let key = Key::new("n", "a");
        for event_first in [true, false] {
            let mut applied = Applied::default();
            if event_first {
                applied.note(&key, rendered(1), 7, Some(print(2)));
            } else {
                applied.note(&key, rendered(1), 7, None);
                applied.came_back(&key, 7, print(2));
            }
            assert_eq!(applied.rendered(&key, print(2)), print(1));
            assert_eq!(applied.rendered(&key, print(3)), print(3), "an edit still shows");
            applied.came_back(&key, 8, print(2));
            assert_eq!(applied.rendered(&key, print(2)), print(1), "a change of status does not unlearn");
        }
    }

    #[test]
    fn nothing_is_kept_of_an_apply_that_came_back_as_sent() {
        let key = Key::new("n", "a");
        let mut applied = Applied::default();
        applied.note(&key, rendered(1), 7, None);
        applied.came_back(&key, 7, print(1));
        assert!(applied.0.is_empty());
        for same in [1, 101] {
            applied.note(&key, rendered(1), 7, Some(print(same)));
            assert!(applied.0.is_empty());
        }
        applied.note(&key, rendered(1), 7, None);
        applied.came_back(&key, 9, print(2));
        assert!(applied.0.is_empty(), "somebody else has written since: nothing can be learned");
    }
}
