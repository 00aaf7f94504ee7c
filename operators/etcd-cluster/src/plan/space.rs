//! Pure: whether databases have space, in their quotas and on their volumes.

use api::etcd_cluster::condition_type::WARNING;
use api::etcd_cluster::{EtcdClusterReason, EtcdClusterSpec};
use etcd_sizing::{SEGMENT, database_space, known_size};

use super::member_set::{MemberSet, MemberView};
use super::membership::EtcdStep;
use super::objects::{self, ETCD};
use super::size::{self, humanize_bytes};
use super::{Alarm, Explanation, Observed, volume};
use crate::EtcdCluster;

/// etcd's error when its volume is full, which does not mean that its data is corrupt.
pub(super) const FULL: &str = "no space left on device";

/// Whether a member's PVC is terminating while its pod is not.
#[must_use]
pub fn has_terminating_volume(member: &MemberView<'_>) -> bool {
    member.pod_details().is_some() && member.claim.is_some_and(|claim| claim.meta.deleting)
}

/// Whether a member's etcd has ended because its volume is full, and has not served since: the agent waits for space before it
/// starts etcd again, and the kubelet does not report the pod as ready. The termination message stays for as long as etcd runs
/// afterward.
#[must_use]
pub fn is_full(member: &MemberView<'_>) -> bool {
    member.endpoint.is_none() && !member.ready && was_full(member)
}

/// Whether a member's etcd last ended because its volume was full.
pub(super) fn was_full(member: &MemberView<'_>) -> bool {
    let ended = member.container(ETCD).and_then(|etcd| etcd.terminated.as_ref());
    ended.is_some_and(|ended| ended.message.contains(FULL))
}

/// The members that have pods and keep their data on volumes.
fn on_volumes<'r, 'a>(observed: &Observed, members: &'r MemberSet<'a>) -> impl Iterator<Item = &'r MemberView<'a>> {
    members.all.iter().filter(|member| on_volume(observed, member))
}

fn on_volume(observed: &Observed, member: &MemberView<'_>) -> bool {
    let durable = observed.cluster.status.storage.as_ref().is_some_and(|storage| storage.durable);
    durable && member.pod.is_some() && member.claim.is_some()
}

/// The smallest of the members' volumes.
fn smallest(observed: &Observed, members: &MemberSet<'_>) -> Option<u64> {
    on_volumes(observed, members).filter_map(|member| volume::size(&observed.cluster, member)).min()
}

/// The quota of databases, in bytes; none if there is no limit.
#[must_use]
pub fn quota(observed: &Observed, members: &MemberSet<'_>) -> Option<i64> {
    let cluster = &*observed.cluster;
    let fits = |member| volume::quota(member).or_else(|| volume::size(cluster, member).map(etcd_sizing::quota));
    let fitting = on_volumes(observed, members).filter_map(fits).min();
    let own = members.all.iter().filter(|member| !member.earlier);
    let quota = size::quota(&cluster.spec, own.filter_map(|member| member.endpoint), fitting);
    quota.into_iter().chain(lowered(observed, members, was_full)).min()
}

/// The lowest quota that the agents of those members may have set instead of that of the spec, in bytes. etcd before 3.6 does not
/// report it.
fn lowered(observed: &Observed, members: &MemberSet<'_>, of: impl Fn(&MemberView<'_>) -> bool) -> Option<i64> {
    let unreported = |member: &&MemberView<'_>| member.endpoint.is_none_or(|endpoint| endpoint.quota == 0);
    let lowered =
        on_volumes(observed, members).filter(unreported).filter(|member| of(member)).filter_map(volume::quota).min();
    lowered.and_then(|bytes| i64::try_from(bytes).ok())
}

/// The size of the largest database.
fn largest(members: &MemberSet<'_>) -> Option<i64> {
    members.all.iter().filter_map(|member| member.endpoint).map(|endpoint| endpoint.db_size).max()
}

