//! Pure: what to do about an EtcdCluster.
//!
//! One step of [`membership`] a pass, and aside from it what stands beside the members (the Service of clients, the budget,
//! the sizes of claims). Whatever the step, the status says how the cluster fares now.

use api::etcd_cluster::{MemberRole, MemberStatus};
use jiff::Timestamp;
use runtime::plan::Create;
use runtime::projections::{Claim, Pod, Running};

mod act;
mod adoption;
pub mod anew;
mod claim_copies;
mod clock;
mod deletion;
mod effects;
mod explanation;
mod hold;
mod leaving_3_6;
mod living;
pub mod membership;
pub mod names;
pub mod objects;
mod observed;
pub mod options;
mod pause;
pub mod placement;
pub mod proven;
pub mod pull;
mod quorum;
pub mod recovered;
mod retired;
pub mod roster;
pub mod size;
pub mod space;
mod status;
mod tried;
pub mod unlabeled;
pub mod version;
mod volume;
pub mod wish;

pub use act::{Change, EtcdAct, EtcdPlan};
pub use explanation::Explanation;
pub use observed::{Alarm, Endpoint, Etcd, Member, Observed, Stranger};

use membership::Step;
use objects::Start;
use roster::Roster;
use wish::Wish;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    if observed.cluster.meta.deleting { deletion::plan(observed, now) } else { living::plan(observed, now) }
}

/// A pod of which the API server should say whether it would take it: before a member that is well loses its own for one like that,
/// and then that member's name; or before one member more gets a claim.
#[must_use]
pub fn trial(observed: &Observed, now: Timestamp) -> Option<(Create, Option<String>)> {
    let durable = observed.cluster.status.storage.as_ref()?.durable;
    let roster = Roster::of(observed, now);
    let wish = Wish::of(observed, &roster, durable);
    let name = format!("{}-probe", observed.cluster.meta.key.name);
    let pod = |wish: &Wish, start| objects::pod(observed, &observed.cluster, wish, &name, start);
    let next = membership::is_about_to_lose_its_pod(observed, &roster, &wish);
    let next = next.or_else(|| membership::unreached::is_about_to_lose_its_pod(observed, &roster, &wish, now));
    if let Some(next) = next {
        return Some((pod(&wish, Start::Again), Some(next.name.clone())));
    }
    let grows = membership::is_about_to_grow(observed, &roster, &wish);
    grows.then(|| (pod(&wish.joining(&roster), Start::Join), None))
}

/// What is about to be found out by a pod of its own before a member gives up what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextTrial {
    /// Whether an image can be pulled.
    Image,
    /// Whether a pod as the spec asks starts, beside the pod of this member.
    Placement(Box<str>),
}

/// What is about to be found out, and the pod that does so, of which the API server should say whether it would take it. There is none
/// as long as the present pod is not known that it is to stand beside.
#[must_use]
pub fn next_trial(observed: &Observed, now: Timestamp) -> Option<(NextTrial, Option<Create>)> {
    let durable = observed.cluster.status.storage.as_ref()?.durable;
    let roster = Roster::of(observed, now);
    let wish = Wish::of(observed, &roster, durable);
    match membership::next(observed, &roster, &wish, now) {
        Step::Pull { beside } => Some((NextTrial::Image, Some(pull::pod(observed, &roster, &wish, &beside)))),
        Step::Try { member, whole } => {
            let pod = placement::pod(observed, &wish, &member, whole);
            Some((NextTrial::Placement(member.into()), pod))
        }
        _ => None,
    }
}

/// Whether the etcd of a pod may be asked. The address of a pod that has ended for good may be somebody else's by now.
#[must_use]
pub fn may_be_asked(pod: &Pod) -> bool {
    !pod.meta.deleting && pod.running.as_ref().is_some_and(|running| !running.over)
}

/// Whether the plan may create a pod: there are fewer than the spec asks for, or a member is without its pod, also one of more
/// members than the spec asks for. What pods run as has to be known before. Of a member that etcd has yet to list, the status may be
/// all that there is; copies of members' PVCs get no pod.
#[must_use]
pub fn may_create_pods(observed: &Observed) -> bool {
    let live = observed.pods.iter().filter(|pod| !pod.meta.deleting).count();
    let wanted = usize::try_from(observed.cluster.spec.size).unwrap_or(0);
    let lacks_pod = |name: &str| observed.pods.iter().all(|pod| *pod.meta.key.name != *name);
    let is_members = |claim: &Claim| claim_copies::is_members_observed(observed, claim);
    let to_be_listed = |status: &MemberStatus| status.id.is_none() && status.role == MemberRole::Joining;
    live < wanted
        || observed.claims.iter().any(|claim| is_members(claim) && lacks_pod(&claim.meta.key.name))
        || observed.cluster.status.member_statuses.iter().any(|status| to_be_listed(status) && lacks_pod(&status.name))
}

/// Whether it matters of which pods cluster DNS tells: one waits to be listed, its init step included, and no learner is in its
/// way.
#[must_use]
pub fn awaits_dns(observed: &Observed) -> bool {
    let Ok(members) = &observed.etcd.members else { return false };
    let learns = members.iter().any(|member| member.learner);
    let listed = |pod: &Pod| members.iter().any(|member| roster::name(member) == *pod.meta.key.name);
    let waits = |running: &Running| running.container(objects::WAIT).is_some_and(|wait| wait.running);
    !members.is_empty() && !learns && observed.staying().any(|(pod, running)| !listed(pod) && waits(running))
}

/// The address of the leader, if a member that joins has been getting no further for long: perhaps a snapshot is on its way
/// to it, which nothing else tells.
#[must_use]
pub fn late_behind(observed: &Observed, now: Timestamp) -> Option<Box<str>> {
    let roster = Roster::of(observed, now);
    let late = roster.members().any(|node| membership::is_late(observed, node, now));
    late.then(|| roster.leader()?.running()?.ip.clone()).flatten()
}

#[cfg(test)]
mod tests;
