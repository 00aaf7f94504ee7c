//! Ready=True: everything matches the spec.

use serde_json::Value;

use super::ensure;
use super::sample::{Child, Read, Sample, condition, container, is_true, keeps_exiting};
use super::{autoscaler, route};
use crate::site::Answer;

pub(super) fn ready(sample: &Sample, reason: &str) -> Result<(), String> {
    let why = match reason {
        "Paused" => sample.is_paused(),
        "Running" => !sample.is_paused() && sample.desired() > 0,
        "ScaledToZero" => !sample.is_paused() && sample.desired() == 0,
        _ => return Err("these rules do not know the reason".to_owned()),
    };
    ensure(why, "the reason is another")?;
    deployment(sample)?;
    pods(sample)?;
    others(sample)?;
    content(sample)?;
    independent(sample)
}

fn deployment(sample: &Sample) -> Result<(), String> {
    let spec = &sample.app["spec"];
    let live = sample.children.deployment.live.as_ref().ok_or("there is no Deployment")?;
    ensure(live["metadata"]["deletionTimestamp"].is_null(), "the Deployment is terminating")?;
    ensure(sample.is_complete() || sample.never_had_pods(), "the Deployment's numbers differ")?;
    ensure(live["spec"]["replicas"] == sample.desired(), "another number of pods is set")?;
    let template = &live["spec"]["template"];
    ensure(template["spec"]["containers"][0]["image"] == spec["image"], "it is another image")?;
    let ran = if sample.desired() == 0 { &sample.app["status"]["image"] } else { &spec["image"] };
    ensure(sample.status["image"] == *ran, "status.image is another image")?;
    let overrides = &spec["podOverrides"];
    ensure(
        overrides["spec"]["tolerations"].is_null() && overrides["spec"]["hostPID"].is_null(),
        "overrides are not in force",
    )?;
    ensure(
        template["metadata"]["labels"]["team"] == overrides["metadata"]["labels"]["team"],
        "the pods have other labels",
    )?;
    let disk = |of: &Value| of["spec"]["nodeSelector"]["disk"].clone();
    ensure(disk(template) == disk(overrides), "pods have another node selector")?;
    ensure(
        !matches!(sample.queried.dry_run, Some(Answer::No | Answer::Nothing)),
        "the API server has not accepted its pods",
    )
}

fn pods(sample: &Sample) -> Result<(), String> {
    let fails = |pod: &Value| container(pod)["state"]["waiting"].is_object() || keeps_exiting(pod);
    ensure(sample.was_true("Ready") || !sample.present_pods().any(fails), "a pod fails")
}

fn others(sample: &Sample) -> Result<(), String> {
    let (spec, children) = (&sample.app["spec"], &sample.children);
    let service = children.service.live.as_ref().unwrap_or(&Value::Null);
    ensure(service["spec"]["ports"][0]["port"] == spec["port"], "the Service has another port")?;
    if !service.is_null() {
        let type_ = spec["service"]["type"].as_str().unwrap_or("ClusterIP");
        ensure(service["spec"]["type"] == *type_, "the Service is of another type")?;
        let pool = &spec["service"]["annotations"]["pool"];
        ensure(service["metadata"]["annotations"]["pool"] == *pool, "the Service has other annotations")?;
    }
    ensure(
        children.budget.live.is_some() != spec["disruptionBudget"].is_null(),
        "the budget exists or is missing against the spec",
    )?;
    let budget = children.budget.live.as_ref().unwrap_or(&Value::Null);
    ensure(budget["spec"]["minAvailable"] == spec["disruptionBudget"]["minAvailable"], "the budget has another bound")?;
    let left = spec["autoscaling"].is_null() && children.autoscaler.stays().is_some();
    ensure(!left, "an autoscaler is left")
}

/// Pods run with the content of what `restartOn` names.
fn content(sample: &Sample) -> Result<(), String> {
    let template = sample.children.deployment.live.as_ref().map(|live| &live["spec"]["template"]);
    let started = template
        .map_or(&Value::Null, |template| &template["metadata"]["annotations"]["multi-operator.example.com/contents"]);
    let names = sample.app["spec"]["restartOn"].as_array().is_some_and(|names| !names.is_empty());
    if !names {
        return ensure(started.is_null(), "pods have a digest without restartOn");
    }
    let fails = |(_, optional, read): &(String, bool, Read)| match read {
        Read::Missing => !optional,
        Read::Forbidden => true,
        Read::Content(_) | Read::Awaited | Read::Unknown => false,
    };
    ensure(!sample.queried.read.iter().any(fails), "an object of restartOn cannot be read")?;
    match &sample.queried.digest {
        Some(digest) => ensure(*started == **digest, "pods were started with other content"),
        None => ensure(sample.was_true("Ready") && started.is_string(), "the content for new pods is unknown"),
    }
}

/// Conditions that a status may have in addition to Ready, and what a pause includes.
fn independent(sample: &Sample) -> Result<(), String> {
    if sample.is_paused() {
        ensure(
            !is_true(&sample.status, "Stalled") && !is_true(&sample.status, "Reconciling"),
            "it reports more than a pause",
        )?;
        ensure(autoscaler::matches_spec(sample), "the autoscaler differs from the spec")?;
        return ensure(route::matches_spec(sample), "the route differs from the spec");
    }
    let children = sample.children.independent();
    for type_ in ["Stalled", "Reconciling"] {
        let Some(judged) = condition(&sample.status, type_) else { continue };
        let holds = |child: &&Child| match judged["reason"].as_str().unwrap_or_default() {
            "NameTaken" => child.is_foreign,
            "Rejected" => child.is_rejected,
            "WaitingForDeletion" => child.is_terminating,
            // The object differs from the observed one.
            "Conflict" => true,
            _ => false,
        };
        ensure(children.iter().any(holds), &format!("it is {type_}, too"))?;
    }
    Ok(())
}
