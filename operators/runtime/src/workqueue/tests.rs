//! The queue, without a cluster. Time is paused where delays matter, so nothing here waits.

use super::*;
use crate::Error;
use crate::plan::meta::Kind;

const APP: Kind = Kind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };
const CHILD: Kind = Kind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };

fn key(name: &str) -> Key {
    Key::new("n", name)
}

fn child(name: &str, version: u64) -> Version {
    Version { kind: CHILD, key: key(name), at: At::Version(version) }
}

fn gone(name: &str) -> Version {
    Version { kind: CHILD, key: key(name), at: At::Gone }
}

async fn next(queue: &Queue) -> Request {
    queue.next().await.expect("the queue is open")
}

/// Whether a key is ready now, without waiting.
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
async fn a_key_is_never_worked_on_twice_at_a_time() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.add(&key("a"));
    assert_eq!(ready(&queue).await, None);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    assert_eq!(ready(&queue).await, Some(key("a")));
}

#[tokio::test]
async fn the_event_of_an_own_write_is_no_news_whichever_comes_first() {
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
        assert_eq!(ready(&queue).await, Some(key("a")), "but the next change is");
    }
}

#[tokio::test]
async fn what_only_others_write_is_news_under_any_version() {
    // An apply that changes nothing is answered with the version of somebody else's write.
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
            // The write is still waited for: its event came in before it was known to be one.
            queue.observe(&key("a"), child("a", 8), None, Trigger::None);
        }
        assert_eq!(ready(&queue).await, Some(key("a")), "event first: {event_first}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_for_its_own_writes_to_come_back() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), child("a", 7), 5);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.observe(&key("a"), child("other", 6), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, None, "another event must not plan from before the write");
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
async fn a_deletion_by_somebody_else_is_news_although_a_write_is_under_way() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), child("a", 7), 5);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.observe(&key("a"), gone("a"), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, Some(key("a")));
}

#[tokio::test]
async fn an_own_deletion_is_no_news() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.wrote(&key("a"), gone("a"), 5);
    queue.done(&key("a"), 1, &ReconcileResult::Done);
    queue.observe(&key("a"), gone("a"), None, Trigger::UnlessOwn);
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
async fn a_new_generation_ends_delays_and_starts_counting_anew() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.done(&key("a"), 1, &ReconcileResult::Failed);
    assert_eq!(ready(&queue).await, None);
    let edited = Version { kind: APP, key: key("a"), at: At::Version(9) };
    queue.observe(&key("a"), edited, Some(2), Trigger::UnlessOwn);
    assert_eq!(next(&queue).await.failures, 0);
}

#[tokio::test]
async fn a_failed_key_comes_back_by_itself() {
    let queue = Queue::new("test");
    queue.add(&key("a"));
    next(&queue).await;
    queue.done(&key("a"), 1, &ReconcileResult::Failed);
    let again = tokio::time::timeout(Duration::from_secs(5), next(&queue)).await.expect("within the first delay");
    assert_eq!(again.failures, 1);
}

#[tokio::test]
async fn a_settled_key_leaves_nothing_behind() {
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
            tokio::spawn({
                let queue = queue.clone();
                async move { queue.next().await }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for worker in workers {
        assert_eq!(worker.await.expect("no panic"), None);
    }
}

#[tokio::test]
async fn a_fight_over_a_child_is_slowed_down_until_the_object_is_edited() {
    let queue = Queue::new("test");
    for round in 0..FIGHT_WRITES {
        queue.observe(&key("a"), child("a", u64::from(round)), None, Trigger::UnlessOwn);
        assert_eq!(ready(&queue).await, Some(key("a")), "round {round}");
        assert_eq!(queue.fight(&key("a")), None);
        queue.wrote_child(&key("a"), APP, &key("child"));
        queue.done(&key("a"), 1, &ReconcileResult::Done);
    }
    queue.observe(&key("a"), child("a", 99), None, Trigger::UnlessOwn);
    assert_eq!(ready(&queue).await, None);
    let fight = queue.fight(&key("a")).expect("it is noticed");
    assert_eq!(fight.child, (APP, key("child")));
    assert!(fight.left > FIGHT && fight.left <= 2 * FIGHT, "what goes on is noticed again before: {:?}", fight.left);
    let said = Error::contested(&fight);
    assert!(said.stalled() && said.to_string().contains("--show-managed-fields"), "{said}");
    let edited = Version { kind: APP, key: key("a"), at: At::Version(100) };
    queue.observe(&key("a"), edited, Some(2), Trigger::Always);
    assert_eq!(ready(&queue).await, Some(key("a")));
    assert_eq!(queue.fight(&key("a")), None, "the edit may have ended it");
}

#[tokio::test]
async fn somebody_who_comes_back_now_and_then_is_told_of_once_each_time() {
    let queue = Queue::new("test");
    let repairs = async |times: u32| {
        for _ in 0..times {
            queue.add(&key("a"));
            assert_eq!(ready(&queue).await, Some(key("a")));
            queue.repaired(&key("a"), APP, &key("child"));
            queue.done(&key("a"), 1, &ReconcileResult::Done);
        }
        queue.slow_fight(&key("a"))
    };
    for _ in 0..2 {
        assert_eq!(repairs(SLOW_FIGHT_REPAIRS - 1).await, None);
        let child = repairs(1).await.expect("it is noticed");
        assert_eq!(child, (APP, key("child")));
        assert!(Error::changed_again_and_again(&child).contains("--show-managed-fields"));
    }
    assert_eq!(queue.fight(&key("a")), None, "it is answered at once all the same");
}

#[tokio::test]
async fn after_an_outage_what_failed_is_tried_again_one_after_another() {
    let queue = Queue::new("test");
    for name in ["a", "b", "c", "waits"] {
        queue.add(&key(name));
        next(&queue).await;
        // Parked for a minute, as what has failed often is delayed.
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
    assert!(begun.elapsed() >= 2 * spread::EVERY, "{:?}", begun.elapsed());
    assert_eq!(ready(&queue).await, None, "what has not failed keeps its time");
}

#[tokio::test]
async fn many_that_are_wanted_at_once_are_taken_one_after_another() {
    let queue = Queue::new("test");
    for name in ["soon", "waits"] {
        queue.add(&key(name));
        next(&queue).await;
        let delay = if name == "soon" { Duration::ZERO } else { Duration::from_secs(3600) };
        queue.done(&key(name), 1, &ReconcileResult::RequeueAfter(delay));
    }
    let begun = Instant::now();
    queue.add_spread(&["soon", "waits", "new", "newer"].map(key));
    let mut taken = Vec::new();
    for _ in 0..4 {
        taken.push(next(&queue).await.key);
    }
    assert_eq!(taken, ["soon", "waits", "new", "newer"].map(key));
    assert!(begun.elapsed() >= 3 * spread::EVERY, "{:?}", begun.elapsed());
    queue.add_spread(&[key("new")]);
    queue.done(&key("new"), 1, &ReconcileResult::Done);
    assert_eq!(ready(&queue).await, Some(key("new")), "what it was planned from may have changed meanwhile");
}
