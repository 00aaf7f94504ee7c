//! Queues objects for which something has changed that no event tells of.

use futures::future::join_all;

use super::Controller;
use crate::Operator;
use crate::cache::{Health, Store, View};
use crate::queue::Queue;

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
        let optional = join_all(self.optional.iter().map(|health| queue_upon_turns(health, objects, &self.queue)));
        tokio::join!(outages, crds, optional);
    }
}

/// Queues all objects whenever something else is known of a kind that they can do without: that it is served, or is not, or is
/// not seen. An outage that their own watches bear is none of that.
async fn queue_upon_turns<V: View>(optional: &Health, objects: &Store<V>, queue: &Queue) {
    let mut turns = optional.turns();
    loop {
        turns = optional.turned(turns).await;
        queue.add_spread(&objects.keys());
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
    use crate::plan::meta::Key;
    use crate::plan::sight::Why;
    use crate::views::{ConfigMap, HttpRoute};

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
            queue.done(&work.key, 1, &crate::queue::Outcome::Settled);
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
            async move { queue_upon_turns(&optional, &objects, &queue).await }
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
}
