//! Pure: the record of latched decisions about a snapshot, in an annotation of itself. Status can be lost, and the files do not
//! show which volume they are on.

use api::sample_db::Method;
use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotCopy, SnapshotLocation, SnapshotPhase, SnapshotReason,
    SnapshotVerification, TransferPhase, VerificationPhase,
};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Effect, EventDraft, Plan};
use runtime::status::conditions::Summary;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::effects::{SnapshotPlan, write_status};
use super::observed::Observed;
use super::status;
use crate::operand::kinds::{RECORD, Snapshot};
use crate::operand::names;
use crate::operand::release::{Release, major_of, repository};

/// The prefix of the field manager.
pub(super) const MANAGER: &str = "record";

/// The decisions and findings that cannot be computed again. Whether the snapshot was verified is not part of them: it is
/// verified again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SnapshotRecord {
    claim: Option<String>,
    path: Option<String>,
    #[serde(rename = "sampleDBUID")]
    sample_db_uid: Option<String>,
    system_identifier: Option<String>,
    method: Option<Method>,
    database: Option<String>,
    image: Option<String>,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    engine_version: Option<String>,
    bytes: Option<i64>,
    size: Option<String>,
    sha256: Option<String>,
    database_names: Option<Vec<String>>,
    not_covered: Vec<String>,
}

impl SnapshotRecord {
    /// The record of a status, once a directory is latched in it.
    fn of(status: &SampleDBSnapshotStatus) -> Option<Self> {
        let status = status.clone();
        status.location.path.is_some().then_some(Self {
            claim: status.location.claim,
            path: status.location.path,
            sample_db_uid: status.sample_db_uid,
            system_identifier: status.system_identifier,
            method: status.method,
            database: status.database,
            image: status.image,
            started_at: status.started_at,
            completed_at: status.completed_at,
            engine_version: status.engine_version,
            bytes: status.bytes,
            size: status.size,
            sha256: status.sha256,
            database_names: status.database_names,
            not_covered: status.not_covered,
        })
    }

    /// The record in a snapshot's annotation.
    fn on(snapshot: &Snapshot) -> Option<Self> {
        serde_json::from_str(snapshot.annotations.get(RECORD)?).ok()
    }

    /// Whether the operator can have written the record for this snapshot. A user who may annotate the snapshot may forge one:
    /// all that it can cause is that files are read or removed that a snapshot of this name left on the snapshot volume.
    fn is_of(&self, observed: &Observed) -> bool {
        let snapshot = &*observed.snapshot;
        let uid = |part: &str| (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric());
        let path = self.path.as_deref().and_then(|path| path.strip_prefix(&*snapshot.meta.key.name)?.strip_prefix('-'));
        let asked = snapshot.spec.sample_db_uid.as_deref();
        path.is_some_and(uid)
            && self.claim.as_deref().is_some_and(|claim| is_for_snapshots(observed, claim))
            && self.started_at.is_some()
            && (self.sample_db_uid.is_some() || snapshot.spec.from_store.is_some())
            && asked.is_none_or(|asked| self.sample_db_uid.as_deref() == Some(asked))
            && (!is_awaited(observed) || self.path.as_deref() == Some(&*status::directory_name(snapshot)))
    }

    /// Whether a status lacks something of the record, or is older.
    fn is_missing_in(&self, status: &SampleDBSnapshotStatus) -> bool {
        status.location.path.is_none() || self.completed_at.is_some() && status.completed_at.is_none()
    }

    /// The image for its Jobs: the SampleDB's, because a user who may annotate the snapshot can forge the recorded one.
    /// Exception: files of another major version need the recorded image; it is used only if it has the same repository.
    fn image(&self, observed: &Observed) -> Option<String> {
        let engine = observed.db.as_ref().map(|db| &db.status.engine);
        let runs = engine.and_then(|engine| {
            let version = engine.version.as_deref().or(engine.running.as_deref()).and_then(Release::parse);
            version.map(|version| version.major).or_else(|| major_of(engine.image.as_deref()?))
        });
        let written = self.engine_version.as_deref().and_then(Release::parse).map(|version| version.major);
        let other = self.completed_at.is_some() && written.zip(runs).is_some_and(|(written, runs)| written != runs);
        let image = engine.and_then(|engine| engine.image.clone());
        let recorded = self
            .image
            .clone()
            .filter(|recorded| image.as_deref().is_none_or(|image| other && repository(image) == repository(recorded)));
        recorded.or(image)
    }

