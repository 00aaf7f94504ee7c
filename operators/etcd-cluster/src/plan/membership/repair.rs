//! Pure: other pods for members that do not work, where the spec by now says something else of pods.

use api::ConditionStatus;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use jiff::{SignedDuration, Timestamp};

use super::step::Step;
use super::troubles::trouble;
use super::unreached::{self, SILENCE};
use super::{corrupt, outdated, replacing};
use crate::plan::objects::{self, ETCD};
use crate::plan::roster::{Node, Roster};
use crate::plan::version::{Version, may_follow};
use crate::plan::wish::Wish;
use crate::plan::{Observed, proven};

/// How long etcd runs without becoming healthy, and how long there is no quorum, before a pod in which etcd runs is replaced:
/// starts and elections take less.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// What etcd says when the members had agreed on a later version than its own: 3.2 to 3.5, and 3.6 of data of 3.7 (`version "3.7.0" is not
/// supported`, in a line of JSON).
const DOWNGRADE: [&str; 2] = ["lower than determined cluster version", ".0\\\" is not supported"];

/// A pod in which etcd does not run, and of which it is not known that it could, is one that a roll began with and that
/// failed: it is brought to what is wished now. So is any such pod, once what is wished has been seen to run: whoever sets
/// a bad spec back gets all members back. What has run may stop to, so a member whose pod is of a proven spec may try
/// another one, but only one member at a time. With its pod, a member that is `unborn` loses nothing.
pub(super) fn failing(roster: &Roster<'_>, wish: &Wish, node: &Node<'_>, unborn: bool) -> Option<Step> {
    if !node.is_down() || trouble(node).is_none() {
        return None;
    }
    let may_change = || proven::is_proven(roster, wish) || proven::may_try(roster, wish, node);
    if !(proven::is_unproven(node) || is_older_than_its_data(node, wish) || may_change()) {
        return None;
    }
    let keeps_data = unborn || wish.durable && !node.is_doomed();
    if outdated::needs_other_pod(node, wish) && keeps_data {
        return Some(Step::Renew { name: node.name.clone() });
    }
    // Without a volume, another pod is another member; one that has never voted has nothing to lose.
    let new = node.is_learner() || !node.has_started();
    if outdated::needs_other_pod(node, wish) && new && roster.listed && roster.can_lose(node) {
        return Some(replacing::replace(roster, node, "its pod fails, and the spec has changed since".to_owned()));
    }
    outdated::needs_other_version(node, wish).then(|| Step::Upgrade { name: node.name.clone() })
}

/// Whether a member does not start because its data is of a later version than its pod, and the version that is asked for may be that
/// one: objects that come from a backup of before an upgrade tell of the version of then.
fn is_older_than_its_data(node: &Node<'_>, wish: &Wish) -> bool {
    let made = node.annotation(objects::VERSION).and_then(Version::parse);
    let follows =
        made.is_some_and(|made| !made.same_minor(&wish.version) && may_follow(&[made], &wish.version).is_ok());
    let ended = node.container(ETCD).and_then(|etcd| etcd.ended.as_ref());
    follows && ended.is_some_and(|ended| DOWNGRADE.iter().any(|sign| ended.message.contains(sign)))
}

/// A pod in which etcd runs in vain, and whose spec has never been seen to work: labels that a network policy selects, a
/// proxy, hardly any CPU. Probes pass there, so the kubelet never restarts it, and no roll goes on before it is healthy.
///
/// What has to be done before a member leaves a minor version takes one that answers. So where another one is asked for
/// meanwhile, the member first comes back as it ran last, and the roll takes it from there. So it does without quorum, where
/// what is asked for has never been seen to run. If nothing is known to have run in it, it is given what is asked for, on its
/// volume and of the minor version that its data is of: a member that lost its pod would come back as that, too. With no volume to
/// come back on, another member takes its place, as in a roll.
///
/// An only member that its kubelet finds ready is another matter, see [`unreached`].
pub(super) fn isolated(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    node: &Node<'_>,
    unborn: bool,
    now: Timestamp,
) -> Option<Step> {
    let in_vain = !node.is_learner() && !node.is_healthy() && node.runs_for_long();
    let replaceable =
        outdated::takes_other_pod(node, wish) || unborn && is_second(observed) && outdated::needs_other_pod(node, wish);
    if in_vain && replaceable && unreached::is_alone(observed, roster, node, now) {
        return unreached::another_pod(observed, roster, wish, node, now);
    }
    if !(in_vain && proven::is_unproven(node)) {
        return None;
    }
    if !replaceable {
        return as_another(observed, roster, wish, node, now);
    }
    let ran = proven::version_of_data(node);
    let keeps_minor = proven::keeps_minor(node, wish) || ran.as_ref().is_some_and(|ran| ran.same_minor(&wish.version));
    let alone = observed.cluster.status.member_statuses.len() == 1;
    // Without quorum nothing is tried that has never been seen to run, unless there is no other member, or it has never started,
    // or its claim tells nothing that it could come back as instead.
    let may_differ = roster.listed || alone || unborn || !proven::is_told(node);
    let as_wished = keeps_minor && (may_differ || proven::is_proven(roster, wish));
    let as_before = unborn || proven::is_told(node) || !keeps_minor && may_differ && ran.is_some();
    let harmless = match roster.listed {
        true => unreached::hold_quorum_meanwhile(observed, roster, node, now),
        false => is_useless(observed, node, now),
    };
    let name = node.name.clone();
    match harmless {
        true if as_wished => Some(Step::Renew { name }),
        true if as_before => Some(Step::DropPod { name }),
        _ => None,
    }
}

