//! Pure: where the files of a snapshot are, as its status records it.

use agent_protocol::Measurement;
use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotLocation, SnapshotVolume};
use jiff::Timestamp;
use runtime::projections::Pvc;
use runtime::quantity;

use super::observed::Observed;
use crate::operand::time;
use crate::operand::usage::inodes_used;

/// The status of a snapshot whose files were read on the present volume.
pub(crate) fn with_confirmed_files(status: SampleDBSnapshotStatus) -> SampleDBSnapshotStatus {
    let claim_uid = status.verification.claim_uid.clone().or(status.location.claim_uid);
    SampleDBSnapshotStatus { location: SnapshotLocation { claim_uid, ..status.location }, ..status }
}

/// The present status, with the UID of the PVC if that was unknown.
pub(crate) fn with_claim_uid(observed: &Observed) -> SampleDBSnapshotStatus {
    let before = observed.snapshot.status.clone();
    let claim_uid = before.location.claim_uid.or_else(|| observed.volume.uid().map(str::to_owned));
    SampleDBSnapshotStatus { location: SnapshotLocation { claim_uid, ..before.location }, ..before }
}

/// The capacity of a PVC, in bytes.
pub(crate) fn capacity(claim: &Pvc) -> Option<i64> {
    i64::try_from(quantity::value(claim.capacity.as_deref()?)?).ok()
}

/// How full the volume is, as the Job reports it; the known value if an earlier agent does not report it.
pub(crate) fn measured(observed: &Observed, measured_by_agent: &Measurement, now: Timestamp) -> Option<SnapshotVolume> {
    let Some((used_bytes, free_bytes)) = measured_by_agent.used_bytes.zip(measured_by_agent.free_bytes) else {
        return observed.snapshot.status.volume.clone();
    };
    Some(SnapshotVolume {
        at: time::rounded(now),
        used_bytes,
        free_bytes,
        inodes_used_percent: measured_by_agent.inodes.zip(measured_by_agent.free_inodes).and_then(inodes_used),
        capacity_bytes: observed.volume.capacity(),
    })
}
