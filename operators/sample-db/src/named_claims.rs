//! Reads PVCs by name if the watch does not show them, because their labels were edited. That no such PVC exists is remembered
//! for a while.

use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::plan::Key;

use crate::database::{Observed, unwatched};
use crate::queries::{ApiQueries, get_projection};
use crate::ttl_cache::TtlCache;

/// How long it is remembered that the database has no such PVC.
const ABSENT_TTL: SignedDuration = SignedDuration::from_secs(5);

/// The PVCs that do not exist.
#[derive(Clone, Default)]
pub(crate) struct NamedClaims(TtlCache<Key, ()>);

impl NamedClaims {
    /// Adds PVCs whose labels were edited.
    ///
    /// # Errors
    /// If one cannot be read: it may exist.
    pub(crate) async fn read(
        &self,
        api: &impl ApiQueries,
        observed: &mut Observed,
        now: Timestamp,
    ) -> Result<(), Error> {
        for name in unwatched::unwatched_claims(observed) {
            let key = observed.db.meta.key.sibling(&name);
            // What happens to a database that is deleted depends on whether its data exists.
            if self.0.get(&key, ABSENT_TTL, now).is_some() && !observed.db.meta.deleting {
                continue;
            }
            if let Some(claim) = get_projection(api, &key).await? {
                unwatched::merge(observed, claim);
            }
            // The operator restores the labels of its own PVC in the same reconcile, so the watch shows it from then on.
            if observed.claim(&name).is_none() {
                self.0.put(key, (), ABSENT_TTL, now);
            }
        }
        Ok(())
    }
}
