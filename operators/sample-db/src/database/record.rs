//! Pure: the record of what is latched about a database, which its data claims bear: volumes are the truth, status is a cache.

use api::sample_db::{EngineStatus, InitializationStatus, RestoreStatus, SampleDBStatus, StorageStatus, UpgradeStatus};
use runtime::projections::Claim;
use serde::{Deserialize, Serialize};

use crate::operand::kinds::SampleDB;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// The field manager's prefix.
pub(crate) const MANAGER: &str = "data";

/// Annotation of a data claim with the record.
pub(super) const RECORD: &str = "multi-operator.example.com/record";
/// Annotation of a data claim that was retained on purpose: it is taken over only where a person says so.
pub(super) const RETAINED: &str = "multi-operator.example.com/retained";

/// What was decided for a database, or learned of its data, and cannot be computed again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Facts {
    server: Option<String>,
    pub(super) system_identifier: Option<String>,
    engine: EngineStatus,
    pub(super) storage: StorageStatus,
    pub(super) initialization: InitializationStatus,
    pub(super) restore: RestoreStatus,
    upgrade: UpgradeStatus,
}

impl Facts {
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

    /// Whether `status` lacks something of it that is never taken back once it is latched.
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

/// The record that a claim bears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// That of the status that was recorded: of two records the higher one holds.
    pub(super) revision: i64,
    /// The uid of the database.
    pub(super) owner: String,
    /// The database that applications use.
    pub(super) database: String,
    #[serde(flatten)]
    pub(super) facts: Facts,
}

impl Record {
    /// The record of a database, once anything is latched.
    pub(super) fn of(db: &SampleDB) -> Option<Self> {
        is_latched(&db.status).then(|| Self {
            revision: db.status.revision.unwrap_or(1),
            owner: db.meta.uid.to_string(),
            database: names::database(db).to_owned(),
            facts: Facts::of(&db.status),
        })
    }

    /// The record that a claim bears, if it can be read.
    pub(super) fn on(claim: &Claim) -> Option<Self> {
        serde_json::from_str(claim.annotations.get(RECORD)?).ok()
    }

    /// As a claim bears it.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether `status` has lost something of what is recorded, or is of an earlier time: restored from a backup of objects,
    /// for example. One that bears no number was written by a manager that knew of none.
    pub(super) fn is_ahead_of(&self, status: &SampleDBStatus) -> bool {
        let older = status.revision.is_some_and(|revision| revision < self.revision);
        !is_latched(status) || older || self.facts.is_missing_in(status)
    }

    /// The status with what is recorded.
    pub(super) fn restored(self, status: &SampleDBStatus) -> SampleDBStatus {
        let Facts { server, system_identifier, engine, storage, initialization, restore, upgrade } = self.facts;
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

/// Whose the volume of a claim is: by its label, and if somebody has taken that away, by its record.
pub(super) fn owner(claim: &Claim) -> Option<String> {
    claim.labels.get(OWNER_UID).cloned().or_else(|| Record::on(claim).map(|record| record.owner))
}

/// Whether a claim bears a record of that very database system, under whichever uid the claim has come back.
pub(super) fn is_of_system(claim: &Claim, status: &SampleDBStatus) -> bool {
    let known = status.system_identifier.as_ref();
    known.is_some() && Record::on(claim).is_some_and(|record| record.facts.system_identifier.as_ref() == known)
}

/// Whether anything has been decided for the database.
pub(super) fn is_latched(status: &SampleDBStatus) -> bool {
    status.engine.image.is_some()
}

/// `after` with its number: the next one if anything of it is other than before.
pub(super) fn revised(before: &SampleDBStatus, after: SampleDBStatus) -> SampleDBStatus {
    let changed = Facts::of(before) != Facts::of(&after);
    let revision = before.revision.unwrap_or(if is_latched(before) { 1 } else { 0 }) + i64::from(changed);
    SampleDBStatus { revision: Some(revision), ..after }
}
