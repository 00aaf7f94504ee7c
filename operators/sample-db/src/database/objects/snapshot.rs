//! Pure: the snapshots that the operator creates. They have no owner reference, because they outlive the database.

use api::sample_db_snapshot::SnapshotReason;
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Create, meta};
use serde_json::json;

use crate::operand::kinds::{ONLINE, SampleDB, Snapshot};

/// A snapshot of this database, kept until `retain_until`, or else by the schedule's retention.
pub(in crate::database) fn snapshot(
    db: &SampleDB,
    name: &str,
    reason: SnapshotReason,
    retain_until: Option<Timestamp>,
) -> Create {
    let mut snapshot = json!({
        "metadata": {
            "labels": meta::labels(&SampleDB::KIND, &db.meta),
            "annotations": meta::argocd_no_prune_annotations(),
        },
        "spec": { "sampleDB": &*db.meta.key.name, "sampleDBUID": db.meta.uid, "reason": reason },
    });
    if let Some(until) = retain_until {
        snapshot["spec"]["retainUntil"] = json!(until);
    }
    Create::new(Snapshot::KIND, db.meta.key.sibling(name), &snapshot)
}

/// The final snapshot of a database that is being deleted: of the server, or else of its volume.
pub(in crate::database) fn final_snapshot(
    db: &SampleDB,
    name: &str,
    retain_until: Option<Timestamp>,
    online: bool,
) -> Create {
    let mut create = snapshot(db, name, SnapshotReason::Final, retain_until);
    if online {
        create.body["metadata"]["annotations"][ONLINE] = json!("true");
    }
    create
}
