//! Whether a status is true, by the objects alone. These rules know nothing of the plan.

use serde_json::Value;

mod autoscaler;
mod ready;
mod reconciling;
mod route;
mod sample;
mod stalled;

pub use sample::{Asking, Child, Children, Read, Sample, Sight};

/// A condition as `type=status reason`, by which samples are counted.
fn words(said: &Value) -> String {
    let word = |of: &str| said[of].as_str().unwrap_or_default().to_owned();
    format!("{}={} {}", word("type"), word("status"), word("reason"))
}

/// The conditions of a status, if all of them are true; otherwise what is false.
pub fn judge(sample: &Sample) -> Result<Vec<String>, String> {
    let generation = &sample.app["metadata"]["generation"];
    if sample.status["observedGeneration"] != *generation {
        return Err("the generation is not the one that was seen".to_owned());
    }
    let mut told = Vec::new();
    for said in sample.status["conditions"].as_array().into_iter().flatten() {
        let held = if said["observedGeneration"] == *generation { condition(sample, said) } else { kept(sample, said) };
        held.map_err(|why| format!("{}, but {why}", words(said)))?;
        told.push(words(said));
    }
    route::silent(sample)?;
    autoscaler::silent(sample)?;
    Ok(told)
}

fn condition(sample: &Sample, said: &Value) -> Result<(), String> {
    let (reason, is_true) = (said["reason"].as_str().unwrap_or_default(), said["status"] == "True");
    match said["type"].as_str().unwrap_or_default() {
        "Ready" if is_true => ready::ready(sample, reason),
        "Ready" => Ok(()),
        "Stalled" => stalled::stalled(sample, reason),
        "Reconciling" => reconciling::reconciling(sample, reason),
        "RouteAccepted" => route::route(sample, said),
        "ScalingActive" => autoscaler::scaling(sample, said),
        _ => Err("these rules do not know the condition".to_owned()),
    }
}

/// A condition of an earlier generation stays unchanged, and only where nothing could be observed.
fn kept(sample: &Sample, said: &Value) -> Result<(), String> {
    let type_ = said["type"].as_str().unwrap_or_default();
    ensure(sample.asking.is_blind, "it is of another generation")?;
    ensure(!["Ready", "Stalled", "Reconciling"].contains(&type_), "it is of another generation")?;
    ensure(sample::condition(&sample.app["status"], type_) == Some(said), "it is not what was said before")
}

fn ensure(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}
