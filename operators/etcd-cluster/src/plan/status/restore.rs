//! Pure: the record of a restore, and the messages and events about it.

use api::etcd_cluster::{
    EtcdClusterEvent, EtcdClusterStatus, EtcdRestoreProgress, Members, RestoreOutcome, RestoreStage,
};
use jiff::{Timestamp, Unit};
use runtime::plan::EventDraft;

use crate::EtcdCluster;
use crate::plan::membership::EtcdStep;
use crate::plan::restore::{RestoreStep, under_way};

/// The record after `step`, which leaves the cluster with the id `latched`.
pub(super) fn record(
    cluster: &EtcdCluster,
    step: &EtcdStep,
    latched: Option<&str>,
    now: Timestamp,
) -> Option<EtcdRestoreProgress> {
    let second = || now.round(Unit::Second).ok();
    if let EtcdStep::Restore(RestoreStep::Begin { name, uid }) = step {
        return Some(EtcdRestoreProgress {
            name: name.clone(),
            uid: uid.clone(),
            previous_cluster_id: cluster.status.cluster_id.clone(),
            started_at: second(),
            ..EtcdRestoreProgress::default()
        });
    }
    let Some(progress) = under_way(cluster) else { return cluster.status.restore.clone() };
    let ended = |outcome| EtcdRestoreProgress { ended_at: second(), outcome: Some(outcome), ..progress.clone() };
    let at = |stage| EtcdRestoreProgress { stage, ..progress.clone() };
    Some(match step {
        EtcdStep::Restore(RestoreStep::Forget) => at(RestoreStage::Keeping),
        EtcdStep::Restore(RestoreStep::BeginAgain) => at(RestoreStage::Beginning),
        EtcdStep::Restore(RestoreStep::Cancel) => ended(RestoreOutcome::Canceled),
        _ if progress.stage == RestoreStage::Beginning && latched.is_some() => ended(RestoreOutcome::Restored),
        _ => progress.clone(),
    })
}

/// The status of a cluster that has forgotten its members.
pub(super) fn forgotten(status: EtcdClusterStatus) -> EtcdClusterStatus {
    EtcdClusterStatus {
        cluster_id: None,
        size: 0,
        members: Members::default(),
        member_statuses: Vec::new(),
        leader: None,
        db_size: None,
        filling_from: None,
        restored_from: None,
        ..status
    }
}

/// The event about the begin or end of a restore.
pub(super) fn event(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Option<EventDraft> {
    let now = after.restore.as_ref()?;
    let was = before.restore.as_ref().filter(|was| was.uid == now.uid);
    let (warning, reason, message) = match (was, now.outcome) {
        (None, _) => (
            true,
            EtcdClusterEvent::RestoreStarted,
            format!(
                "the EtcdRestore {} begins the cluster again: its members are stopped, and keep their volumes",
                now.name
            ),
        ),
        (Some(was), Some(RestoreOutcome::Restored)) if was.outcome.is_none() => (
            false,
            EtcdClusterEvent::Restored,
            format!("the cluster began again from {}", after.restored_from.as_deref().unwrap_or("the snapshot")),
        ),
        (Some(was), Some(RestoreOutcome::Canceled)) if was.outcome.is_none() => (
            true,
            EtcdClusterEvent::RestoreCanceled,
            format!("the EtcdRestore {} was deleted: the cluster returns to its earlier volumes", now.name),
        ),
        _ => return None,
    };
    Some(EventDraft { warning, reason: reason.into(), message })
}

/// What a step does, as a condition says it.
pub(super) fn message(step: &RestoreStep) -> &'static str {
    match step {
        RestoreStep::Begin { .. } => "the cluster begins again from a snapshot: its members are stopped",
        RestoreStep::Stop => "stopping the members before the cluster begins again from a snapshot",
        RestoreStep::Forget => "the members are stopped, and keep their volumes",
        RestoreStep::Keep => "retiring the volumes of the stopped members, which stay",
        RestoreStep::BeginAgain => "the first member is about to begin from the snapshot",
        RestoreStep::Return => "the restore is canceled: the cluster returns to its earlier volumes",
        RestoreStep::Cancel => "the restore is canceled",
    }
}
