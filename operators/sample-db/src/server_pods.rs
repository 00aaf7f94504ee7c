//! Reads servers' pods by name that the watch does not show as such; seldom, as long as there is none to restore.

use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::Pod;

use crate::database::Observed;
use crate::database::unlabeled::{self, Found};
use crate::queries::ApiQueries;
use crate::remembered::Remembered;

/// For how long it is taken for true that there is no pod, or one of others.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// The name of a server's pod, and the uid of the pod of that name that the watch shows.
type Of = (Key, Option<Box<str>>);

/// What was found under the names of servers' pods.
#[derive(Clone, Default)]
pub(crate) struct ServerPods(Remembered<Of, Found>);

impl ServerPods {
    /// Takes in servers' pods whose labels were edited.
    ///
    /// # Errors
    /// If one cannot be read: it may exist.
    pub(crate) async fn read(
        &self,
        api: &impl ApiQueries,
        observed: &mut Observed,
        now: Timestamp,
    ) -> Result<(), Error> {
        for name in unlabeled::unseen(observed) {
            let watched = observed.pod_named(&name).map(|pod| pod.meta.uid.clone());
            let of = (observed.db.meta.key.sibling(&name), watched);
            // What is done with the data of a server that is deleted depends on whether it is there.
            let known = self.0.get(&of, FRESH, now).filter(|_| !observed.db.meta.deleting);
            let found = match known {
                Some(found) => found,
                None => {
                    let found = Found::of(&observed.db, api.get(Pod::KIND, &of.0).await?.as_ref());
                    self.0.forget(|(key, _)| *key == of.0);
                    // The operator labels one of its own in the same reconcile, so that it is watched from then on.
                    if !matches!(found, Found::Own(_)) {
                        self.0.put(of, found.clone(), FRESH, now);
                    }
                    found
                }
            };
            unlabeled::take_in(observed, name, found);
        }
        Ok(())
    }
}
