//! An administrator, who reads conditions and does what they ask for.

use api::sample_db::{ACCEPT_FINAL_SNAPSHOT, ADOPT, SKIP_FINAL_SNAPSHOT, SampleDBReason};
use runtime::cache::Projection as _;
use runtime::projections::Job;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::collector::{Propagation, delete};
use crate::infrastructure::{is_terminating, path_of, text};
use crate::settle::{condition, is};
use crate::simulation::Simulation;

impl Simulation {
    /// The administrator does what stalled databases ask for.
    pub fn act_as_administrator(&mut self) {
        for key in self.databases() {
            let Some(db) = self.cluster.get(SampleDB::KIND, &key).cloned() else { continue };
            if has_lost_its_pvc(&db) && !is_terminating(&db) {
                self.log("the administrator deletes a database that has lost its PVC");
                self.note_retained(&db);
                delete(&mut self.cluster, SampleDB::KIND, &key, Propagation::Background);
                continue;
            }
            let ready = condition(&db, "Ready");
            let (reason, message) = (text(&ready["reason"]), text(&ready["message"]));
            let blocked = text(&condition(&db, "DeletionBlocked")["reason"]);
            let mut edit = |change: fn(&mut Value)| self.cluster.edit(SampleDB::KIND, &key, change);
            match &*reason {
                "VersionUnknown" if !is(&db, "Ready") => edit(|db| db["spec"]["engine"]["version"] = Value::Null),
                "StatusLost" => edit(claim_data),
                "VolumeToAdoptMissing" => edit(give_up_volume),
                "ServerFails" if message.contains("configuration") => {
                    edit(|db| db["spec"]["engine"]["parameters"] = json!({}));
                }
                "InitFailed" if db["spec"]["init"]["sqlFrom"].is_null() => {
                    self.cluster.remove(Job::KIND, &key.sibling(&format!("{}-init", key.name)));
                }
                "InitFailed" => self.infra.sql = ("corrected".to_owned(), true),
                "DeletionBlocked" if blocked == "ClaimTerminating" => edit(skip_final_snapshot),
                "DeletionBlocked" if blocked == "StatusLost" => {
                    let tried = db["metadata"]["annotations"][ADOPT].is_string();
                    edit(if tried { skip_final_snapshot } else { claim_data });
                }
                "DeletionBlocked" if blocked == "FinalSnapshotIncomplete" => {
                    edit(|db| {
                        let snapshot = db["status"]["deletion"]["finalSnapshot"].clone();
                        db["metadata"]["annotations"][ACCEPT_FINAL_SNAPSHOT] = snapshot;
                    });
                }
                "DeletionBlocked" => {
                    let snapshot = self.cluster.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
                    if let Some((snapshot, path)) = snapshot.map(|(key, of)| (key.clone(), path_of(of))) {
                        // The files of a final snapshot are kept, unless it says otherwise.
                        self.infra.abandoned_files.insert(path);
                        delete(&mut self.cluster, Snapshot::KIND, &snapshot, Propagation::Background);
                    }
                }
                _ => continue,
            }
            self.log(&format!("the administrator resolves {reason}"));
        }
    }
}

/// The administrator confirms that data without a record belongs to the database.
fn claim_data(db: &mut Value) {
    db["metadata"]["annotations"][ADOPT] = db["metadata"]["uid"].clone();
    let version = &mut db["spec"]["engine"]["version"];
    if version.is_null() {
        *version = json!("17");
    }
}

/// The administrator accepts an empty database instead of a volume that does not exist.
fn give_up_volume(db: &mut Value) {
    if let Some(annotations) = db["metadata"]["annotations"].as_object_mut() {
        annotations.remove(ADOPT);
    }
}

/// The administrator gives up the data.
fn skip_final_snapshot(db: &mut Value) {
    db["metadata"]["annotations"][SKIP_FINAL_SNAPSHOT] = db["metadata"]["name"].clone();
}

/// Whether no pod can use the data again, or it was lost before any client could connect.
fn has_lost_its_pvc(db: &Value) -> bool {
    let reason = &condition(db, "Stalled")["reason"];
    let configured = !db["status"]["initialization"]["completedAt"].is_null();
    let has_reason = |of: SampleDBReason| *reason == *of.as_str();
    has_reason(SampleDBReason::ClaimTerminating) || has_reason(SampleDBReason::DataMissing) && !configured
}
