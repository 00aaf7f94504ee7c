//! Pure: which member a cluster continues with after it has lost quorum for good, and which members are given up for that.

use api::ConditionStatus;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use api::etcd_cluster::{RECOVER_WITHOUT, RecoveryPolicy};
use jiff::{SignedDuration, Timestamp};
use runtime::projections::Pvc;

use super::repair::data_lost;
use crate::EtcdCluster;
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView, is_joining_or_learner};
use crate::plan::{Observed, hold, objects, quorum, recovery};

/// How long quorum is lost before the condition has the command for a recovery, if the members that do not answer may return.
const HINT_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// What is decided about a recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// There is no reason for one.
    None,
    /// It is requested, and cannot begin: why.
    Refused(String),
    /// The cluster continues with one member, and without the others.
    GoOnWith {
        /// That member.
        from: String,
        /// The other voters.
        without: Vec<String>,
    },
}

/// Decides whether a recovery begins, without quorum.
pub(super) fn choose(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> Choice {
    let cluster = &*observed.cluster;
    if !is_lost_for_sure(observed, now) {
        return Choice::None;
    }
    let voters = voters(cluster);
    let (lost, requested) = match requested(cluster, &voters) {
        Some(Err(why)) => return Choice::Refused(why),
        Some(Ok(lost)) => (lost, true),
        None => (certainly_lost(observed, members, &voters), false),
    };
    if !requested && !may_decide(cluster, now) || !take_quorum(&lost, &voters) || lost.len() == voters.len() {
        return if requested { refused_by_number(&lost, &voters) } else { Choice::None };
    }
    if !desired.durable {
        return Choice::Refused("members keep their data in their pods, and a recovery needs a new pod".to_owned());
    }
    let left: Vec<&str> = voters.iter().copied().filter(|name| !lost.contains(name)).collect();
    // One that has yet to start may turn out to have lost its data, too.
    let runs = |name: &&str| members.get(name).is_some_and(MemberView::runs_etcd);
    if !requested && !left.iter().all(runs) {
        return Choice::None;
    }
    match best(observed, members, &lost, &left) {
        Err(why) => Choice::Refused(why),
        Ok(from) => Choice::GoOnWith {
            from: from.to_owned(),
            without: voters.iter().filter(|name| **name != from).map(|name| (*name).to_owned()).collect(),
        },
    }
}

/// What the condition adds while quorum is lost: how a user lets the cluster continue without the members that are lost.
pub(super) fn hint(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> Option<String> {
    let cluster = &*observed.cluster;
    if !desired.durable || !is_lost_for_sure(observed, now) {
        return None;
    }
    let voters = voters(cluster);
    let certainly = certainly_lost(observed, members, &voters);
    let quorum_is_gone = take_quorum(&certainly, &voters);
    let lost = if quorum_is_gone { certainly } else { silent(members, &voters) };
    let left: Vec<&str> = voters.iter().copied().filter(|name| !lost.contains(name)).collect();
    let lasts = || quorum_is_gone || lasts(cluster, HINT_AFTER, now);
    if !take_quorum(&lost, &voters) || left.is_empty() || !lasts() {
        return None;
    }
    let key = &cluster.meta.key;
    let (left, given_up, mut value) = (left.join(" or "), lost.join(", "), lost.join(","));
    if recovery::annotation(cluster) == Some(&*value) {
        // That value has no effect any more.
        value.push(',');
    }
    let unless = if quorum_is_gone { "" } else { "if the others never return, " };
    Some(format!(
        "{unless}to continue with what {left} holds, and to give up {given_up} with what only they hold: kubectl annotate etcd -n {} {} \
         {RECOVER_WITHOUT}={value} --overwrite",
        key.namespace, key.name
    ))
}

/// Whether the volumes of all voters are gone for sure, so that there is no member to continue with.
pub(super) fn all_lost(observed: &Observed, members: &MemberSet<'_>, now: Timestamp) -> bool {
    let voters = voters(&observed.cluster);
    // A learner, or a member that has become a voter since etcd was last seen to list it, may have the only copy.
    let was_listed = |name: &str| observed.cluster.status.listed().any(|status| status.name == name);
    let may_have_data = |member: &MemberView<'_>| {
        let has_begun = was_listed(&member.name) || member.has_run();
        has_begun && member.usable_claim().is_some_and(|claim| claim.bound) && data_lost(members, member).is_none()
    };
    !voters.is_empty()
        && !members.list_known
        && is_lost_for_sure(observed, now)
        && certainly_lost(observed, members, &voters).len() == voters.len()
        && !members.all.iter().any(may_have_data)
}

/// Whether the recovery that is under way is still wanted, by the request that began it, or by the policy.
pub(super) fn is_wanted(cluster: &EtcdCluster) -> bool {
    match cluster.status.recovery_request.as_deref() {
        Some(request) => recovery::annotation(cluster) == Some(request),
        None => cluster.spec.recovery.as_ref().is_some_and(|of| of.policy == RecoveryPolicy::Automatic),
    }
}

/// Whether quorum is lost, and not only unknown: a list that is not trusted may be that of a member that bootstrapped again, and with
/// authentication the operator cannot ask.
fn is_lost_for_sure(observed: &Observed, now: Timestamp) -> bool {
    !observed.etcd.auth_required && !observed.etcd.list_distrusted && quorum::is_lost(&observed.cluster, now)
}

/// Whether the others cannot have quorum without the `lost`.
fn take_quorum(lost: &[&str], voters: &[&str]) -> bool {
    lost.len() >= voters.len().div_ceil(2)
}

/// The voters, as etcd last listed them.
fn voters(cluster: &EtcdCluster) -> Vec<&str> {
    let voters = cluster.status.listed().filter(|status| !is_joining_or_learner(status));
    voters.map(|status| status.name.as_str()).collect()
}

/// Whether the operator may decide itself, and quorum is lost for long enough.
pub(super) fn may_decide(cluster: &EtcdCluster, now: Timestamp) -> bool {
    let delay = cluster.spec.recovery.as_ref().filter(|of| of.policy == RecoveryPolicy::Automatic);
    delay.is_some_and(|of| lasts(cluster, SignedDuration::from_secs(of.delay_seconds()), now))
}

/// Whether no linearizable read has been answered for that long.
fn lasts(cluster: &EtcdCluster, long: SignedDuration, now: Timestamp) -> bool {
    let condition = cluster.status.contract.condition(QUORUM_HEALTHY);
    let since = condition.filter(|of| of.status == ConditionStatus::False).map(|of| of.last_transition_time);
    // Not clock::elapsed: a clock that is ahead must not give up members.
    since.is_some_and(|since| now.duration_since(since) >= long)
}

/// The voters that a user gives up, or what is wrong with the annotation. None if there is no request that has yet to be dealt with.
fn requested<'a>(cluster: &'a EtcdCluster, voters: &[&'a str]) -> Option<Result<Vec<&'a str>, String>> {
    let value =
        recovery::annotation(cluster).filter(|value| cluster.status.recovery_request.as_deref() != Some(value))?;
    let mut names = recovery::named(value);
    if let Some(other) = names.find(|name| !voters.contains(name)) {
        let members = voters.join(", ");
        return Some(Err(format!(
            "the annotation {RECOVER_WITHOUT} names {other}, which is no voting member: these are {members}"
        )));
    }
    let is_named = |voter: &&str| recovery::named(value).any(|name| name == *voter);
    Some(Ok(voters.iter().copied().filter(is_named).collect()))
}

/// The voters whose volumes are gone.
fn certainly_lost<'a>(observed: &Observed, members: &MemberSet<'_>, voters: &[&'a str]) -> Vec<&'a str> {
    let is_lost = |name: &&str| match members.get(name) {
        Some(member) if member.claim.is_some() => {
            let gone = member.claim.is_some_and(|claim| claim.lost || claim.meta.deleting && !hold::is_held(claim));
            gone && !member.has_run() || data_lost(members, member).is_some()
        }
        Some(member) if member.pod.is_some() => data_lost(members, member).is_some(),
        _ => observed.claim_lookups.absent.contains(*name),
    };
    voters.iter().copied().filter(is_lost).collect()
}

/// The voters that do not answer. If none does, those in which etcd does not run either: etcd that has restarted without quorum does
/// not answer.
fn silent<'a>(members: &MemberSet<'_>, voters: &[&'a str]) -> Vec<&'a str> {
    let of = |holds: &dyn Fn(&MemberView<'_>) -> bool| -> Vec<&'a str> {
        voters.iter().copied().filter(|name| !members.get(name).is_some_and(holds)).collect()
    };
    let silent = of(&|member| member.endpoint.is_some());
    if silent.len() == voters.len() { of(&|member| member.runs_etcd()) } else { silent }
}

fn refused_by_number(lost: &[&str], voters: &[&str]) -> Choice {
    if lost.len() == voters.len() {
        return Choice::Refused(format!(
            "the annotation {RECOVER_WITHOUT} names all voting members: leave out the one to continue with; if all are lost, restore a \
             backup (an EtcdRestore)"
        ));
    }
    Choice::Refused(format!(
        "the annotation {RECOVER_WITHOUT} names {}, and the other members have quorum without that as soon as they run",
        lost.join(", ")
    ))
}

/// The member with the longest log among those that are left, or why that is not known.
fn best<'a>(observed: &Observed, members: &MemberSet<'_>, lost: &[&str], left: &[&'a str]) -> Result<&'a str, String> {
    let member = |name: &str| members.get(name);
    let serves = |name: &&&str| {
        let is_ready = |of: &MemberView<'_>| {
            of.pod_version().is_some_and(|version| objects::has_health_probes(&version)) && of.ready
        };
        member(name).is_some_and(is_ready)
    };
    if let Some(ready) = lost.iter().find(serves) {
        return Err(format!(
            "member {ready} is to be given up, but it is ready by the report of its kubelet, so there may be quorum"
        ));
    }
    let usable = |of: &MemberView<'_>| of.usable_claim().is_some_and(|claim| holds_data(observed, claim));
    let is_usable = |name: &str| member(name).is_some_and(|of| usable(of) && data_lost(members, of).is_none());
    if let Some(unusable) = left.iter().find(|name| !is_usable(name)) {
        return Err(format!(
            "member {unusable} has no data to continue with: name it in the annotation {RECOVER_WITHOUT}, too"
        ));
    }
    if let [only] = left {
        return Ok(only);
    }
    let index = |name: &str| member(name).and_then(|of| of.endpoint).map(|endpoint| endpoint.raft_index);
    if let Some(silent) = left.iter().find(|name| index(name).is_none()) {
        return Err(format!(
            "{} are left, and member {silent} does not answer, so it is not known which one has the most writes: wait until it answers, or \
             name it in the annotation {RECOVER_WITHOUT}, too",
            left.join(", ")
        ));
    }
    let longest = left.iter().max_by_key(|name| index(name));
    longest.copied().ok_or_else(|| "no member is left".to_owned())
}

/// Whether the volume of a PVC holds data of a member of this cluster that has voted.
fn holds_data(observed: &Observed, claim: &Pvc) -> bool {
    let latched = observed.cluster.status.cluster_id.as_deref();
    claim.bound && objects::VolumeFacts::of(claim).is_some_and(|facts| latched == Some(&*facts.cluster_id))
}
