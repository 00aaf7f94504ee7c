//! Pure: volumes: their growth when the spec says so, and how full they are.

use agent_protocol::PgPrepareResult;
use api::sample_db::{SampleDBReason, VolumeStatus, condition_type as domain};
use api::{Condition, ConditionStatus};
use jiff::Timestamp;
use runtime::plan::Apply;
use runtime::projections::Pvc;
use runtime::quantity;
use runtime::status::conditions::condition;

use super::observed::Observed;
use super::pinned::Pinned;
use super::{objects, server_state, tuning};
use crate::operand::names;
use crate::operand::usage::{NEARLY_FULL, inodes_used, percent};
use runtime::job::outcome::AgentOutcome;
use runtime::message;

pub(super) mod snapshots;

/// Applies that are independent of the steps: the volume of the snapshots, and the growth of the data's volume, which is created
/// elsewhere.
pub(super) fn independent_applies(observed: &Observed, pinned: &Pinned) -> Vec<Apply> {
    let db = &*observed.db;
    // A PVC that is to be adopted keeps the UID that it was created for until its data was observed.
    let has_data = db.status.initialization.data_created_at.is_some();
    let data = observed.claim(&pinned.claim).filter(|claim| has_data && !claim.meta.deleting);
    let data = data.and_then(|claim| {
        objects::data_claim(db, &pinned.claim, Some(claim)).if_changed(Some((&claim.meta, claim.fingerprint)))
    });
    snapshots::claim(observed).into_iter().chain(data).collect()
}

/// The volumes as observed. Of a user's PVC only what the Jobs of snapshots report is known.
pub(super) fn volumes(observed: &Observed, pinned: &Pinned) -> Vec<VolumeStatus> {
    let of = |name: &str, used_percent: Option<i32>| {
        let claim = observed.claim(name);
        (claim.is_some() || used_percent.is_some()).then(|| VolumeStatus {
            claim: Some(name.to_owned()),
            capacity: claim.and_then(|claim| claim.capacity.clone()),
            used_percent,
            resizing: claim.is_some_and(|claim| claim.resizing),
        })
    };
    let data = observed.claim(&pinned.claim).and_then(|claim| used(observed, claim));
    let snapshots = snapshots::used(observed).map(|(percent, _)| percent);
    let all = [of(&pinned.claim, data), of(&names::snapshot_claim(&observed.db), snapshots)];
    all.into_iter().flatten().collect()
}

/// How full the data volume is, in percent; the last value if the server was not queried. This counts databases, WAL, and what
/// else takes space or files. The volume has as much as the smaller of its requested size and its file system, less the reserve,
/// and no more than is free. Of an earlier agent's pod only what its server found at its start is known.
fn used(observed: &Observed, claim: &Pvc) -> Option<i32> {
    let before = observed.db.status.volumes.iter().find(|of| of.claim.as_deref() == Some(&*claim.meta.key.name));
    let Some(answer) = observed.probe.info() else { return before.and_then(|before| before.used_percent) };
    let capacity = quantity::value(claim.capacity.as_deref()?).filter(|capacity| *capacity > 0)?;
    let at_start = prepare_result(observed).unwrap_or_default();
    let of_start = (at_start.volume_bytes, at_start.inodes.zip(at_start.free_inodes));
    let (volume, files) =
        answer.room.map_or(of_start, |room| (Some(room.volume_bytes), Some((room.inodes, room.free_inodes))));
    let volume = volume.map(i128::from).filter(|bytes| *bytes > 0);
    let bytes = i128::from(answer.bytes);
    let room = volume.map_or(capacity, |volume| volume.min(capacity)) - tuning::reserve(&observed.db);
    let room = answer.room.map_or(room, |now| room.min(bytes + i128::from(now.free_bytes)));
    percent(bytes, room, files.and_then(inodes_used))
}

/// What the init container of the server's pod reported about the volume.
fn prepare_result(observed: &Observed) -> Option<PgPrepareResult> {
    let prepared = observed.pod()?.details.as_deref()?.container("prepare")?;
    AgentOutcome::of_container(prepared).filter(|outcome| outcome.code == 0).map(|outcome| outcome.result())
}

