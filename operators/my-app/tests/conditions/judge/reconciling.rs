//! Reconciling=True: changes are in progress.

use super::ensure;
use super::sample::{Read, Sample, container, is_true, keeps_exiting};
use crate::site::Answer;

pub(super) fn reconciling(sample: &Sample, reason: &str) -> Result<(), String> {
    ensure(!is_true(&sample.status, "Stalled"), "it is Stalled, too")?;
    let children = sample.children.all();
    match reason {
        "WaitingForDeletion" => {
            let is_terminating = children.iter().any(|child| child.is_terminating || child.was_terminating());
            ensure(is_terminating, "nothing is being deleted")
        }
        "APIServerError" => ensure(sample.queried.dry_run == Some(Answer::Nothing), "the API server has answered"),
        "Conflict" | "KindNotServed" => Ok(()),
        "Progressing" => {
            let unread = sample.queried.read.iter().any(|(_, _, read)| matches!(read, Read::Awaited | Read::Unknown));
            let fails =
                sample.present_pods().any(|pod| container(pod)["state"]["waiting"].is_object() || keeps_exiting(pod));
            ensure(!sample.is_complete() || unread || fails, "all pods are ready")
        }
        _ => Err("these rules do not know the reason".to_owned()),
    }
}
