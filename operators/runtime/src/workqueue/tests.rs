//! The queue without a cluster. Time is paused where delays matter.

use super::*;
use crate::Error;
use crate::plan::meta::ResourceKind;

const APP: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };
const CHILD: ResourceKind = ResourceKind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };

fn key(name: &str) -> Key {
    Key::new("n", name)
}

fn child(name: &str, version: u64) -> ObjectVersion {
    ObjectVersion { kind: CHILD, key: key(name), version: ResourceVersion::Exact(version) }
}

fn deleted(name: &str) -> ObjectVersion {
    ObjectVersion { kind: CHILD, key: key(name), version: ResourceVersion::Deleted }
}

async fn next(queue: &Queue) -> Request {
    queue.next().await.expect("the queue is open")
}

/// The key that is ready now, if there is one.
async fn ready(queue: &Queue) -> Option<Key> {
    tokio::select! { biased; work = queue.next() => work.map(|work| work.key), () = std::future::ready(()) => None }
}

#[tokio::test]
async fn first_in_first_out_and_each_key_once() {
    let queue = Queue::new("test");
    for name in ["a", "b", "a", "c", "b"] {
        queue.add(&key(name));
    }
    assert_eq!(queue.depth(), 3);
    for name in ["a", "b", "c"] {
        assert_eq!(next(&queue).await.key, key(name));
    }
    assert_eq!(ready(&queue).await, None);
}

#[tokio::test]
async fn a_key_is_never_processed_twice_at_a_time() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.add(&key("a"));
    assert_eq!(ready(&queue).await, None);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    assert_eq!(ready(&queue).await, Some(key("a")));
}

#[tokio::test]
async fn the_event_of_an_own_write_enqueues_nothing_in_either_order() {
    for event_first in [true, false] {
        let queue = Queue::new("test");
        queue.add(&key("a"));
        next(&queue).await;
        if event_first {
            queue.observe(&key("a"), child("a", 7), None, Trigger::UnlessOwn);
            queue.wrote(&key("a"), child("a", 7), 0);
        } else {
            queue.wrote(&key("a"), child("a", 7), 0);
            queue.observe(&key("a"), child("a", 7), None, Trigger::UnlessOwn);
        }
        queue.done(&key("a"), 1, &ReconcileResult::Done);
        assert_eq!(ready(&queue).await, None, "event first: {event_first}");
        queue.observe(&key("a"), child("a", 8), None, Trigger::UnlessOwn);
        assert_eq!(ready(&queue).await, Some(key("a")), "but the next change does");
    }
}

#[tokio::test]
async fn a_foreign_change_enqueues_with_any_version() {
    // The response to an apply that changes nothing has the version of another client's write.
    for event_first in [true, false] {
        let queue = Queue::new("test");
        queue.add(&key("a"));
        next(&queue).await;
        if event_first {
            queue.observe(&key("a"), child("a", 7), None, Trigger::Always);
            queue.wrote(&key("a"), child("a", 7), 0);
        } else {
            queue.wrote(&key("a"), child("a", 7), 0);
            queue.observe(&key("a"), child("a", 7), None, Trigger::Always);
        }
        queue.done(&key("a"), 1, &ReconcileResult::Done);
        if event_first {
            // The write is still waited for: its event arrived before the write was recorded.
            queue.observe(&key("a"), child("a", 8), None, Trigger::None);
        }
        assert_eq!(ready(&queue).await, Some(key("a")), "event first: {event_first}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_for_the_events_of_its_own_writes() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), child("a", 7), 5);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.observe(&key("a"), child("other", 6), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, None, "another event must not cause a plan from before the write");
    queue.observe(&key("a"), child("a", 7), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, Some(key("a")));
}

#[tokio::test]
async fn a_write_that_changed_nothing_is_not_waited_for() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), child("a", 7), 7);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.add(&key("a"));
    assert_eq!(ready(&queue).await, Some(key("a")));
}

#[tokio::test]
async fn a_deletion_by_another_client_enqueues_although_a_write_is_under_way() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), child("a", 7), 5);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.observe(&key("a"), deleted("a"), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, Some(key("a")));
}

#[tokio::test]
async fn an_own_deletion_enqueues_nothing() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), deleted("a"), 5);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.observe(&key("a"), deleted("a"), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, None);
}

#[tokio::test]
async fn failures_are_counted_until_success() {
    let queue = Queue::new("test");
    for failures in 0..3 {
        queue.add(&key("a"));
        assert_eq!(next(&queue).await.failures, failures);
        queue.done(&key("a"), 1, &ReconcileResult::Failed);
    }
    queue.add(&key("a"));
    next(&queue).await;
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.add(&key("a"));
    assert_eq!(next(&queue).await.failures, 0);
}

#[tokio::test]
async fn a_new_generation_resets_the_backoff() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.done(&key("a"), 1, &ReconcileResult::Failed);
    assert_eq!(ready(&queue).await, None);
    let edited = ObjectVersion { kind: APP, key: key("a"), version: ResourceVersion::Exact(9) };
    queue.observe(&key("a"), edited, Some(2), Trigger::UnlessOwn);
    assert_eq!(next(&queue).await.failures, 0);
}

