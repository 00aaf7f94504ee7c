//! The status of a ReplicaSet (kubernetes: `replica_set_utils.go`, `calculateStatus`).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::conditions;
use super::super::object::{number, read_time, time};

const FAILURE: &str = "ReplicaFailure";

/// Why pods cannot be created or deleted.
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// The status of a ReplicaSet with those pods, and after which time another one of them becomes available.
pub(super) fn of(
    set: &Value,
    pods: &[Arc<Value>],
    failure: Option<&Failure>,
    now: Timestamp,
) -> (Value, Option<Duration>) {
    let min_ready = number(&set["spec"]["minReadySeconds"]);
    let labels = set["spec"]["template"]["metadata"]["labels"].as_object();
    let is_labeled = |pod: &&Arc<Value>| {
        labels.into_iter().flatten().all(|(name, value)| pod["metadata"]["labels"][name.as_str()] == *value)
    };
    let waits: Vec<i64> = pods.iter().filter_map(|pod| until_available(pod, min_ready, now)).collect();
    let counts = [
        ("fullyLabeledReplicas", pods.iter().filter(is_labeled).count()),
        ("readyReplicas", waits.len()),
        ("availableReplicas", waits.iter().filter(|wait| **wait <= 0).count()),
    ];
    let mut status = Map::new();
    // The count of the replicas is always there; other fields of 0 are omitted.
    status.insert("replicas".to_owned(), json!(pods.len()));
    status.extend(
        counts.into_iter().filter(|(_, count)| *count > 0).map(|(field, count)| (field.to_owned(), json!(count))),
    );
    let generation = number(&set["metadata"]["generation"]);
    if generation > 0 {
        status.insert("observedGeneration".to_owned(), json!(generation));
    }
    let present = &set["status"]["conditions"];
    if !present.is_null() {
        status.insert("conditions".to_owned(), present.clone());
    }
    let mut status = Value::Object(status);
    match failure {
        Some(failure) => conditions::set(&mut status, condition(failure, now)),
        None => conditions::remove(&mut status, FAILURE),
    }
    let next = waits.into_iter().filter(|wait| *wait > 0).min();
    (status, next.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or_default())))
}

/// How many milliseconds are left until a ready pod is available; none if it is not ready.
fn until_available(pod: &Value, min_ready: i64, now: Timestamp) -> Option<i64> {
    let ready = conditions::find_true(&pod["status"], "Ready")?;
    if min_ready == 0 {
        return Some(0);
    }
    let since = read_time(&ready["lastTransitionTime"])?.as_millisecond();
    Some(since + min_ready * 1000 - now.as_millisecond())
}

fn condition(failure: &Failure, now: Timestamp) -> Value {
    json!({
        "type": FAILURE, "status": "True", "reason": failure.reason, "message": failure.message,
        "lastTransitionTime": time(now),
    })
}
