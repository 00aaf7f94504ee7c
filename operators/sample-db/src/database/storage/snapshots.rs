//! Pure: the volume of the snapshots: how full it is, and whether its PVC is terminating.

use runtime::plan::Apply;
use runtime::quantity;

use crate::database::objects;
use crate::database::observed::Observed;
use crate::operand::kinds::Snapshot;
use crate::operand::names;
use crate::operand::usage::{NEARLY_FULL, percent};

/// Its PVC, unless that is as desired or the user's.
pub(in crate::database) fn claim(observed: &Observed) -> Option<Apply> {
    let live = observed.claim(&names::snapshot_claim(&observed.db));
    objects::snapshot_claim(&observed.db, live)?.if_changed(live.map(|live| (&live.meta, live.fingerprint)))
}

/// Whether its PVC is terminating, kept by a pod or a finalizer for now.
pub(in crate::database) fn is_claim_terminating(observed: &Observed) -> bool {
    observed.claim(&names::snapshot_claim(&observed.db)).is_some_and(|claim| claim.meta.deleting)
}

/// What happens to the snapshots whose PVC is terminating.
pub(in crate::database) fn claim_terminating_message(observed: &Observed) -> String {
    format!(
        "the PVC {} of the snapshots is being deleted: no new pod can use it, so snapshots can be neither taken nor restored; \
         once it is deleted, the operator creates an empty one and verifies all snapshots again; to keep the files, set \
         the reclaim policy of its PersistentVolume to Retain now",
        names::snapshot_claim(&observed.db)
    )
}

/// How full it was when a snapshot's Job measured it last, in percent, and which snapshot that was. Files that are deleted later
/// count until the next one; a PVC that has grown since has that much more room.
pub(super) fn used(observed: &Observed) -> Option<(i32, &Snapshot)> {
    let name = names::snapshot_claim(&observed.db);
    let claim = observed.claim(&name);
    let is_there = |of: &&Snapshot| {
        let (location, uid) = (&of.status.location, claim.map(|claim| &*claim.meta.uid));
        location.claim.as_ref() == Some(&name) && uid.is_none_or(|uid| location.claim_uid.as_deref() == Some(uid))
    };
    let measured = observed.snapshots.iter().map(|of| &**of).filter(is_there);
    let measured = measured.filter_map(|of| of.status.volume.as_ref().map(|volume| (of, volume)));
    let (snapshot, volume) = measured.max_by_key(|(_, volume)| volume.at)?;
    let then = volume.capacity_bytes.map(i128::from);
    let now = claim.and_then(|claim| quantity::value(claim.capacity.as_deref()?));
    let used = i128::from(volume.used_bytes);
    let room = used + i128::from(volume.free_bytes);
    let room = then.map_or(room, |then| room.min(then)) + now.zip(then).map_or(0, |(now, then)| (now - then).max(0));
    percent(used, room, volume.inodes_used_percent).map(|percent| (percent, snapshot))
}

/// That it will soon be too full for another snapshot, and what to do.
pub(super) fn nearly_full(observed: &Observed) -> Option<String> {
    let (percent, snapshot) = used(observed).filter(|(percent, _)| *percent >= NEARLY_FULL)?;
    let storage = &observed.db.spec.backup.storage;
    let grow = match &storage.existing_claim {
        Some(_) => "expand that PVC".to_owned(),
        None => format!("raise backup.storage.size ({})", storage.size()),
    };
    Some(format!(
        "the volume of the PVC {}, which has the snapshots, was {percent} % full with the snapshot {}: {grow}, keep fewer by \
         backup.retention, or delete snapshots, before there is no room for another one",
        names::snapshot_claim(&observed.db),
        snapshot.meta.key.name
    ))
}
