//! Pure: whether databases have room: in what etcd allows them, and on their volumes.

use api::etcd_cluster::condition_type::WARNING;
use api::etcd_cluster::{EtcdClusterReason, EtcdClusterSpec};
use etcd_sizing::{SEGMENT, beside_the_log, file_system};

use super::membership::Step;
use super::objects::{self, ETCD};
use super::roster::{Node, Roster};
use super::size::{self, words};
use super::{Alarm, Explanation, Observed, volume};
use crate::EtcdCluster;

/// What etcd says when its volume is full, which is no fault of its data.
pub(super) const FULL: &str = "no space left on device";

/// Whether a member has a volume that goes with its pod, because somebody has deleted its claim.
#[must_use]
pub fn is_terminating(node: &Node<'_>) -> bool {
    node.running().is_some() && node.claim.is_some_and(|claim| claim.meta.deleting)
}

/// Whether a member's etcd has ended because its volume is full, and has not come up since: until there is room the agent
/// waits in its stead, and the kubelet does not find the pod ready. Its last words stay for as long as it runs afterwards.
#[must_use]
pub fn is_full(node: &Node<'_>) -> bool {
    node.endpoint.is_none() && !node.ready && was_full(node)
}

/// Whether a member's etcd has ended last because its volume was full.
pub(super) fn was_full(node: &Node<'_>) -> bool {
    let ended = node.container(ETCD).and_then(|etcd| etcd.ended.as_ref());
    ended.is_some_and(|ended| ended.message.contains(FULL))
}

/// The members that keep their data on volumes, and have pods.
fn on_volumes<'r, 'a>(observed: &Observed, roster: &'r Roster<'a>) -> impl Iterator<Item = &'r Node<'a>> {
    roster.nodes.iter().filter(|node| on_volume(observed, node))
}

fn on_volume(observed: &Observed, node: &Node<'_>) -> bool {
    let durable = observed.cluster.status.storage.as_ref().is_some_and(|storage| storage.durable);
    durable && node.pod.is_some() && node.claim.is_some()
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
    quota.into_iter().chain(lowered(observed, roster, was_full)).min()
}

/// How far the quota that the spec asks for may have been lowered by the agents of those members, in bytes: before 3.6 etcd does
/// not tell.
fn lowered(observed: &Observed, roster: &Roster<'_>, of: impl Fn(&Node<'_>) -> bool) -> Option<i64> {
    let silent = |node: &&Node<'_>| node.endpoint.is_none_or(|endpoint| endpoint.quota == 0);
    let lowered = on_volumes(observed, roster).filter(silent).filter(|node| of(node)).filter_map(volume::quota).min();
    lowered.and_then(|bytes| i64::try_from(bytes).ok())
}

/// The size of the largest database.
fn largest(roster: &Roster<'_>) -> Option<i64> {
    roster.nodes.iter().filter_map(|node| node.endpoint).map(|endpoint| endpoint.db_size).max()
}

/// What a person should know of before there is no room left: the reason and message. `told` is the size of the largest
/// database as status tells it.
pub(super) fn warning(observed: &Observed, roster: &Roster<'_>, told: Option<&str>) -> Option<Explanation> {
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
        return Some((EtcdClusterReason::SpaceLow, message));
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
        (EtcdClusterReason::QuotaTooLarge, message)
    })
}

/// How much has to be free on a volume of that size, in bytes, lest that is told: two segments of etcd's log, or more on a large
/// one; less on one that is too small for that anyway.
fn needed(volume: u64) -> u64 {
    (2 * SEGMENT).min(volume / 8).max(volume / 10)
}

/// How many more files there have to be room for: etcd has a few hundred at most.
fn needed_files(files: u64) -> u64 {
    (files / 10).min(1_000)
}