/// A warning before there is no space left: the reason and message. `reported` is the size of the largest database in the status.
pub(super) fn warning(observed: &Observed, members: &MemberSet<'_>, reported: Option<&str>) -> Option<Explanation> {
    let quota = quota(observed, members).and_then(|quota| u64::try_from(quota).ok());
    let volume = smallest(observed, members);
    let room = volume.map(database_space);
    let bytes = |bytes: u64| humanize_bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
    let bound = quota.into_iter().chain(room).min()?;
    let largest = u64::try_from(largest(members)?).ok()?;
    if largest.saturating_mul(10) >= bound.saturating_mul(8) {
        let message = format!(
            "the largest database has {} of at most {}; compact and defragment it, or raise {}",
            reported.unwrap_or("80 %"),
            bytes(bound),
            what_to_raise(&observed.cluster.spec, quota, room),
        );
        return Some((EtcdClusterReason::SpaceLow, message));
    }
    let too_large = room.filter(|room| quota.is_none_or(|quota| quota > *room)).zip(volume);
    too_large.map(|(room, volume)| {
        let quota = quota.map_or_else(|| "any size".to_owned(), bytes);
        let message = format!(
            "a volume may be full before etcd rejects writes: databases may grow to {quota}, and volumes of {} have space for \
             {} in addition to etcd's log; raise spec.storage.size, or lower spec.quota",
            bytes(volume),
            bytes(room),
        );
        (EtcdClusterReason::QuotaTooLarge, message)
    })
}

/// How much has to be free on a volume of that size, in bytes, for there to be no warning: two segments of etcd's log, or more on
/// a large one; less on one that is too small for that.
fn needed(volume: u64) -> u64 {
    (2 * SEGMENT).min(volume / 8).max(volume / 10)
}

/// How many files have to be free: etcd has a few hundred at most.
fn needed_files(files: u64) -> u64 {
    (files / 10).min(1_000)
}

/// A message about what a member's volume lacks: bytes or files.
fn used_up(observed: &Observed, member: &MemberView<'_>) -> Option<String> {
    let report = member.endpoint?.volume?;
    let volume = volume::size(&observed.cluster, member)?;
    let volume = known_size(report.volume_bytes).map_or(volume, |bytes| bytes.min(volume));
    let warning = observed
        .cluster
        .status
        .contract
        .condition(WARNING)
        .filter(|warning| warning.reason == EtcdClusterReason::VolumeLow);
    let was_low = warning.is_some_and(|warning| warning.message.contains(&member.name));
    // A warning ends only once there is clearly more space, and sizes are in steps, so that load does not cause writes of the
    // status.
    let is_low = |free: u64, needed: u64| if was_low { free < needed / 4 * 5 } else { free < needed };
    let needed = needed(volume);
    if is_low(report.free_bytes, needed) {
        let step = (needed / 4).max(1);
        let below = (report.free_bytes / step + 1) * step;
        let size = |bytes: u64| humanize_bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
        return Some(format!("less than {} of {} are free", size(below), size(volume)));
    }
    let few = report.files > 0 && is_low(report.free_files, needed_files(report.files));
    few.then(|| format!("fewer than {} more files can be created on it", needed_files(report.files) / 4 * 5))
}

/// Whether a member's volume is nearly full, as its file system reports it.
#[must_use]
pub fn is_low(observed: &Observed, member: &MemberView<'_>) -> bool {
    on_volume(observed, member) && used_up(observed, member).is_some()
}

/// The warning about nearly full volumes: the reason and message.
pub(super) fn low_warning(observed: &Observed, members: &MemberSet<'_>) -> Option<Explanation> {
    let low = on_volumes(observed, members).filter_map(|member| Some((&member.name, used_up(observed, member)?)));
    let low: Vec<String> = low.map(|(name, what)| format!("of member {name} {what}")).collect();
    (!low.is_empty()).then(|| {
        let message = format!(
            "volumes are nearly full, and etcd exits when one is full: {}; raise spec.storage.size, if the StorageClass allows \
             expansion, or free space: compact and defragment, and delete other files on the same file system",
            low.join(", ")
        );
        (EtcdClusterReason::VolumeLow, message)
    })
}