/// Whether the server reports that its volume is full. What a Job reports is about another volume, or another server's.
fn is_full(observed: &Observed, pinned: &Pinned) -> bool {
    !observed.is_ready() && server_state::start_failure(observed, pinned).is_some_and(|why| message::is_full(&why))
}

/// Whether the volume that kept the server from running has room again, so the server need not wait for the kubelet's next
/// restart. The old size is in status, which was not written since.
pub(super) fn has_grown(observed: &Observed, pinned: &Pinned) -> bool {
    let Some(claim) = observed.claim(&pinned.claim).filter(|_| is_full(observed, pinned)) else { return false };
    let reported = observed.db.status.volumes.iter().find(|of| of.claim.as_deref() == Some(&*pinned.claim));
    let (now, before) = (
        claim.capacity.as_deref().and_then(quantity::value),
        reported.and_then(|reported| quantity::value(reported.capacity.as_deref()?)),
    );
    now.zip(before).is_some_and(|(now, before)| now > before)
}

/// Whether the volumes exist, have the requested size, and are not full.
pub(super) fn condition_of(observed: &Observed, pinned: &Pinned, now: Timestamp) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    let report = |holds, reason, why: String| condition(domain::STORAGE_HEALTHY, holds, reason, why, now);
    let no = |reason: SampleDBReason, why: String| report(False, reason, why);
    let claim = observed.claim(&pinned.claim);
    let size = observed.db.spec.storage.size();
    if is_full(observed, pinned) {
        let why = format!(
            "the volume of the PVC {}, which has the data and the WAL, is full, so the server does not start: raise \
             storage.size ({size}); the server starts as soon as there is room",
            pinned.claim
        );
        return no(SampleDBReason::VolumeFull, why);
    }
    match claim {
        None if observed.db.status.initialization.data_created_at.is_some() => {
            no(SampleDBReason::VolumeMissing, format!("the PVC {} of the data was deleted", pinned.claim))
        }
        None => report(Unknown, SampleDBReason::Provisioning, "creating the volume".to_owned()),
        Some(claim) if claim.meta.deleting && observed.db.status.initialization.data_created_at.is_some() => {
            let why =
                format!("the PVC {} of the data is being deleted, and is kept until its data is saved", pinned.claim);
            no(SampleDBReason::ClaimTerminating, why)
        }
        Some(claim) if claim.lost => {
            no(SampleDBReason::VolumeLost, format!("the volume of the PVC {} was deleted", pinned.claim))
        }
        Some(claim) => {
            let used = used(observed, claim).unwrap_or(0);
            let small = claim.capacity.as_deref().and_then(quantity::value)
                < claim.requested.as_deref().and_then(quantity::value);
            if used >= NEARLY_FULL {
                no(
                    SampleDBReason::NearlyFull,
                    format!(
                        "the volume of the PVC {}, which has the data and the WAL, is {used} % full: raise storage.size \
                         ({size}) before it is full and the server stops",
                        pinned.claim
                    ),
                )
            } else if snapshots::is_claim_terminating(observed) {
                no(SampleDBReason::SnapshotClaimTerminating, snapshots::claim_terminating_message(observed))
            } else if let Some(why) = snapshots::nearly_full(observed) {
                no(SampleDBReason::NearlyFull, why)
            } else if claim.bound && (small || claim.resizing) {
                let why = format!("the volume of the PVC {} is growing to the requested size", pinned.claim);
                no(SampleDBReason::Growing, why)
            } else {
                let kept = claim.requested.as_deref().filter(|_| claim.is_larger_than(size));
                let kept = kept.map_or_else(String::new, |kept| {
                    format!("; volumes do not shrink: it keeps {kept}, although the spec requests {size}")
                });
                report(True, SampleDBReason::Sound, format!("the volume of the data has room{kept}"))
            }
        }
    }
}
