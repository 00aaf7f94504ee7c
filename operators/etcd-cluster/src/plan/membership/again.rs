//! Pure: how a member comes back that has lost its pod.

use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;

use super::step::Step;
use crate::plan::objects::Start;
use crate::plan::proven::{self, Made};
use crate::plan::roster::Roster;
use crate::plan::wish::Wish;
use crate::plan::{Observed, placement};

/// A member without a pod begins again on its volume.
pub(super) fn again(observed: &Observed, roster: &Roster<'_>, wish: &Wish, name: &str) -> Step {
    if let Some(step) = placement::release(observed, name) {
        return step;
    }
    if observed.taken.contains(name) {
        let message =
            format!("Pod {name} exists and does not belong to this EtcdCluster: delete it; it is left untouched");
        return Step::stuck(ReconcileReason::NameTaken, message);
    }
    if observed.leaving.contains(name) {
        let message = format!("waiting for the earlier pod {name} to be deleted");
        return Step::wait(ReconcileReason::WaitingForDeletion, message);
    }
    match proven::made(observed, roster, wish, name) {
        Made::Unknown => Step::wait(
            EtcdClusterReason::SpecUnknown,
            format!("member {name} comes back as it ran last, which its claim tells, and its claim cannot be read now"),
        ),
        _ => Step::Start { name: name.into(), start: Start::Again },
    }
}