/// The least that is free on members' volumes: bytes, and files if their number is limited.
#[must_use]
pub fn least_free(observed: &Observed, members: &MemberSet<'_>) -> (Option<u64>, Option<u64>) {
    let reports = || on_volumes(observed, members).filter_map(|member| member.endpoint?.volume);
    let files = reports().filter(|report| report.files > 0).map(|report| report.free_files);
    (reports().map(|report| report.free_bytes).min(), files.min())
}

/// The field that limits the databases.
fn what_to_raise(spec: &EtcdClusterSpec, quota: Option<u64>, room: Option<u64>) -> &'static str {
    match room {
        None => "spec.quota",
        Some(room) if spec.quota.is_some() && quota.is_some_and(|quota| quota < room) => "spec.quota",
        Some(_) => "spec.storage.size",
    }
}

/// Whether the alarm NOSPACE is raised: etcd rejects writes for lack of space.
pub(super) fn is_alarm_raised(observed: &Observed) -> bool {
    observed.etcd.alarms.iter().any(|(_, alarm)| *alarm == Alarm::NoSpace)
}

/// Whether etcd rejects writes for lack of space, or soon will.
fn is_short(observed: &Observed, members: &MemberSet<'_>) -> bool {
    is_alarm_raised(observed)
        || quota(observed, members).zip(largest(members)).is_some_and(|(quota, largest)| largest >= quota / 10 * 8)
}

/// Whether space is short, and a member's volume has grown so that its database may grow with a new pod.
pub(super) fn can_have_more(observed: &Observed, members: &MemberSet<'_>, member: &MemberView<'_>) -> bool {
    let cluster = &*observed.cluster;
    let given_back = || volume::has_older_pod(cluster, member) && is_lowered(cluster, member);
    (volume::has_grown(cluster, member) || given_back()) && is_short(observed, members)
}

/// Whether a member's agent may have lowered the quota of the spec because the volume had no space left.
pub(super) fn is_lowered(cluster: &EtcdCluster, member: &MemberView<'_>) -> bool {
    let specified = || size::quota(&cluster.spec, std::iter::empty(), None).unwrap_or(i64::MAX);
    match member.endpoint.map(|endpoint| endpoint.quota).filter(|quota| *quota > 0) {
        _ if objects::quota_follows_volume(cluster) => false,
        Some(quota) => quota < specified(),
        None => was_full(member),
    }
}

/// The least that the quota of a database may be, in bytes. The agent lowers the quota at each start with too little space on the
/// volume, whether or not etcd has ended for that before.
pub(super) fn least_quota(observed: &Observed, members: &MemberSet<'_>) -> Option<i64> {
    quota(observed, members).into_iter().chain(lowered(observed, members, |_| true)).min()
}

/// Whether a database of that size has room for writes within that quota, both in bytes.
pub(super) fn has_room(size: i64, quota: i64) -> bool {
    size < quota / 10 * 9
}

/// Disarms NOSPACE once all databases have space again. It does not wait for scaling, except that a learner is promoted or
/// removed first. If the space does not last, etcd raises the alarm again with the next write.
pub(super) fn disarm(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    // The quota of an earlier member may not be known.
    if members.earlier().next().is_some() {
        return None;
    }
    let raised = observed.etcd.alarms.iter().filter(|(_, alarm)| *alarm == Alarm::NoSpace);
    let ids: Vec<u64> = raised.map(|(id, _)| *id).collect();
    let healthy = members.listed().all(|member| member.is_healthy() && member.ready);
    let room = least_quota(observed, members).zip(largest(members)).is_none_or(|(quota, size)| has_room(size, quota));
    (!ids.is_empty() && healthy && room).then_some(EtcdStep::Disarm { ids })
}
