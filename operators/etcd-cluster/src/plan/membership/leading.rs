//! Pure: another leader, because a person asks for one: once for each value of an annotation, and only while nothing else is to be
//! done to the members.
//!
//! Who led is written down before leadership is moved. So it is moved once, even if the manager dies or is not answered
//! after that: what was asked for is done as soon as anybody else leads.

use api::etcd_cluster::MOVE_LEADER;

use super::corrupt;
use super::step::Step;
use crate::EtcdCluster;
use crate::plan::Observed;
use crate::plan::roster::{Node, Roster, heir};

/// What the status remembers of it.
pub(in crate::plan) struct Led {
    /// The value that has been answered.
    pub(in crate::plan) moved_for: Option<String>,
    /// Who led when leadership was about to be moved.
    pub(in crate::plan) moving_from: Option<String>,
}

/// The value that asks for another leader and has not been answered.
fn asked(cluster: &EtcdCluster) -> Option<&str> {
    let value = cluster.annotations.get(MOVE_LEADER).map(|value| &**value).filter(|value| !value.is_empty())?;
    (cluster.status.leader_moved_for.as_deref() != Some(value)).then_some(value)
}

/// Has another member lead, once it is written down who leads. All members are as wished here.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>) -> Option<Step> {
    asked(&observed.cluster)?;
    let from = observed.cluster.status.leader_moving_from.as_deref()?;
    let leader = roster.leader().filter(|leader| leader.name == from)?;
    let heir = able(observed, roster, leader)?;
    Some(Step::MoveLeader { to: heir.name.clone(), asked: true })
}

/// Who leads next: a member that serves, has caught up, and is not one whose data differ.
fn able<'r, 'a>(observed: &Observed, roster: &'r Roster<'a>, leader: &Node<'_>) -> Option<&'r Node<'a>> {
    heir(roster, leader, |node| {
        node.is_healthy()
            && node.ready
            && roster.caught_up(node)
            && !node.is_doomed()
            && !corrupt::differs(observed, node)
    })
}

/// Whether nothing is under way, so that leadership may be moved.
fn calm(observed: &Observed, roster: &Roster<'_>, step: &Step) -> bool {
    let rests = matches!(step, Step::Rest | Step::MoveLeader { asked: true, .. });
    rests && roster.listed && !observed.cluster.spec.paused
}

/// What to remember after `step`.
pub(in crate::plan) fn led(observed: &Observed, roster: &Roster<'_>, step: &Step) -> Led {
    let before = &observed.cluster.status;
    let (moved_for, from) = (before.leader_moved_for.clone(), before.leader_moving_from.clone());
    let Some(value) = asked(&observed.cluster) else { return Led { moved_for, moving_from: None } };
    let done = Led { moved_for: Some(value.to_owned()), moving_from: None };
    let Some(leader) = roster.leader().filter(|_| roster.listed) else { return Led { moved_for, moving_from: from } };
    match from {
        Some(from) if from != leader.name => done,
        // Nobody to hand over to, or an etcd that cannot.
        _ if calm(observed, roster, step) && (roster.voters().count() == 1 || !leader.hands_over()) => done,
        None if calm(observed, roster, step) && able(observed, roster, leader).is_some() => {
            Led { moved_for, moving_from: Some(leader.name.clone()) }
        }
        from => Led { moved_for, moving_from: from },
    }
}

/// Why leadership is not moved yet, though that is asked for.
pub(in crate::plan) fn why_not_led(observed: &Observed, roster: &Roster<'_>, step: &Step) -> Option<String> {
    asked(&observed.cluster)?;
    if let Step::MoveLeader { to, asked: true } = step {
        return Some(format!("transferring leadership to member {to}, as the annotation {MOVE_LEADER} requests"));
    }
    let why = match roster.leader() {
        _ if observed.cluster.spec.paused => "while paused",
        _ if !roster.listed => "before there is quorum again",
        _ if !calm(observed, roster, step) => "before the members are as asked",
        None => "before the members agree on a leader",
        Some(leader) if !leader.hands_over() => return None,
        Some(leader) if roster.voters().count() > 1 && able(observed, roster, leader).is_none() => {
            "before another member is ready and has caught up"
        }
        Some(_) => return None,
    };
    Some(format!("leadership, which the annotation {MOVE_LEADER} asks to move, is not moved {why}"))
}
