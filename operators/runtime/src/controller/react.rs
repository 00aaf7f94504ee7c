//! Queues objects for which something has changed that no event tells of.

use futures::future::join_all;

use super::Controller;
use crate::Operator;
use crate::cache::{Health, Projection, Store};
use crate::outage::Outages;
use crate::workqueue::Queue;

impl<O: Operator> Controller<O> {
    /// For ever.
    pub(super) async fn react(&self) {
        let objects = self.operator.objects();
        let outages = async {
            loop {
                self.settings.outages.ended().await;
                self.queue.retry_failed();
            }
        };
        let crds = async {
            loop {
                objects.health().crd_restored().await;
                // What could not be written into their status has yet to be.
                objects.keys().iter().for_each(|key| self.queue.add(key));
            }
        };
        let kinds = self.health.iter().chain(&self.optional);
        let kinds = join_all(kinds.map(|kind| queue_upon_turns(kind, objects, &self.queue, &self.settings.outages)));
        tokio::join!(outages, crds, kinds);
    }
}

/// Queues all objects whenever something else is known of a kind: that it is served, or is not, or has not been seen for a while.
/// What an outage keeps from being seen is seen again after it, and until then nothing could be done about it.
async fn queue_upon_turns<V: Projection>(kind: &Health, objects: &Store<V>, queue: &Queue, outages: &Outages) {
    let mut known = kind.known();
    loop {
        kind.known_otherwise(&known).await;
        outages.settled().await;
        let now = kind.known();
        if now != known {
            known = now;
            queue.add_spread(&objects.keys());
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
    use crate::cache::Entry;
    use crate::cache::watch_health::Why;
    use crate::plan::meta::Key;
    use crate::projections::{ConfigMap, HttpRoute};

    fn objects(count: usize) -> Arc<Store<ConfigMap>> {
        let store = Store::new(1);
        for number in 0..count {
            let object =
                json!({ "metadata": { "name": format!("a-{number}"), "namespace": "n", "resourceVersion": "1" } });
            store.apply(Entry::decode(&object.to_string()).unwrap());
        }
        Arc::new(store)
    }

    /// What is queued from now on, until nothing has come for a while.
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
    async fn an_outage_queues_nothing_and_a_kind_that_comes_or_goes_queues_all() {
        let (objects, queue, optional) = (objects(3), Queue::new("test"), Store::<HttpRoute>::new(1).health().clone());
        let mut all = objects.keys();
        all.sort();
        optional.not_served(None);
        let reacts = tokio::spawn({
            let (objects, queue, optional) = (objects.clone(), queue.clone(), optional.clone());
            async move { queue_upon_turns(&optional, &objects, &queue, &Outages::default()).await }
        });
        tokio::task::yield_now().await;
        optional.seek();
        assert_eq!(queued(&queue).await, [], "that somebody asks for it changes nothing");
        optional.synced(None);
        assert_eq!(queued(&queue).await, all);

        let away = || Why::Fault("away".to_owned());
        assert!(optional.failed(None, away()));
        assert_eq!(queued(&queue).await, [], "what was seen a moment ago holds");
        optional.synced(None);
        assert_eq!(queued(&queue).await, [], "and still does");

        optional.not_served(None);
        assert_eq!(queued(&queue).await, all);
        optional.failed(None, away());
        assert_eq!(queued(&queue).await, all, "it is not known whether it is served");
        optional.synced(None);
        assert_eq!(queued(&queue).await, all);
        reacts.abort();
    }

    /// A watch of a kind that fails for longer than that, as it is found with its next try.
    async fn fails_for_long(kind: &Health) {
        let away = || Why::Fault("away".to_owned());
        kind.failed(None, away());
        kind.has_failed_for_long();
        tokio::task::yield_now().await;
        assert!(!kind.failed(None, away()), "it is logged once");
    }

    #[tokio::test]
    async fn objects_at_rest_are_looked_at_once_a_kind_is_not_seen_any_more_and_once_it_is_again() {
        let (objects, queue, kind) = (objects(3), Queue::new("test"), Store::<ConfigMap>::new(1).health().clone());
        let mut all = objects.keys();
        all.sort();
        kind.synced(None);
        let outages = Outages::default();
        let reacts = tokio::spawn({
            let (objects, queue, kind, outages) = (objects.clone(), queue.clone(), kind.clone(), outages.clone());
            async move { queue_upon_turns(&kind, &objects, &queue, &outages).await }
        });
        tokio::task::yield_now().await;
        fails_for_long(&kind).await;
        assert_eq!(queued(&queue).await, all);
        kind.failed(None, Why::Fault("away".to_owned()));
        assert_eq!(queued(&queue).await, [], "they are looked at again by themselves");
        kind.synced(None);
        assert_eq!(queued(&queue).await, all);

        outages.seen(false);
        fails_for_long(&kind).await;
        assert_eq!(queued(&queue).await, [], "while the API server is away");
        kind.synced(None);
        outages.seen(true);
        assert_eq!(queued(&queue).await, []);
        reacts.abort();
    }
}