    /// The status with what is recorded. The files of a completed snapshot are verified before it counts; an incomplete one is
    /// taken with the database's image.
    fn restored(self, observed: &Observed, now: Timestamp) -> SampleDBSnapshotStatus {
        let taken = self.completed_at.is_some();
        let image = self.image(observed);
        let status = SampleDBSnapshotStatus {
            phase: Some(if taken { SnapshotPhase::Ready } else { SnapshotPhase::Running }),
            location: SnapshotLocation { claim: self.claim, path: self.path, claim_uid: None },
            verification: SnapshotVerification {
                phase: taken.then_some(VerificationPhase::Pending),
                ..SnapshotVerification::default()
            },
            image,
            sample_db_uid: self.sample_db_uid,
            system_identifier: self.system_identifier,
            method: self.method,
            database: self.database,
            started_at: self.started_at,
            completed_at: self.completed_at,
            engine_version: self.engine_version,
            bytes: self.bytes,
            size: self.size,
            sha256: self.sha256,
            database_names: self.database_names,
            not_covered: self.not_covered,
            // The verification measures it again.
            volume: None,
            job: None,
            error: None,
            // The store has the files already, which the next upload finds.
            store: SnapshotCopy {
                phase: observed.snapshot.spec.from_store.as_ref().map(|_| TransferPhase::Imported),
                ..SnapshotCopy::default()
            },
            contract: observed.snapshot.status.contract.clone(),
        };
        status::with(status, &Summary::Reconciling, RESTORED, MESSAGE, now)
    }
}

/// Reason and message of a restored status.
const RESTORED: SampleDBSnapshotReason = SampleDBSnapshotReason::StatusRestored;
const MESSAGE: &str = "the status was restored from the annotation with the record of the snapshot";

/// Whether a database is deleted as soon as this snapshot is verified. Then only files that its own Job wrote count, as the
/// directory with its own UID shows: files of an earlier snapshot lack later rows.
fn is_awaited(observed: &Observed) -> bool {
    observed.snapshot.spec.reason == SnapshotReason::Final && observed.source().is_some()
}

/// Whether snapshots of the database are on that PVC: by its name, or by fields that only the operator writes.
fn is_for_snapshots(observed: &Observed, claim: &str) -> bool {
    let of_db = observed.db.as_ref().map(|db| names::snapshot_claim(db));
    let others = observed.siblings.iter().filter_map(|other| other.status.location.claim.as_deref());
    claim == names::own_snapshot_claim_of(&observed.snapshot.spec.sample_db)
        || of_db.as_deref() == Some(claim)
        || others.into_iter().any(|other| other == claim)
}

/// Restores a status from the record, before anything else is decided.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let record =
        SnapshotRecord::on(&observed.snapshot).filter(|record| record.is_missing_in(&observed.snapshot.status))?;
    let status = Some(record).filter(|record| record.is_of(observed))?.restored(observed, now);
    let event = EventDraft { warning: true, reason: RESTORED.into(), message: MESSAGE.to_owned() };
    Some(Plan { events_after_status: vec![event], ..write_status(status) })
}

/// Records latched decisions that are not recorded yet, with a field manager that owns nothing else.
pub(super) fn keep(snapshot: &Snapshot) -> Option<Effect> {
    // Until it is complete, an import can be repeated: it finds what it has downloaded.
    let lasts = snapshot.spec.from_store.is_none() || snapshot.status.completed_at.is_some();
    let record = SnapshotRecord::of(&snapshot.status).filter(|_| lasts)?;
    if SnapshotRecord::on(snapshot).as_ref() == Some(&record) {
        return None;
    }
    let text = serde_json::to_string(&record).unwrap_or_default();
    let body = json!({ "metadata": { "annotations": { RECORD: text } } });
    Some(Effect::Apply(Apply::part(Snapshot::KIND, &snapshot.meta, MANAGER, &body)))
}
