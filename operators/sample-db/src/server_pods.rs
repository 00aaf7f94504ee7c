//! Reads servers' pods by name if the watch does not show them, because their labels were edited. That no such pod exists is
//! remembered for a while.

use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::Pod;

use crate::database::Observed;
use crate::database::unlabeled::{self, NamedPod};
use crate::queries::ApiQueries;
use crate::ttl_cache::TtlCache;

/// How long it is remembered that there is no pod, or a foreign one.
const ABSENT_TTL: SignedDuration = SignedDuration::from_secs(5);

/// The name of a server's pod, and the uid of the pod of that name that the watch shows.
type PodLookup = (Key, Option<Box<str>>);

/// What was found at the names of servers' pods.
#[derive(Clone, Default)]
pub(crate) struct ServerPods(TtlCache<PodLookup, NamedPod>);

impl ServerPods {
    /// Adds servers' pods whose labels were edited.
    ///
    /// # Errors
    /// If one cannot be read: it may exist.
    pub(crate) async fn read(
        &self,
        api: &impl ApiQueries,
        observed: &mut Observed,
        now: Timestamp,
    ) -> Result<(), Error> {
        for name in unlabeled::unwatched_pods(observed) {
            let watched = observed.pod_named(&name).map(|pod| pod.meta.uid.clone());
            let lookup = (observed.db.meta.key.sibling(&name), watched);
            // What happens to the data of a database that is deleted depends on whether the pod exists.
            let known = self.0.get(&lookup, ABSENT_TTL, now).filter(|_| !observed.db.meta.deleting);
            let found = match known {
                Some(found) => found,
                None => {
                    let found = NamedPod::of(&observed.db, api.get(Pod::KIND, &lookup.0).await?.as_ref());
                    self.0.remove_matching(|(key, _)| *key == lookup.0);
                    // The operator restores the labels of its own pod in the same reconcile, so the watch shows it from then on.
                    if !matches!(found, NamedPod::Own(_)) {
                        self.0.put(lookup, found.clone(), ABSENT_TTL, now);
                    }
                    found
                }
            };
            unlabeled::merge(observed, name, found);
        }
        Ok(())
    }
}
