//! Whether databases have room: in what etcd allows them, and on their volumes. Pure.

use api::etcd_cluster::EtcdClusterSpec;
use etcd_sizing::beside_the_log;

use super::membership::{self, Step};
use super::roster::{Node, Roster};
use super::size::{self, words};
use super::wish::Wish;
use super::{Alarm, Observed, objects, volume};
use crate::EtcdCluster;

/// Whether a member has a volume that goes with its pod, because somebody has deleted its claim.
#[must_use]
pub fn is_terminating(node: &Node<'_>) -> bool {
    node.running().is_some() && node.claim.is_some_and(|claim| claim.meta.deleting)
}

/// Whether a member's etcd has ended because its volume is full, and has not come up since.
#[must_use]
pub fn is_full(node: &Node<'_>) -> bool {
    membership::is_full(node)
}

/// The members that keep their data on volumes, and have pods.
fn on_volumes<'r, 'a>(observed: &Observed, roster: &'r Roster<'a>) -> impl Iterator<Item = &'r Node<'a>> {
    let durable = observed.cluster.status.storage.as_ref().is_some_and(|storage| storage.durable);
    roster.nodes.iter().filter(move |node| durable && node.pod.is_some() && node.claim.is_some())
}

/// The smallest of the members' volumes.
fn smallest(observed: &Observed, roster: &Roster<'_>) -> Option<u64> {
    on_volumes(observed, roster).filter_map(|node| volume::size(&observed.cluster, node)).min()
}

/// How large a database may grow, in bytes; none where there is no bound.
#[must_use]
pub fn quota(observed: &Observed, roster: &Roster<'_>) -> Option<i64> {
    let cluster = &*observed.cluster;
    let fits = |node| volume::quota(node).or_else(|| volume::size(cluster, node).map(etcd_sizing::quota));
    let fitting = on_volumes(observed, roster).filter_map(fits).min();
    let quota = size::quota(&cluster.spec, roster.nodes.iter().filter_map(|node| node.endpoint), fitting);
    // Before 3.6 etcd does not tell its quota, and the agent may have lowered the one that the spec asks for; no further than
    // this.
    let silent = |node: &&Node<'_>| node.endpoint.is_none_or(|endpoint| endpoint.quota == 0);
    let was_full = on_volumes(observed, roster).filter(silent).filter(|node| membership::was_full(node));
    let lowered = was_full.filter_map(volume::quota).min();
    quota.into_iter().chain(lowered.and_then(|bytes| i64::try_from(bytes).ok())).min()
}

/// The size of the largest database.
fn largest(roster: &Roster<'_>) -> Option<i64> {
    roster.nodes.iter().filter_map(|node| node.endpoint).map(|endpoint| endpoint.db_size).max()
}

/// What a person should know of before there is no room left: the reason and message. `told` is the size of the largest
/// database as status tells it.
pub(super) fn warning(observed: &Observed, roster: &Roster<'_>, told: Option<&str>) -> Option<(&'static str, String)> {
    let quota = quota(observed, roster).and_then(|quota| u64::try_from(quota).ok());
    let volume = smallest(observed, roster);
    let room = volume.map(beside_the_log);
    let bytes = |bytes: u64| words(i64::try_from(bytes).unwrap_or(i64::MAX));
    let bound = quota.into_iter().chain(room).min()?;
    let largest = u64::try_from(largest(roster)?).ok()?;
    if largest.saturating_mul(10) >= bound.saturating_mul(8) {
        let message = format!(
            "the largest database takes {} of the {} that it can: compact and defragment it, or raise {}",
            told.unwrap_or("80 %"),
            bytes(bound),
            what_to_raise(&observed.cluster.spec, quota, room),
        );
        return Some(("SpaceLow", message));
    }
    let too_large = room.filter(|room| quota.is_none_or(|quota| quota > *room)).zip(volume);
    too_large.map(|(room, volume)| {
        let quota = quota.map_or_else(|| "without bound".to_owned(), bytes);
        let message = format!(
            "databases may grow to {quota}, and volumes of {} have room for {} beside etcd's log: raise spec.storage.size, or \
             set spec.quota lower, lest volumes get full before etcd refuses writes",
            bytes(volume),
            bytes(room),
        );
        ("QuotaTooLarge", message)
    })
}

/// Which field bounds the databases.
fn what_to_raise(spec: &EtcdClusterSpec, quota: Option<u64>, room: Option<u64>) -> &'static str {
    match room {
        None => "spec.quota",
        Some(room) if spec.quota.is_some() && quota.is_some_and(|quota| quota < room) => "spec.quota",
        Some(_) => "spec.storage.size",
    }
}

/// Whether writes are refused for want of room, or soon will be.
fn is_short(observed: &Observed, roster: &Roster<'_>) -> bool {
    let refuses = observed.etcd.alarms.iter().any(|(_, alarm)| *alarm == Alarm::NoSpace);
    refuses || quota(observed, roster).zip(largest(roster)).is_some_and(|(quota, largest)| largest >= quota / 10 * 8)
}

/// Whether room is short, and a member's volume has grown so that with another pod its database may grow as well.
pub(super) fn can_have_more(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>) -> bool {
    let cluster = &*observed.cluster;
    let given_back = || volume::is_of_before_growth(cluster, node) && is_lowered(cluster, node);
    (volume::has_grown(cluster, node) || given_back()) && is_short(observed, roster)
}

/// Whether a member's agent may have lowered the quota that the spec asks for, because the volume had no room left.
fn is_lowered(cluster: &EtcdCluster, node: &Node<'_>) -> bool {
    let asked = || size::quota(&cluster.spec, std::iter::empty(), None).unwrap_or(i64::MAX);
    match node.endpoint.map(|endpoint| endpoint.quota).filter(|quota| *quota > 0) {
        _ if objects::quota_follows_volume(cluster) => false,
        Some(told) => told < asked(),
        None => membership::was_full(node),
    }
}

/// Takes the alarm back by which writes are refused, once all databases have room again. Should that not last, etcd raises
/// it with the next write.
pub(super) fn disarm(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let (id, _) = observed.etcd.alarms.iter().find(|(_, alarm)| *alarm == Alarm::NoSpace)?;
    let all = roster.members().count() == wish.size && roster.members().all(|node| node.is_healthy() && node.ready);
    let quota = quota(observed, roster);
    let has_room = quota.zip(largest(roster)).is_none_or(|(quota, largest)| largest < quota / 10 * 9);
    (all && has_room).then_some(Step::Disarm { id: *id })
}
