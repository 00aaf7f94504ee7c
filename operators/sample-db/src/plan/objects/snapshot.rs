//! The snapshots that the operator itself asks for. They have no owner: they outlive the database.

use api::sample_db_snapshot::SnapshotReason;
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Create, meta};
use serde_json::json;

use crate::{SampleDB, Snapshot};

/// A snapshot of this very database; until when it is kept, if not by the schedule's retention.
pub(in crate::plan) fn snapshot(
    db: &SampleDB,
    name: &str,
    reason: SnapshotReason,
    retain_until: Option<Timestamp>,
) -> Create {
    let mut snapshot = json!({
        "metadata": {
            "labels": meta::labels(&SampleDB::KIND, &db.meta),
            "annotations": meta::not_for_pruning(),
        },
        "spec": { "sampleDB": &*db.meta.key.name, "sampleDBUID": db.meta.uid, "reason": reason },
    });
    if let Some(until) = retain_until {
        snapshot["spec"]["retainUntil"] = json!(until);
    }
    Create::new(Snapshot::KIND, db.meta.key.sibling(name), &snapshot)
}

/// Annotation of a final snapshot that is taken of the running server.
pub(crate) const ONLINE: &str = "multi-operator.example.com/online";

/// The last snapshot of a database that is being deleted: of the server, or else of its volume.
pub(in crate::plan) fn final_snapshot(
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
