//! ScalingActive: whether the number of pods follows the metrics, as the autoscaler's controller reports.

use serde_json::Value;

use super::ensure;
use super::sample::{Sample, condition};

fn asked(sample: &Sample) -> &Value {
    &sample.app["spec"]["autoscaling"]
}

fn has(sample: &Sample, live: &Value) -> bool {
    let (asked, spec) = (asked(sample), &live["spec"]);
    let cpu = if asked["cpu"].is_null() { 80 } else { 50 };
    asked["min"] == spec["minReplicas"]
        && asked["max"] == spec["maxReplicas"]
        && spec["metrics"][0]["resource"]["target"]["averageUtilization"] == cpu
}

/// Whether it matches the spec.
pub(super) fn is_as_asked(sample: &Sample) -> bool {
    match sample.children.autoscaler.stays() {
        Some(live) => !asked(sample).is_null() && has(sample, live),
        None => asked(sample).is_null(),
    }
}

/// Whether the status of its controller may be about its current spec. It does not always report the generation.
fn is_current(live: &Value) -> bool {
    let observed = &live["status"]["observedGeneration"];
    observed.is_null() || observed.as_i64() >= live["metadata"]["generation"].as_i64()
}

/// What its controller reports: status and reason.
fn word(live: &Value) -> Option<[&Value; 2]> {
    let unable = condition(&live["status"], "AbleToScale").filter(|said| said["status"] == "False");
    let said = unable.or_else(|| condition(&live["status"], "ScalingActive"))?;
    Some([&said["status"], &said["reason"]])
}

pub(super) fn scaling(sample: &Sample, said: &Value) -> Result<(), String> {
    ensure(!asked(sample).is_null(), "no autoscaler is asked for")?;
    if sample.asking.is_blind {
        return ensure(condition(&sample.app["status"], "ScalingActive") == Some(said), "nobody has looked");
    }
    let child = &sample.children.autoscaler;
    if said["reason"] == "WaitingForDeletion" {
        return ensure(said["status"] == "False" && child.is_seen_leaving(), "nothing is being deleted");
    }
    // An edit is reverted, and the status stays about this very spec.
    let told = condition(&sample.app["status"], "ScalingActive");
    let told = told.is_some_and(|told| told["observedGeneration"] == sample.app["metadata"]["generation"]);
    let live = child.shown.as_ref().ok_or("there is no autoscaler")?;
    if !told || sample.is_paused() {
        ensure(has(sample, live), "the autoscaler is another")?;
        ensure(is_current(live), "it has not looked at what it is asked for")?;
    }
    let word = word(live).ok_or("it has said nothing")?;
    ensure(word == [&said["status"], &said["reason"]], "its word is another")
}

/// What it has reported for the current spec is in the status.
pub(super) fn silent(sample: &Sample) -> Result<(), String> {
    let told = condition(&sample.status, "ScalingActive").is_some();
    let child = &sample.children.autoscaler;
    let live = child.stays().filter(|live| !asked(sample).is_null() && !child.wrote && has(sample, live));
    let knows = live.is_some_and(|live| is_current(live) && word(live).is_some());
    ensure(told || !knows || sample.asking.is_blind, "nothing is said of the autoscaler")?;
    Ok(())
}
