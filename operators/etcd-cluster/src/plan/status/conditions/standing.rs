//! Pure: how the cluster fares, in what conditions need.

use api::Reason;
use jiff::Timestamp;
use runtime::status::conditions::Summary;

use super::judgment::{is_restarting, judge};
use crate::plan::membership::{Step, waiting_for, why_not_led};
use crate::plan::roster::Roster;
use crate::plan::status::warnings;
use crate::plan::status::words::alarm;
use crate::plan::wish::Wish;
use crate::plan::{Alarm, Explanation, Observed, quorum, space};

/// The cluster's state, as its conditions report it.
pub(in crate::plan::status) struct Standing {
    pub(in crate::plan::status) summary: Summary,
    pub(in crate::plan::status) reason: Reason,
    pub(in crate::plan::status) message: String,
    /// Whether any member answers.
    pub(in crate::plan::status) answers: bool,
    pub(super) quorum: Result<(), String>,
    /// Whether quorum is called lost, should it not answer.
    pub(super) lost: bool,
    /// Whether etcd has ever been asked, that is, whether there is a member to ask.
    pub(super) made: bool,
    pub(super) members: usize,
    pub(super) healing: Option<String>,
    /// Whether there are to be more members or fewer; none where it is not known how many there are.
    pub(super) scaling: Option<bool>,
    pub(super) upgrading: bool,
    pub(super) alarm: Option<Alarm>,
    /// Whether etcd answers, and does not tell strangers how it fares.
    pub(super) denied: bool,
    /// Whether nobody is missing but members that are being restarted as the spec asks.
    pub(super) restarting: bool,
    /// Whether claims that hold data are being deleted.
    pub(super) terminating: bool,
    /// What works, but not as well as a person might think: the reason and message.
    pub(super) warning: Option<Explanation>,
}

impl Standing {
    /// Whether etcd refuses writes, or all requests, by an alarm.
    pub(in crate::plan::status) fn refuses(&self) -> bool {
        self.alarm.is_some()
    }

    /// Whether no linearizable read has been answered for long, though etcd had no reason to refuse it.
    pub(in crate::plan::status) fn has_no_quorum(&self) -> bool {
        self.quorum.is_err() && !self.denied && self.lost
    }

    pub(in crate::plan::status) fn of(
        observed: &Observed,
        roster: &Roster<'_>,
        wish: &Wish,
        step: &Step,
        now: Timestamp,
    ) -> Self {
        let cluster = &*observed.cluster;
        let made = cluster.status.cluster_id.is_some();
        let members =
            if roster.listed { roster.members().count() } else { usize::try_from(cluster.status.size).unwrap_or(0) };
        let sick = roster.members().find(|node| !node.is_learner() && !node.is_healthy());
        let healing = match step {
            _ if !made => None,
            _ if observed.etcd.denied => None,
            _ if is_restarting(observed, roster, wish) => None,
            _ if !roster.listed => Some("waiting for quorum".to_owned()),
            Step::Remove { name, dead: Some(why), .. } => Some(format!("replacing member {name}: {why}")),
            _ => sick.map(waiting_for),
        };
        let current = cluster.status.current_version.as_deref();
        let upgrading = made && current.is_some_and(|current| current != wish.version.to_string());
        let lost = quorum::is_lost(cluster, now);
        let (summary, reason, mut message) = judge(observed, roster, wish, step, lost);
        if let Some(why) = why_not_led(observed, roster, step) {
            message = format!("{message}; {why}");
        }
        Self {
            summary,
            reason,
            message,
            answers: roster.nodes.iter().any(|node| node.endpoint.is_some()),
            quorum: observed.etcd.members.as_ref().map(drop).map_err(Clone::clone),
            lost,
            made,
            members,
            healing,
            scaling: is_scaling(observed, roster, wish, members),
            upgrading,
            alarm: alarm(observed).map(|(_, alarm)| alarm),
            denied: observed.etcd.denied,
            restarting: is_restarting(observed, roster, wish),
            terminating: roster.nodes.iter().any(space::is_terminating),
            warning: warnings::worst(observed, roster),
        }
    }
}

/// Whether etcd's list is not as long as is asked for; without quorum, as long as it was last.
fn is_scaling(observed: &Observed, roster: &Roster<'_>, wish: &Wish, members: usize) -> Option<bool> {
    let made = observed.cluster.status.cluster_id.is_some();
    let known = !made || roster.listed || members > 0;
    known.then(|| made && (members != wish.size || roster.listed && roster.voters().count() != wish.size))
}
