//! Pure: where the files of a snapshot are, as its status records it.

use agent_protocol::Measurement;
use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotLocation, SnapshotVolume};
use jiff::Timestamp;
use runtime::projections::Claim;
use runtime::quantity;

use super::observed::Observed;
use crate::operand::time;
use crate::operand::usage::inodes_used;

/// The status of one whose files have been read on the volume that there is now.
pub(crate) fn with_files(status: SampleDBSnapshotStatus) -> SampleDBSnapshotStatus {
    let claim_uid = status.verification.claim_uid.clone().or(status.location.claim_uid);
    SampleDBSnapshotStatus { location: SnapshotLocation { claim_uid, ..status.location }, ..status }
}

/// As it is, with the uid of the claim that its files are on, if that was not known.
pub(crate) fn found(observed: &Observed) -> SampleDBSnapshotStatus {
    let before = observed.snapshot.status.clone();
    let claim_uid = before.location.claim_uid.or_else(|| observed.volume.uid().map(str::to_owned));
    SampleDBSnapshotStatus { location: SnapshotLocation { claim_uid, ..before.location }, ..before }
}

/// The capacity of a claim, in bytes.
pub(crate) fn capacity(claim: &Claim) -> Option<i64> {
    i64::try_from(quantity::whole(claim.capacity.as_deref()?)?).ok()
}

/// How full the volume is, as its Job reports it; as it was known, where an earlier agent does not.
pub(crate) fn measured(observed: &Observed, said: &Measurement, now: Timestamp) -> Option<SnapshotVolume> {
    let Some((used_bytes, free_bytes)) = said.used_bytes.zip(said.free_bytes) else {
        return observed.snapshot.status.volume.clone();
    };
    Some(SnapshotVolume {
        at: time::second(now),
        used_bytes,
        free_bytes,
        inodes_used_percent: said.inodes.zip(said.free_inodes).and_then(inodes_used),
        capacity_bytes: observed.volume.capacity(),
    })
}
