//! Whether a status is true, judged only from the objects. These rules do not use the plan.

use serde_json::Value;

mod autoscaler;
mod ready;
mod reconciling;
mod route;
mod sample;
mod stalled;

pub use sample::{Child, Children, QueryResults, Read, RouteVisibility, Sample};

/// A condition as `type=status reason`, by which samples are counted.
fn label(judged: &Value) -> String {
    let field = |of: &str| judged[of].as_str().unwrap_or_default().to_owned();
    format!("{}={} {}", field("type"), field("status"), field("reason"))
}

/// The conditions of a status, if all of them are true; otherwise what is false.
pub fn judge(sample: &Sample) -> Result<Vec<String>, String> {
    let generation = &sample.app["metadata"]["generation"];
    if sample.status["observedGeneration"] != *generation {
        return Err("it is of another generation than the observed app".to_owned());
    }
    let mut reported = Vec::new();
    for judged in sample.status["conditions"].as_array().into_iter().flatten() {
        let held = if judged["observedGeneration"] == *generation {
            condition(sample, judged)
        } else {
            unchanged(sample, judged)
        };
        held.map_err(|why| format!("{}, but {why}", label(judged)))?;
        reported.push(label(judged));
    }
    route::silent(sample)?;
    autoscaler::silent(sample)?;
    Ok(reported)
}

fn condition(sample: &Sample, judged: &Value) -> Result<(), String> {
    let (reason, is_true) = (judged["reason"].as_str().unwrap_or_default(), judged["status"] == "True");
    match judged["type"].as_str().unwrap_or_default() {
        "Ready" if is_true => ready::ready(sample, reason),
        "Ready" => Ok(()),
        "Stalled" => stalled::stalled(sample, reason),
        "Reconciling" => reconciling::reconciling(sample, reason),
        "RouteAccepted" => route::route(sample, judged),
        "ScalingActive" => autoscaler::scaling(sample, judged),
        _ => Err("these rules do not know the condition".to_owned()),
    }
}

/// A condition of an earlier generation stays unchanged, and only where nothing could be observed.
fn unchanged(sample: &Sample, judged: &Value) -> Result<(), String> {
    let type_ = judged["type"].as_str().unwrap_or_default();
    ensure(sample.queried.is_blind, "it is of another generation")?;
    ensure(!["Ready", "Stalled", "Reconciling"].contains(&type_), "it is of another generation")?;
    ensure(sample::condition(&sample.app["status"], type_) == Some(judged), "it differs from the previous condition")
}

fn ensure(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}
