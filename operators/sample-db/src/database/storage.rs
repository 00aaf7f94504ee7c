//! Pure: volumes: they grow when the spec says so, and how full they are is told.

use agent_protocol::PgPrepareResult;
use api::sample_db::{SampleDBReason, VolumeStatus, condition_type as domain};
use api::{Condition, ConditionStatus};
use jiff::Timestamp;
use runtime::apply::drift::Fingerprint;
use runtime::plan::{Apply, Meta};
use runtime::projections::Claim;
use runtime::quantity;
use runtime::status::conditions::condition;

use super::observed::Observed;
use super::pinned::Pinned;
use super::{objects, server_state, tuning};
use crate::operand::job_result::Words;
use crate::operand::usage::{NEARLY_FULL, inodes_used, percent};
use crate::operand::{message, names};

pub(super) mod snapshots;

/// What stands beside: the volume of the snapshots, and that the data's grows. That one is made elsewhere, and once.
pub(super) fn aside(observed: &Observed, pinned: &Pinned) -> Vec<Apply> {
    let db = &*observed.db;
    // One that is to be taken over keeps the uid that it was made for until its data have been seen.
    let made = db.status.initialization.data_created_at.is_some();
    let data = observed.claim(&pinned.claim).filter(|claim| made && !claim.meta.deleting);
    let data = data.and_then(|claim| objects::data_claim(db, &pinned.claim, Some(claim)).unless(Some(seen(claim))));
    let snapshots = observed.claim(&names::snapshot_claim(db));
    let snapshots = objects::snapshot_claim(db, snapshots).and_then(|apply| apply.unless(snapshots.map(seen)));
    snapshots.into_iter().chain(data).collect()
}

/// By what a claim is compared with what it should be.
fn seen(claim: &Claim) -> (&Meta, Fingerprint) {
    (&claim.meta, claim.fingerprint)
}

/// The volumes, as they are. Of a claim of the user's only what the Jobs of snapshots report is known.
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

/// How full the data volume is; if the server has not been asked, as it was last. Databases and WAL are counted, and whatever
/// else takes their room or their files: the volume has as much as the smaller of what was asked for and of its file system,
/// but for what is held back, and no more than is free. Of an earlier agent's pod only what its server found at its start is known.
fn used(observed: &Observed, claim: &Claim) -> Option<i32> {
    let before = observed.db.status.volumes.iter().find(|of| of.claim.as_deref() == Some(&*claim.meta.key.name));
    let Some(answer) = observed.asked.answer() else { return before.and_then(|before| before.used_percent) };
    let capacity = quantity::whole(claim.capacity.as_deref()?).filter(|capacity| *capacity > 0)?;
    let said = started(observed).unwrap_or_default();
    let of_start = (said.volume_bytes, said.inodes.zip(said.free_inodes));
    let (volume, files) =
        answer.room.map_or(of_start, |room| (Some(room.volume_bytes), Some((room.inodes, room.free_inodes))));
    let volume = volume.map(i128::from).filter(|bytes| *bytes > 0);
    let bytes = i128::from(answer.bytes);
    let room = volume.map_or(capacity, |volume| volume.min(capacity)) - tuning::reserve(&observed.db);
    let room = answer.room.map_or(room, |now| room.min(bytes + i128::from(now.free_bytes)));
    percent(bytes, room, files.and_then(inodes_used))
}

/// What the init step of the server's pod has told of the volume.
fn started(observed: &Observed) -> Option<PgPrepareResult> {
    let prepared = observed.pod()?.running.as_deref()?.container("prepare")?;
    Words::of_container(prepared).filter(|words| words.code == 0).map(|words| words.result())
}

/// Whether the server says that its volume is full. What a Job says is about another one, or about another server's.
fn is_full(observed: &Observed, pinned: &Pinned) -> bool {
    !observed.is_ready() && server_state::ended(observed, pinned).is_some_and(|why| message::is_full(&why))
}

/// Whether the volume that kept the server from running has room again: then it need not wait until the kubelet tries again.
/// That it had less is known from the status, which has not been written since.
pub(super) fn has_grown(observed: &Observed, pinned: &Pinned) -> bool {
    let Some(claim) = observed.claim(&pinned.claim).filter(|_| is_full(observed, pinned)) else { return false };
    let told = observed.db.status.volumes.iter().find(|of| of.claim.as_deref() == Some(&*pinned.claim));
    let (now, before) = (
        claim.capacity.as_deref().and_then(quantity::whole),
        told.and_then(|told| quantity::whole(told.capacity.as_deref()?)),
    );
    now.zip(before).is_some_and(|(now, before)| now > before)
}

/// Whether the volumes are there, of the size asked for, and not full.
pub(super) fn condition_of(observed: &Observed, pinned: &Pinned, now: Timestamp) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    let tell = |holds, reason, why: String| condition(domain::STORAGE_HEALTHY, holds, reason, why, now);
    let no = |reason: SampleDBReason, why: String| tell(False, reason, why);
    let claim = observed.claim(&pinned.claim);
    let size = observed.db.spec.storage.size();
    if is_full(observed, pinned) {
        let why = format!(
            "the volume of the claim {}, which has the data and the WAL, is full, so the server does not start: raise \
             storage.size ({size}); the server starts as soon as there is room",
            pinned.claim
        );
        return no(SampleDBReason::VolumeFull, why);
    }
    match claim {
        None if observed.db.status.initialization.data_created_at.is_some() => {
            no(SampleDBReason::VolumeMissing, format!("the PVC {} of the data was deleted", pinned.claim))
        }
        None => tell(Unknown, SampleDBReason::Provisioning, "it is being made".to_owned()),
        Some(claim) if claim.meta.deleting && observed.db.status.initialization.data_created_at.is_some() => {
            let why = format!(
                "the claim {} of the data is being deleted, and is kept until its data are saved",
                pinned.claim
            );
            no(SampleDBReason::ClaimTerminating, why)
        }
        Some(claim) if claim.lost => {
            no(SampleDBReason::VolumeLost, format!("the volume of the PVC {} was deleted", pinned.claim))
        }
        Some(claim) => {
            let used = used(observed, claim).unwrap_or(0);
            let small = claim.capacity.as_deref().and_then(quantity::whole)
                < claim.requested.as_deref().and_then(quantity::whole);
            if used >= NEARLY_FULL {
                no(
                    SampleDBReason::NearlyFull,
                    format!(
                        "the volume of the claim {}, which has the data and the WAL, is {used} % full: raise storage.size \
                         ({size}) before it is full and the server stops",
                        pinned.claim
                    ),
                )
            } else if snapshots::are_leaving(observed) {
                no(SampleDBReason::SnapshotClaimTerminating, snapshots::leaving(observed))
            } else if let Some(why) = snapshots::nearly_full(observed) {
                no(SampleDBReason::NearlyFull, why)
            } else if claim.bound && (small || claim.resizing) {
                let why = format!("the volume of the claim {} is growing to what is asked for", pinned.claim);
                no(SampleDBReason::Growing, why)
            } else {
                let kept = claim.requested.as_deref().filter(|_| claim.is_larger_than(size));
                let kept = kept.map_or_else(String::new, |kept| {
                    format!("; volumes do not shrink: it keeps {kept}, though the spec asks for {size}")
                });
                tell(True, SampleDBReason::Sound, format!("the volume of the data has room{kept}"))
            }
        }
    }
}
