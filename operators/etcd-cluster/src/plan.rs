//! Pure: decides what to do about an EtcdCluster.
//!
//! A reconcile takes one step of [`membership`] and, independently of it, updates the other children: the client Service, the
//! PodDisruptionBudget, the sizes of PVCs. Whatever the step is, the status reports the current state of the cluster.

use api::etcd_cluster::{MemberRole, MemberStatus};
use jiff::Timestamp;
use runtime::plan::Create;
use runtime::projections::{Pod, PodDetails, Pvc};

mod act;
mod adoption;
pub mod authentication;
mod backups;
mod claim_copies;
mod clock;
mod defragmentation;
mod deletion;
pub mod desired;
pub mod effective_tls;
mod effects;
mod explanation;
pub mod hibernation;
mod hold;
pub mod image_check;
pub mod issued_tls;
pub mod known_good;
mod leaving;
mod leaving_3_6;
pub mod list_of_one;
pub mod member_set;
pub mod membership;
pub mod names;
pub mod objects;
mod observed;
pub mod options;
pub mod placement;
mod quorum;
mod reclaim;
pub mod recovered;
mod recovery;
mod requeue;
pub mod restore;
mod retired;
pub mod size;
pub mod space;
mod status;
pub mod takeover;
pub mod tls;
mod trial_outcome;
pub mod unlabeled;
mod upkeep;
pub mod version;
mod volume;

pub use act::{EtcdAct, EtcdChange, EtcdPlan, MembersKnow};
pub use explanation::Explanation;
pub use observed::{
    Alarm, Authentication, CertificateRenewal, Defragmentation, DueIssuance, EndpointStatus, Etcd, ForeignPod,
    ListedMember, Observed, ObservedTakeover, ObservedTls,
};

use desired::Desired;
use member_set::MemberSet;
use membership::EtcdStep;
use objects::InitialState;

/// Plans a reconcile.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    if observed.cluster.meta.deleting { deletion::plan(observed, now) } else { upkeep::plan(observed, now) }
}

/// A pod that the API server should dry-run before a healthy member loses its own pod for one like it, and the name of that
/// member; or before a new member gets a PVC.
#[must_use]
pub fn pod_to_dry_run(observed: &Observed, now: Timestamp) -> Option<(Create, Option<String>)> {
    let durable = observed.cluster.status.storage.as_ref()?.durable;
    let members = MemberSet::of(observed, now);
    let desired = Desired::of(observed, &members, durable);
    let name = format!("{}-probe", observed.cluster.meta.key.name);
    let pod = |desired: &Desired, state| objects::pod(observed, &observed.cluster, desired, &name, state);
    let next = membership::next_to_lose_its_pod(observed, &members, &desired);
    let next = next.or_else(|| membership::unreachable::next_to_lose_its_pod(observed, &members, &desired, now));
    if let Some(next) = next {
        return Some((pod(&desired, InitialState::Restart), Some(next.name.clone())));
    }
    let grows = membership::is_about_to_grow(observed, &members, &desired);
    grows.then(|| (pod(&desired.for_new_member(&members), InitialState::Existing), None))
}

/// What a trial pod is about to check before a member gives up its pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextCheck {
    /// Whether an image can be pulled.
    Image,
    /// Whether a pod of the current spec starts next to the pod of this member.
    Placement(Box<str>),
}

/// The next check, and its pod, which the API server should dry-run. There is no pod as long as the member's present pod has not
/// been read.
#[must_use]
pub fn next_check(observed: &Observed, now: Timestamp) -> Option<(NextCheck, Option<Create>)> {
    let durable = observed.cluster.status.storage.as_ref()?.durable;
    let members = MemberSet::of(observed, now);
    let desired = Desired::of(observed, &members, durable);
    match membership::next(observed, &members, &desired, now) {
        EtcdStep::CheckImage { member } => {
            Some((NextCheck::Image, Some(image_check::pod(observed, &members, &desired, &member))))
        }
        EtcdStep::CheckPlacement { member, full } => {
            let pod = placement::pod(observed, &desired, &member, full);
            Some((NextCheck::Placement(member.into()), pod))
        }
        _ => None,
    }
}

/// Whether etcd may be queried at the address of a pod. After a pod has ended for good, another pod may have its address.
#[must_use]
pub fn may_be_queried(pod: &Pod) -> bool {
    !pod.meta.deleting && pod.details.as_ref().is_some_and(|details| !details.terminal)
}

/// Whether the plan may create a pod, for which it has to be known which users pods run as: there are fewer pods than the spec
/// asks for, or a member has no pod. A member that etcd does not list yet may be known from the status alone. Copies of members'
/// PVCs get no pod.
#[must_use]
pub fn may_create_pods(observed: &Observed) -> bool {
    let live = observed.pods.iter().filter(|pod| !pod.meta.deleting).count();
    let wanted = usize::try_from(observed.cluster.spec.size).unwrap_or(0);
    let lacks_pod = |name: &str| observed.pods.iter().all(|pod| *pod.meta.key.name != *name);
    let is_members = |claim: &Pvc| claim_copies::is_members_observed(observed, claim);
    let to_be_listed = |status: &MemberStatus| status.id.is_none() && status.role == MemberRole::Joining;
    live < wanted
        || observed.claims.iter().any(|claim| is_members(claim) && lacks_pod(&claim.meta.key.name))
        || observed.cluster.status.member_statuses.iter().any(|status| to_be_listed(status) && lacks_pod(&status.name))
}

/// Whether the next step depends on which pods cluster DNS publishes: a pod in its init step waits to be listed, and there is no
/// learner that has to vote first.
#[must_use]
pub fn waits_for_dns(observed: &Observed) -> bool {
    let Ok(members) = &observed.etcd.members else { return false };
    let learns = members.iter().any(|member| member.learner);
    let listed = |pod: &Pod| members.iter().any(|member| member_set::name(member) == *pod.meta.key.name);
    let waits = |details: &PodDetails| details.container(objects::WAIT).is_some_and(|wait| wait.running);
    !members.is_empty() && !learns && observed.live_pods().any(|(pod, details)| !listed(pod) && waits(details))
}

/// The address of the leader, if a joining member has made no progress for long. The leader may be sending it a snapshot, which
/// only the leader reports.
#[must_use]
pub fn leader_of_overdue_member(observed: &Observed, now: Timestamp) -> Option<Box<str>> {
    let members = MemberSet::of(observed, now);
    let overdue = members.listed().any(|member| membership::is_catch_up_overdue(observed, member, now));
    overdue.then(|| members.leader()?.address.map(Into::into)).flatten()
}

#[cfg(test)]
mod tests;