/// What of a member's volume is nearly used up: bytes or files, in words.
fn used_up(observed: &Observed, node: &Node<'_>) -> Option<String> {
    let room = node.endpoint?.room?;
    let volume = volume::size(&observed.cluster, node)?;
    let volume = file_system(room.volume_bytes).map_or(volume, |bytes| bytes.min(volume));
    let warning = observed
        .cluster
        .status
        .contract
        .condition(WARNING)
        .filter(|warning| warning.reason == EtcdClusterReason::VolumeLow);
    let told = warning.is_some_and(|warning| warning.message.contains(&node.name));
    // What has been told is taken back once there is clearly more; and sizes move in steps, so that load writes no status.
    let is_low = |free: u64, needed: u64| if told { free < needed / 4 * 5 } else { free < needed };
    let needed = needed(volume);
    if is_low(room.free_bytes, needed) {
        let step = (needed / 4).max(1);
        let below = (room.free_bytes / step + 1) * step;
        let words = |bytes: u64| words(i64::try_from(bytes).unwrap_or(i64::MAX));
        return Some(format!("less than {} of {} are free", words(below), words(volume)));
    }
    let few = room.files > 0 && is_low(room.free_files, needed_files(room.files));
    few.then(|| format!("fewer than {} more files can be made on it", needed_files(room.files) / 4 * 5))
}

/// Whether a member's volume is nearly full, by the word of its file system.
#[must_use]
pub fn is_low(observed: &Observed, node: &Node<'_>) -> bool {
    on_volume(observed, node) && used_up(observed, node).is_some()
}

/// Volumes that are nearly full, whatever fills them: the reason and message.
pub(super) fn low(observed: &Observed, roster: &Roster<'_>) -> Option<Explanation> {
    let low = on_volumes(observed, roster).filter_map(|node| Some((&node.name, used_up(observed, node)?)));
    let low: Vec<String> = low.map(|(name, what)| format!("of member {name} {what}")).collect();
    (!low.is_empty()).then(|| {
        let message = format!(
            "volumes are nearly full, and etcd ends on one that is: {}; raise spec.storage.size, where the StorageClass lets volumes grow, or make room: compact and defragment, and delete what others have on the same file system",
            low.join(", ")
        );
        (EtcdClusterReason::VolumeLow, message)
    })
}

/// The least of what is free on members' volumes: bytes, and files where those are bounded.
#[must_use]
pub fn least_free(observed: &Observed, roster: &Roster<'_>) -> (Option<u64>, Option<u64>) {
    let rooms = || on_volumes(observed, roster).filter_map(|node| node.endpoint?.room);
    let files = rooms().filter(|room| room.files > 0).map(|room| room.free_files);
    (rooms().map(|room| room.free_bytes).min(), files.min())
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
pub(super) fn is_lowered(cluster: &EtcdCluster, node: &Node<'_>) -> bool {
    let asked = || size::quota(&cluster.spec, std::iter::empty(), None).unwrap_or(i64::MAX);
    match node.endpoint.map(|endpoint| endpoint.quota).filter(|quota| *quota > 0) {
        _ if objects::quota_follows_volume(cluster) => false,
        Some(told) => told < asked(),
        None => was_full(node),
    }
}

/// Takes the alarms back by which writes are refused, once all databases have room again, whatever size the cluster is brought
/// to; a learner votes first, or is given up. Should that not last, etcd raises them with the next write.
pub(super) fn disarm(observed: &Observed, roster: &Roster<'_>) -> Option<Step> {
    let raised = observed.etcd.alarms.iter().filter(|(_, alarm)| *alarm == Alarm::NoSpace);
    let ids: Vec<u64> = raised.map(|(id, _)| *id).collect();
    let well = roster.members().all(|node| node.is_healthy() && node.ready);
    // An agent lowers a quota at each start that finds no room on the volume, whether or not etcd has ended for that before.
    let least = lowered(observed, roster, |_| true);
    let quota = quota(observed, roster).into_iter().chain(least).min();
    let has_room = quota.zip(largest(roster)).is_none_or(|(quota, largest)| largest < quota / 10 * 9);
    (!ids.is_empty() && well && has_room).then_some(Step::Disarm { ids })
}
