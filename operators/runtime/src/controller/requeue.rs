//! Requeues objects after changes that no event reports.

use futures::future::join_all;

use super::Controller;
use crate::Operator;
use crate::cache::{KindHealth, Projection, Store};
use crate::outage::Outages;
use crate::workqueue::Queue;

impl<O: Operator> Controller<O> {
    /// Runs forever.
    pub(super) async fn requeue_on_changes(&self) {
        let objects = self.operator.objects();
        let outages = async {
            loop {
                self.settings.outages.ended().await;
                self.queue.retry_failed();
            }
        };
        let crds = async {
            loop {
                objects.health().crd_matches_again().await;
                // Their status could not be written before.
                objects.keys().iter().for_each(|key| self.queue.add(key));
            }
        };
        let kinds = self.health.iter().chain(&self.optional);
        let kinds = join_all(
            kinds.map(|kind| requeue_on_visibility_change(kind, objects, &self.queue, &self.settings.outages)),
        );
        tokio::join!(outages, crds, kinds);
    }
}

/// Requeues all objects whenever the visibility of a kind changes: it is served, it is not, or its watch is stale. Not during an
/// outage: nothing could be done about it, and watches resume after it.
async fn requeue_on_visibility_change<V: Projection>(
    kind: &KindHealth,
    objects: &Store<V>,
    queue: &Queue,
    outages: &Outages,
) {
    let mut visibility = kind.visibility();
    loop {
        kind.visibility_changed(&visibility).await;
        outages.settled().await;
        let now = kind.visibility();
        if now != visibility {
            visibility = now;
            queue.add_staggered(&objects.keys());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::json;
    use tokio::time::timeout;

    use super::*;
    use crate::cache::CacheEntry;
    use crate::cache::watch_health::WatchFailure;
    use crate::plan::meta::Key;
    use crate::projections::{ConfigMap, HttpRoute};

    fn objects(count: usize) -> Arc<Store<ConfigMap>> {
        let store = Store::new(1);
        for number in 0..count {
            let object =
                json!({ "metadata": { "name": format!("a-{number}"), "namespace": "n", "resourceVersion": "1" } });
            store.apply(CacheEntry::decode(&object.to_string()).unwrap());
        }
        Arc::new(store)
    }

    /// The keys that are enqueued from now on, until none has come for a while.
    async fn queued(queue: &Queue) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Ok(Some(work)) = timeout(Duration::from_millis(400), queue.next()).await {
            queue.done(&work.key, 1, &crate::workqueue::ReconcileResult::Done);
            keys.push(work.key);
        }
        keys.sort();
        keys
    }

    #[tokio::test]
    async fn all_objects_are_requeued_when_a_kind_appears_or_disappears_but_not_in_an_outage() {
        let (objects, queue, optional) = (objects(3), Queue::new("test"), Store::<HttpRoute>::new(1).health().clone());
        let mut all = objects.keys();
        all.sort();
        optional.not_served(None);
        let reacts = tokio::spawn({
            let (objects, queue, optional) = (objects.clone(), queue.clone(), optional.clone());
            async move { requeue_on_visibility_change(&optional, &objects, &queue, &Outages::default()).await }
        });
        tokio::task::yield_now().await;
        optional.require();
        assert_eq!(queued(&queue).await, [], "requiring the kind changes nothing");
        optional.synced(None);
        assert_eq!(queued(&queue).await, all);

        let away = || WatchFailure::Fault("away".to_owned());
        assert!(optional.failed(None, away()));
        assert_eq!(queued(&queue).await, [], "the last known objects still count");
        optional.synced(None);
        assert_eq!(queued(&queue).await, [], "nothing has changed");

        optional.not_served(None);
        assert_eq!(queued(&queue).await, all);
        optional.failed(None, away());
        assert_eq!(queued(&queue).await, all, "it is not known whether it is served");
        optional.synced(None);
        assert_eq!(queued(&queue).await, all);
        reacts.abort();
    }

    /// Lets the watch of a kind become stale, as its next failure shows.
    async fn becomes_stale(kind: &KindHealth) {
        let away = || WatchFailure::Fault("away".to_owned());
        kind.failed(None, away());
        kind.mark_stale();
        tokio::task::yield_now().await;
        assert!(!kind.failed(None, away()), "it is logged once");
    }

    #[tokio::test]
    async fn all_objects_are_requeued_when_a_watch_becomes_stale_and_when_it_recovers() {
        let (objects, queue, kind) = (objects(3), Queue::new("test"), Store::<ConfigMap>::new(1).health().clone());
        let mut all = objects.keys();
        all.sort();
        kind.synced(None);
        let outages = Outages::default();
        let reacts = tokio::spawn({
            let (objects, queue, kind, outages) = (objects.clone(), queue.clone(), kind.clone(), outages.clone());
            async move { requeue_on_visibility_change(&kind, &objects, &queue, &outages).await }
        });
        tokio::task::yield_now().await;
        becomes_stale(&kind).await;
        assert_eq!(queued(&queue).await, all);
        kind.failed(None, WatchFailure::Fault("away".to_owned()));
        assert_eq!(queued(&queue).await, [], "each object requeues itself");
        kind.synced(None);
        assert_eq!(queued(&queue).await, all);

        outages.seen(false);
        becomes_stale(&kind).await;
        assert_eq!(queued(&queue).await, [], "while the API server is away");
        kind.synced(None);
        outages.seen(true);
        assert_eq!(queued(&queue).await, []);
        reacts.abort();
    }
}
