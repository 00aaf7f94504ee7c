//! Stalled=True: a person is needed.

use super::ensure;
use super::sample::{Child, Read, Sample, is_true, keeps_exiting, waits_for};
use crate::site::Answer;

pub(super) fn stalled(sample: &Sample, reason: &str) -> Result<(), String> {
    let spec = &sample.app["spec"];
    let is_ready = is_true(&sample.status, "Ready");
    let any = |holds: fn(&&Child) -> bool| match is_ready {
        true => sample.children.independent().iter().any(holds),
        false => sample.children.all().iter().any(holds),
    };
    match reason {
        "NameTaken" => return ensure(any(|child| child.is_foreign), "all names are this MyApp's"),
        "Rejected" => {
            let trial = sample.queried.dry_run == Some(Answer::No) && !spec["podOverrides"].is_null() && !is_ready;
            return ensure(trial || any(|child| child.is_rejected), "nothing is rejected");
        }
        "WatchFailing" => return ensure(sample.queried.is_blind, "the watches work"),
        _ => {}
    }
    ensure(!is_ready, "it is Ready, too")?;
    let read = |what: &Read| {
        sample.queried.read.iter().any(|(_, optional, read)| read == what && (*what != Read::Missing || !optional))
    };
    match reason {
        "PodOverridesInvalid" => {
            ensure(spec["podOverrides"]["spec"]["tolerations"].is_array(), "its overrides are valid")
        }
        "PodOverridesNotAllowed" => {
            ensure(spec["podOverrides"]["spec"]["hostPID"] == true, "its overrides are allowed")
        }
        "RestartSourceMissing" => ensure(read(&Read::Missing), "no object of restartOn is missing"),
        "Forbidden" => ensure(read(&Read::Forbidden), "nothing is forbidden"),
        "RolledBack" => rolled_back(sample),
        _ => pods(sample, reason),
    }
}

fn exceeded(sample: &Sample) -> bool {
    sample.failure("Progressing", "False", "ProgressDeadlineExceeded")
}

fn rolled_back(sample: &Sample) -> Result<(), String> {
    let spec = &sample.app["spec"];
    ensure(sample.status["rolledBackFrom"]["image"] == spec["image"], "the spec has another image")?;
    ensure(spec["rollback"] == "Automatic", "the spec has no automatic rollback")?;
    let known = !sample.app["status"]["rolledBackFrom"].is_null();
    ensure(known || exceeded(sample), "no deadline has passed")
}

/// Checks the reasons about pods that do not serve.
fn pods(sample: &Sample, reason: &str) -> Result<(), String> {
    ensure(sample.is_observed(), "the Deployment's controller has not observed it yet")?;
    ensure(!sample.is_complete(), "all pods are ready")?;
    match reason {
        "ImagePullBackOff" => ensure(
            sample.present_pods().any(|pod| waits_for(pod, &["ImagePullBackOff", "ErrImagePull"])),
            "no pod of this template waits for its image",
        ),
        "CrashLoopBackOff" => ensure(sample.present_pods().any(keeps_exiting), "no pod of this template keeps ending"),
        "FailedCreate" => {
            ensure(sample.failure("ReplicaFailure", "True", "FailedCreate"), "no pod is rejected")?;
            ensure(sample.count("updatedReplicas") < sample.desired(), "all pods of this template exist")
        }
        "ProgressDeadlineExceeded" => ensure(exceeded(sample), "no deadline has passed"),
        _ => Err("these rules do not know the reason".to_owned()),
    }
}
