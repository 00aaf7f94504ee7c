//! Reads claims by name that the watch does not show; seldom, as long as there is none of the database's own.

use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::plan::Key;

use crate::database::{Observed, unwatched};
use crate::queries::{ApiQueries, live};
use crate::remembered::Remembered;

/// For how long it is taken for true that there is no claim of the database's own.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// Which claims do not exist.
#[derive(Clone, Default)]
pub(crate) struct NamedClaims(Remembered<Key, ()>);

impl NamedClaims {
    /// Takes in claims whose labels were edited.
    ///
    /// # Errors
    /// If one cannot be read: it may exist.
    pub(crate) async fn read(
        &self,
        api: &impl ApiQueries,
        observed: &mut Observed,
        now: Timestamp,
    ) -> Result<(), Error> {
        for name in unwatched::unseen(observed) {
            let key = observed.db.meta.key.sibling(&name);
            // What becomes of a database that is deleted depends on whether there are data.
            if self.0.get(&key, FRESH, now).is_some() && !observed.db.meta.deleting {
                continue;
            }
            if let Some(claim) = live(api, &key).await? {
                unwatched::take_in(observed, claim);
            }
            // The operator labels one of its own in the same reconcile, so that it is watched from then on.
            if observed.claim(&name).is_none() {
                self.0.put(key, (), FRESH, now);
            }
        }
        Ok(())
    }
}