/// Another member in the place of one that has not answered for long and would not come back in another pod as itself, since its
/// volume, or its data, goes with the one that it has; if there are to be enough members without volumes.
fn as_another(observed: &Observed, roster: &Roster<'_>, wish: &Wish, node: &Node<'_>, now: Timestamp) -> Option<Step> {
    // Not clock::lasted: a clock that is ahead must not make a member replaceable at once.
    let silent = unreached::silent_since(observed, node).is_some_and(|since| now.duration_since(since) >= SILENCE);
    let dispensable = roster.listed && roster.can_lose(node) && silent;
    if !(dispensable && outdated::needs_other_pod(node, wish)) {
        return None;
    }
    if wish.durable {
        return Some(replacing::replace_doomed(roster, node));
    }
    let why = || "it cannot be reached, it keeps its data in its pod, and the spec has changed since".to_owned();
    (wish.size >= 3 && corrupt::may_go(observed, roster, node)).then(|| replacing::replace(roster, node, why()))
}

/// Whether no more than one other member votes: it has all that has ever been agreed to, so one that was listed beside it and has
/// never been seen to start loses nothing of that with its pod, be its data in there.
fn is_second(observed: &Observed) -> bool {
    observed.cluster.status.listed().count() == 1
}

/// Whether, without quorum, a member that does not answer is of no use to the others either: for long, not even the kubelet
/// has found it ready.
fn is_useless(observed: &Observed, node: &Node<'_>, now: Timestamp) -> bool {
    let lost = observed.cluster.status.contract.condition(QUORUM_HEALTHY);
    let lost = lost.filter(|lost| lost.status == ConditionStatus::False);
    // Not clock::lasted: a clock that is ahead must not make a member replaceable at once.
    let long = lost.is_some_and(|lost| now.duration_since(lost.last_transition_time) >= PATIENCE);
    long && node.endpoint.is_none() && node.running().is_some_and(|running| !running.ready)
}

/// A pod in which etcd hangs, made for a version that is probed by connecting to its port, which a process that is stopped or stuck
/// lets pass: the kubelet never restarts it. Of one whose image was changed since, it is not known what it was made for. The operator
/// restarts it, once: a member that is silent after that cannot be reached, and another restart would not help.
pub(super) fn hung(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    node: &Node<'_>,
    now: Timestamp,
) -> Option<Step> {
    let version = node.annotation(objects::VERSION).and_then(Version::parse)?;
    let started = node.container(ETCD).filter(|etcd| etcd.running)?.since?;
    let silent = unreached::silent_since(observed, node).filter(|_| node.endpoint.is_none())?;
    // Not clock::lasted: by a time that is yet to come, the member would be restarted again and again.
    let hangs = started <= silent && now.duration_since(silent) >= SILENCE && node.running()?.ready;
    let keeps_data = wish.durable && !node.is_doomed();
    // Of two, the read that has just been answered has taken both: neither hangs.
    let others_do = roster.voters().count() > 2 && unreached::hold_quorum_meanwhile(observed, roster, node, now);
    let harmless = keeps_data && !node.is_learner() && others_do;
    // With another image in the same pod come no other probes.
    let came_up = node.annotation(objects::RESTARTS).is_some();
    let unnoticed = came_up || !objects::is_asked_for_health(&version);
    (hangs && harmless && unnoticed).then(|| Step::DropPod { name: node.name.clone() })
}
