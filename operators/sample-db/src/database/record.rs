//! Pure: the record of what is latched about a database. Its data PVCs bear it: volumes are the source of truth, status is a
//! cache.

use api::sample_db::{
    DatabaseStorageStatus, EngineStatus, InitializationStatus, RestoreStatus, SampleDBStatus, UpgradeStatus,
};
use runtime::projections::Pvc;
use serde::{Deserialize, Serialize};

use crate::operand::kinds::SampleDB;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// The field manager's prefix.
pub(crate) const MANAGER: &str = "data";

/// Annotation of a data PVC with the record.
pub(super) const RECORD: &str = "multi-operator.example.com/record";
/// Annotation of a data PVC that was retained on purpose: it is adopted only by annotation.
pub(super) const RETAINED: &str = "multi-operator.example.com/retained";

/// What was decided for a database, or learned about its data, and cannot be computed again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RecordedFacts {
    server: Option<String>,
    pub(super) system_identifier: Option<String>,
    engine: EngineStatus,
    pub(super) storage: DatabaseStorageStatus,
    pub(super) initialization: InitializationStatus,
    pub(super) restore: RestoreStatus,
    upgrade: UpgradeStatus,
}

impl RecordedFacts {
    fn of(status: &SampleDBStatus) -> Self {
        Self {
            server: status.server.clone(),
            system_identifier: status.system_identifier.clone(),
            engine: status.engine.clone(),
            storage: status.storage.clone(),
            initialization: status.initialization.clone(),
            restore: status.restore.clone(),
            upgrade: status.upgrade.clone(),
        }
    }

    /// Whether `status` lacks something that is never removed once it is latched.
    fn is_missing_in(&self, status: &SampleDBStatus) -> bool {
        let (initialization, before) = (&self.initialization, &status.initialization);
        let latched = [
            (self.server.is_some(), status.server.is_some()),
            (self.system_identifier.is_some(), status.system_identifier.is_some()),
            (self.engine.image.is_some(), status.engine.image.is_some()),
            (self.storage.claim.is_some(), status.storage.claim.is_some()),
            (initialization.data_created_at.is_some(), before.data_created_at.is_some()),
            (initialization.completed_at.is_some(), before.completed_at.is_some()),
        ];
        latched.into_iter().any(|(recorded, there)| recorded && !there)
    }
}

/// The record on a PVC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VolumeRecord {
    /// The revision of the recorded status: of two records the higher one holds.
    pub(super) revision: i64,
    /// The UID of the database.
    pub(super) owner: String,
    /// The database that applications use.
    pub(super) database: String,
    #[serde(flatten)]
    pub(super) facts: RecordedFacts,
}

impl VolumeRecord {
    /// The record of a database, once anything is latched.
    pub(super) fn of(db: &SampleDB) -> Option<Self> {
        is_latched(&db.status).then(|| Self {
            revision: db.status.revision.unwrap_or(1),
            owner: db.meta.uid.to_string(),
            database: names::database(db).to_owned(),
            facts: RecordedFacts::of(&db.status),
        })
    }

    /// The record on a PVC, if it can be parsed.
    pub(super) fn on(claim: &Pvc) -> Option<Self> {
        serde_json::from_str(claim.annotations.get(RECORD)?).ok()
    }

    /// The annotation's value.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether `status` lost something that is recorded, or is older: for example restored from a backup of objects. A status
    /// without a revision was written by a manager that had none.
    pub(super) fn is_ahead_of(&self, status: &SampleDBStatus) -> bool {
        let older = status.revision.is_some_and(|revision| revision < self.revision);
        !is_latched(status) || older || self.facts.is_missing_in(status)
    }

    /// The status with what is recorded.
    pub(super) fn restored(self, status: &SampleDBStatus) -> SampleDBStatus {
        let RecordedFacts { server, system_identifier, engine, storage, initialization, restore, upgrade } = self.facts;
        SampleDBStatus {
            server,
            system_identifier,
            engine,
            storage,
            initialization,
            restore,
            upgrade,
            revision: Some(self.revision),
            ..status.clone()
        }
    }
}

/// Whose the volume of a PVC is: by its label, or by its record if the label was removed.
pub(super) fn owner(claim: &Pvc) -> Option<String> {
    claim.labels.get(OWNER_UID).cloned().or_else(|| VolumeRecord::on(claim).map(|record| record.owner))
}

/// Whether a PVC bears a record of that database system, whatever UID the PVC has now.
pub(super) fn is_of_system(claim: &Pvc, status: &SampleDBStatus) -> bool {
    let known = status.system_identifier.as_ref();
    known.is_some() && VolumeRecord::on(claim).is_some_and(|record| record.facts.system_identifier.as_ref() == known)
}

/// Whether anything was decided for the database.
pub(super) fn is_latched(status: &SampleDBStatus) -> bool {
    status.engine.image.is_some()
}

/// `after` with its revision: the next one if anything that is recorded changed.
pub(super) fn revised(before: &SampleDBStatus, after: SampleDBStatus) -> SampleDBStatus {
    let changed = RecordedFacts::of(before) != RecordedFacts::of(&after);
    let revision = before.revision.unwrap_or(if is_latched(before) { 1 } else { 0 }) + i64::from(changed);
    SampleDBStatus { revision: Some(revision), ..after }
}
