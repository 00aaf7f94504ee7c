//! ScalingActive: whether the number of pods follows the metrics, as the autoscaler's controller reports.

use serde_json::Value;

use super::ensure;
use super::sample::{Sample, condition};

fn requested(sample: &Sample) -> &Value {
    &sample.app["spec"]["autoscaling"]
}

fn has(sample: &Sample, live: &Value) -> bool {
    let (requested, spec) = (requested(sample), &live["spec"]);
    let cpu = if requested["cpu"].is_null() { 80 } else { 50 };
    requested["min"] == spec["minReplicas"]
        && requested["max"] == spec["maxReplicas"]
        && spec["metrics"][0]["resource"]["target"]["averageUtilization"] == cpu
}

/// Whether it matches the spec.
pub(super) fn matches_spec(sample: &Sample) -> bool {
    match sample.children.autoscaler.stays() {
        Some(live) => !requested(sample).is_null() && has(sample, live),
        None => requested(sample).is_null(),
    }
}

/// Whether the status of its controller may be about its current spec. It does not always report the generation.
fn is_current(live: &Value) -> bool {
    let observed = &live["status"]["observedGeneration"];
    observed.is_null() || observed.as_i64() >= live["metadata"]["generation"].as_i64()
}

/// What its controller reports: status and reason.
fn report(live: &Value) -> Option<[&Value; 2]> {
    let unable = condition(&live["status"], "AbleToScale").filter(|judged| judged["status"] == "False");
    let judged = unable.or_else(|| condition(&live["status"], "ScalingActive"))?;
    Some([&judged["status"], &judged["reason"]])
}

pub(super) fn scaling(sample: &Sample, judged: &Value) -> Result<(), String> {
    ensure(!requested(sample).is_null(), "the spec has no autoscaling")?;
    if sample.queried.is_blind {
        return ensure(condition(&sample.app["status"], "ScalingActive") == Some(judged), "nothing was observed");
    }
    let child = &sample.children.autoscaler;
    if judged["reason"] == "WaitingForDeletion" {
        return ensure(judged["status"] == "False" && child.was_terminating(), "nothing is being deleted");
    }
    // An edit is reverted, and the status stays about this very spec.
    let reported = condition(&sample.app["status"], "ScalingActive");
    let reported =
        reported.is_some_and(|reported| reported["observedGeneration"] == sample.app["metadata"]["generation"]);
    let live = child.shown.as_ref().ok_or("there is no autoscaler")?;
    if !reported || sample.is_paused() {
        ensure(has(sample, live), "the autoscaler differs from the spec")?;
        ensure(is_current(live), "its controller has not observed the current spec")?;
    }
    let report = report(live).ok_or("its controller has reported nothing")?;
    ensure(report == [&judged["status"], &judged["reason"]], "its report is another")
}

/// What it has reported for the current spec is in the status.
pub(super) fn silent(sample: &Sample) -> Result<(), String> {
    let reported = condition(&sample.status, "ScalingActive").is_some();
    let child = &sample.children.autoscaler;
    let live = child.stays().filter(|live| !requested(sample).is_null() && !child.wrote && has(sample, live));
    let knows = live.is_some_and(|live| is_current(live) && report(live).is_some());
    ensure(reported || !knows || sample.queried.is_blind, "the status does not report the autoscaler")?;
    Ok(())
}
