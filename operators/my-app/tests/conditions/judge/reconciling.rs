//! Reconciling=True: work is under way.

use super::ensure;
use super::sample::{Read, Sample, container, is_true, keeps_ending};
use crate::site::Answer;

pub(super) fn reconciling(sample: &Sample, reason: &str) -> Result<(), String> {
    ensure(!is_true(&sample.status, "Stalled"), "it is Stalled, too")?;
    let children = sample.children.all();
    match reason {
        "WaitingForDeletion" => {
            let leaves = children.iter().any(|child| child.leaves || child.is_seen_leaving());
            ensure(leaves, "nothing is being deleted")
        }
        "APIServerError" => ensure(sample.asking.dry_run == Some(Answer::Nothing), "the API server has answered"),
        "Conflict" | "KindNotServed" => Ok(()),
        "Progressing" => {
            let unread = sample.asking.read.iter().any(|(_, _, read)| matches!(read, Read::Awaited | Read::Unknown));
            let troubled =
                sample.present_pods().any(|pod| container(pod)["state"]["waiting"].is_object() || keeps_ending(pod));
            ensure(!sample.is_complete() || unread || troubled, "all pods are ready")
        }
        _ => Err("these rules do not know the reason".to_owned()),
    }
}
