//! Pure: defragments databases on request, and by itself where the spec says so: one member after the other, the leader last, and only
//! while all members are healthy. A member answers nothing meanwhile.
//!
//! A request is recorded in the status with the members that are left, so another manager continues with them.

use api::etcd_cluster::{
    DEFRAGMENT, EtcdClusterReason, EtcdDefragmentation, EtcdDefragmentationStatus, MaintenanceWindow,
};
use api::time::{DEFAULT_TIME_ZONE, span};
use jiff::Timestamp;
use runtime::schedule::Schedule;

use super::member_set::{MemberSet, MemberView};
use super::membership::EtcdStep;
use super::{Defragmentation, Explanation, Observed, space};
use crate::EtcdCluster;

/// The unused space for which a member is not worth being defragmented, in bytes.
const NEGLIGIBLE: i64 = 16 << 20;

/// Waits while a database is being defragmented: its member answers nothing meanwhile, and is not to be repaired.
pub(super) fn wait(observed: &Observed) -> Option<EtcdStep> {
    let (name, _) = observed.etcd.defragmentations.iter().find(|(_, state)| **state == Defragmentation::Running)?;
    let reason = match space::is_alarm_raised(observed) {
        true => EtcdClusterReason::NoSpace,
        false => EtcdClusterReason::Defragmenting,
    };
    Some(EtcdStep::poll(
        reason,
        format!("defragmenting the database of member {name}, which answers nothing until that is done"),
    ))
}

/// Whether the database of that member is being defragmented.
pub(super) fn is_running(observed: &Observed, name: &str) -> bool {
    observed.etcd.defragmentations.get(name) == Some(&Defragmentation::Running)
}

/// Whether the database of that member has just been defragmented.
fn is_recently_done(observed: &Observed, name: &str) -> bool {
    matches!(observed.etcd.defragmentations.get(name), Some(Defragmentation::Done { recently: true, .. }))
}

/// The next database to defragment. All members are as desired here.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, now: Timestamp) -> Option<EtcdStep> {
    if !members.listed().all(|member| member.is_healthy() && member.ready) {
        return None;
    }
    let state = |member: &MemberView<'_>| observed.etcd.defragmentations.get(member.name.as_str());
    let requested = |member: &&MemberView<'_>| {
        is_pending(&observed.cluster, &member.name) && !is_recently_done(observed, &member.name)
    };
    let fragmented = |member: &&MemberView<'_>| state(member).is_none() && is_fragmented(observed, member);
    let automatic =
        || members.leader_last(members.listed().filter(fragmented)).filter(|_| is_in_window(&observed.cluster, now));
    let member = members.leader_last(members.listed().filter(requested)).or_else(automatic)?;
    if let Some(Defragmentation::Failed { why, recently: true }) = state(member) {
        let message = format!("member {} was not defragmented, and is tried again: {why}", member.name);
        return Some(EtcdStep::poll(EtcdClusterReason::Defragmenting, message));
    }
    let revision = member.endpoint.map_or(0, |endpoint| endpoint.revision);
    Some(EtcdStep::Defragment { name: member.name.clone(), revision })
}

/// What the status records of a request.
pub(super) fn record(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdDefragmentationStatus> {
    let cluster = &*observed.cluster;
    let before = cluster.status.defragmentation.clone();
    let request = cluster.annotations.get(DEFRAGMENT).map(|value| &**value).filter(|value| !value.is_empty());
    let names = || members.listed().map(|member| member.name.clone());
    match (request, before) {
        (_, before) if !members.list_known || cluster.spec.paused => before,
        // The request is withdrawn.
        (None, before) => before.map(|of| EtcdDefragmentationStatus { pending: Vec::new(), ..of }),
        (Some(request), Some(before)) if before.request == request => {
            let is_left = |name: &String| names().any(|listed| listed == *name) && !is_recently_done(observed, name);
            Some(EtcdDefragmentationStatus { pending: before.pending.into_iter().filter(is_left).collect(), ..before })
        }
        (Some(request), _) => {
            Some(EtcdDefragmentationStatus { request: request.to_owned(), pending: names().collect() })
        }
    }
}

/// Why databases are not defragmented automatically: the window is invalid, or one failed.
pub(super) fn warning(observed: &Observed) -> Option<Explanation> {
    let policy = policy(&observed.cluster)?;
    let failed = observed.etcd.defragmentations.iter().find_map(|(name, state)| match state {
        Defragmentation::Failed { why, .. } => Some((name, why)),
        Defragmentation::Running | Defragmentation::Done { .. } => None,
    });
    if let Some((name, why)) = failed {
        let message =
            format!("the database of member {name} was not defragmented, which is tried again within an hour: {why}");
        return Some((EtcdClusterReason::DefragmentationFailed, message));
    }
    let window = policy.window.as_ref()?;
    let why = schedule(window).err()?;
    let message = format!("no database is defragmented automatically: spec.defragmentation.window.{why}");
    Some((EtcdClusterReason::FieldNotUsed, message))
}

fn policy(cluster: &EtcdCluster) -> Option<&EtcdDefragmentation> {
    cluster.spec.defragmentation.as_ref()
}

fn is_pending(cluster: &EtcdCluster, name: &str) -> bool {
    cluster.status.defragmentation.as_ref().is_some_and(|of| of.pending.iter().any(|pending| pending == name))
}

/// Whether so much of a database is not in use as the spec says.
fn is_fragmented(observed: &Observed, member: &MemberView<'_>) -> bool {
    let (Some(policy), Some(endpoint)) = (policy(&observed.cluster), member.endpoint) else { return false };
    // Before 3.4, members do not report what is in use.
    let unused = endpoint.db_size.saturating_sub(endpoint.in_use);
    let is_much = unused.saturating_mul(100) >= endpoint.db_size.saturating_mul(policy.unused_percent());
    endpoint.in_use > 0 && unused >= NEGLIGIBLE && is_much
}

fn schedule(window: &MaintenanceWindow) -> Result<Schedule, String> {
    Schedule::parse(&window.schedule, window.time_zone.as_deref().unwrap_or(DEFAULT_TIME_ZONE))
}

/// Whether work that clients notice may begin now.
fn is_in_window(cluster: &EtcdCluster, now: Timestamp) -> bool {
    let Some(window) = policy(cluster).and_then(|policy| policy.window.as_ref()) else { return true };
    let began = schedule(window).ok().and_then(|schedule| schedule.last(now));
    began.zip(span(&window.duration)).is_some_and(|(began, lasts)| now.duration_since(began) < lasts)
}
