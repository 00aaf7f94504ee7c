//! The status of a StatefulSet (kubernetes: `updateStatus` and `completeRollingUpdate` in `stateful_set_utils.go`).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::object::{is_deleting, number, set as set_field, text};
use super::revisions::Revisions;
use super::{identity, pod_state};

/// The status of a set with those pods, and after which time another one of them becomes available.
pub(super) fn of(set: &Value, revisions: &Revisions, pods: &[Arc<Value>], now: Timestamp) -> (Value, Option<Duration>) {
    let min_ready = number(&set["spec"]["minReadySeconds"]);
    let waits: Vec<i64> = pods.iter().filter_map(|pod| pod_state::until_available(pod, min_ready, now)).collect();
    let created = |pod: &&Arc<Value>| !text(&pod["status"]["phase"]).is_empty();
    let of = |revision: &str| {
        let stays = pods.iter().filter(created).filter(|pod| !is_deleting(pod));
        stays.filter(|pod| identity::revision(pod) == revision).count()
    };
    let mut status = Map::new();
    // These are always there; other fields of 0 are omitted.
    status.insert("replicas".to_owned(), json!(pods.iter().filter(created).count()));
    status.insert("availableReplicas".to_owned(), json!(waits.iter().filter(|wait| **wait <= 0).count()));
    status.insert("collisionCount".to_owned(), json!(revisions.collisions));
    status.insert("currentRevision".to_owned(), json!(revisions.current.name));
    status.insert("updateRevision".to_owned(), json!(revisions.update.name));
    let mut status = Value::Object(status);
    let generation = number(&set["metadata"]["generation"]);
    let counts = [
        ("readyReplicas", i64::try_from(waits.len())),
        ("currentReplicas", i64::try_from(of(&revisions.current.name))),
        ("updatedReplicas", i64::try_from(of(&revisions.update.name))),
        ("observedGeneration", Ok(generation)),
    ];
    for (field, count) in counts {
        write_count(&mut status, field, count.unwrap_or_default());
    }
    let next = waits.into_iter().filter(|wait| *wait > 0).min();
    (status, next.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or_default())))
}

/// Takes pods of the earlier revision that were just deleted out of the status.
pub(super) fn count_deleted(status: &mut Value, deleted: i64) {
    let left = number(&status["currentReplicas"]) - deleted;
    write_count(status, "currentReplicas", left.max(0));
}

/// Ends a rolling update: once all pods are ready with the present revision, it is the current one. With `OnDelete`, the current
/// one stays what it was first.
pub(super) fn complete_update(status: &mut Value, set: &Value) {
    let replicas = number(&set["spec"]["replicas"]);
    let is_rolling = text(&set["spec"]["updateStrategy"]["type"]) == "RollingUpdate";
    let all = ["replicas", "readyReplicas", "updatedReplicas"];
    if is_rolling && all.iter().all(|field| number(&status[*field]) == replicas) {
        let revision = status["updateRevision"].clone();
        set_field(status, &["currentRevision"], revision);
        write_count(status, "currentReplicas", replicas);
    }
}

fn write_count(status: &mut Value, field: &str, count: i64) {
    if count == 0 {
        super::super::object::remove(status, &[field]);
    } else {
        set_field(status, &[field], json!(count));
    }
}