#[tokio::test]
async fn a_failed_key_is_retried() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.done(&key("a"), 1, &ReconcileResult::Failed);
    let again = tokio::time::timeout(Duration::from_secs(5), next(&queue)).await.expect("within the first delay");
    assert_eq!(again.failures, 1);
}

#[tokio::test]
async fn a_done_key_is_forgotten() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    assert!(queue.lock().items.is_empty());
}

#[tokio::test]
async fn closing_ends_every_worker() {
    let queue = Queue::new("test");
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for worker in workers {
        assert_eq!(worker.await.expect("no panic"), None);
    }
}

#[tokio::test]
async fn a_contention_over_a_child_is_slowed_down_until_the_object_is_edited() {
    let queue = Queue::new("test");
    for round in 0..CONTENTION_WRITES.times {
        queue.observe(&key("a"), child("a", u64::from(round)), None, Trigger::UnlessOwn);
        assert_eq!(ready(&queue).await, Some(key("a")), "round {round}");
        assert_eq!(queue.contention(&key("a")), None);
        queue.wrote_child(&key("a"), APP, &key("child"));
        queue.done(&key("a"), 1, &ReconcileResult::Done);
    }
    queue.observe(&key("a"), child("a", 99), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, None);
    let contention = queue.contention(&key("a")).expect("it is detected");
    assert_eq!(contention.child, (APP, key("child")));
    let left = contention.left;
    let within = contention.rate.within;
    assert!(left > within && left <= 2 * within, "it is detected again before: {left:?}");
    let error = Error::contended(&contention);
    assert!(error.stalled() && error.to_string().contains("--show-managed-fields"), "{error}");
    let edited = ObjectVersion { kind: APP, key: key("a"), version: ResourceVersion::Exact(100) };
    queue.observe(&key("a"), edited, Some(2), Trigger::Always);
    assert_eq!(ready(&queue).await, Some(key("a")));
    assert_eq!(queue.contention(&key("a")), None, "the edit may have ended it");
}

#[tokio::test]
async fn occasional_changes_are_reported_once_each_time() {
    let queue = Queue::new("test");
    let repairs = async |times: u32| {
        for _ in 0..times {
            queue.add(&key("a"));
            assert_eq!(ready(&queue).await, Some(key("a")));
            queue.repaired(&key("a"), APP, &key("child"));
            queue.done(&key("a"), 1, &ReconcileResult::Done);
        }
        queue.slow_contention(&key("a"))
    };
    for _ in 0..2 {
        assert_eq!(repairs(SLOW_CONTENTION.times - 1).await, None);
        let child = repairs(1).await.expect("it is noticed");
        assert_eq!(child, (APP, key("child")));
        assert!(Error::changed_occasionally(&child).contains("--show-managed-fields"));
    }
    assert_eq!(queue.contention(&key("a")), None, "each change is still restored at once");
}

#[tokio::test]
async fn after_an_outage_failed_keys_are_retried_staggered() {
    let queue = Queue::new("test");
    for name in ["a", "b", "c", "waits"] {
        queue.add(&key(name));
        next(&queue).await;
        // Parked for a minute, like a key that has failed often.
        let outcome = if name == "waits" {
            ReconcileResult::RequeueAfter(Duration::from_secs(3600))
        } else {
            ReconcileResult::Parked
        };
        queue.done(&key(name), 1, &outcome);
    }
    assert_eq!(ready(&queue).await, None);
    let begun = Instant::now();
    queue.retry_failed();
    let mut retried = Vec::new();
    for _ in 0..3 {
        retried.push(next(&queue).await.key);
    }
    retried.sort();
    assert_eq!(retried, ["a", "b", "c"].map(key));
    assert!(begun.elapsed() >= 2 * staggered::FIRST_INTERVAL, "{:?}", begun.elapsed());
    assert_eq!(ready(&queue).await, None, "a key that has not failed keeps its time");
}

#[tokio::test]
async fn many_keys_are_enqueued_staggered() {
    let queue = Queue::new("test");
    for name in ["soon", "waits"] {
        queue.add(&key(name));
        next(&queue).await;
        let delay = if name == "soon" { Duration::ZERO } else { Duration::from_secs(3600) };
        queue.done(&key(name), 1, &ReconcileResult::RequeueAfter(delay));
    }
    let begun = Instant::now();
    queue.add_staggered(&["soon", "waits", "new", "newer"].map(key));
    let mut taken = Vec::new();
    for _ in 0..4 {
        taken.push(next(&queue).await.key);
    }
    assert_eq!(taken, ["soon", "waits", "new", "newer"].map(key));
    assert!(begun.elapsed() >= 3 * staggered::FIRST_INTERVAL, "{:?}", begun.elapsed());
    queue.add_staggered(&[key("new")]);
    queue.done(&key("new"), 1, &ReconcileResult::Done);
    assert_eq!(ready(&queue).await, Some(key("new")), "its observed state may have changed in the meantime");
}
