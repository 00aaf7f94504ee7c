//! Somebody reads conditions, and does what they ask for.

use api::sample_db::{ACCEPT_FINAL_SNAPSHOT, ADOPT, SKIP_FINAL_SNAPSHOT, SampleDBReason};
use runtime::cache::Projection as _;
use runtime::projections::Job;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::collector::{Propagation, delete};
use crate::settle::{condition, is};
use crate::site::{is_going, path_of, text};

impl Bench {
    /// Somebody does what a database that is stalled asks for.
    pub fn person(&mut self) {
        for key in self.databases() {
            let Some(db) = self.world.get(SampleDB::KIND, &key).cloned() else { continue };
            if has_lost_its_claim(&db) && !is_going(&db) {
                self.say("a person deletes what has lost its claim");
                self.note_retained(&db);
                delete(&mut self.world, SampleDB::KIND, &key, Propagation::Background);
                continue;
            }
            let ready = condition(&db, "Ready");
            let (reason, message) = (text(&ready["reason"]), text(&ready["message"]));
            let blocked = text(&condition(&db, "DeletionBlocked")["reason"]);
            let mut edit = |change: fn(&mut Value)| self.world.edit(SampleDB::KIND, &key, change);
            match &*reason {
                "VersionUnknown" if !is(&db, "Ready") => edit(|db| db["spec"]["engine"]["version"] = Value::Null),
                "StatusLost" => edit(take_back),
                "VolumeToAdoptMissing" => edit(forget_volume),
                "ServerFails" if message.contains("configuration") => {
                    edit(|db| db["spec"]["engine"]["parameters"] = json!({}));
                }
                "InitFailed" if db["spec"]["init"]["sqlFrom"].is_null() => {
                    self.world.remove(Job::KIND, &key.sibling(&format!("{}-init", key.name)));
                }
                "InitFailed" => self.site.sql = ("mended".to_owned(), true),
                "DeletionBlocked" if blocked == "ClaimTerminating" => edit(give_up),
                "DeletionBlocked" if blocked == "StatusLost" => {
                    let tried = db["metadata"]["annotations"][ADOPT].is_string();
                    edit(if tried { give_up } else { take_back });
                }
                "DeletionBlocked" if blocked == "FinalSnapshotIncomplete" => {
                    edit(|db| {
                        let last = db["status"]["deletion"]["finalSnapshot"].clone();
                        db["metadata"]["annotations"][ACCEPT_FINAL_SNAPSHOT] = last;
                    });
                }
                "DeletionBlocked" => {
                    let last = self.world.all(Snapshot::KIND).find(|(_, of)| of["spec"]["reason"] == "Final");
                    if let Some((last, path)) = last.map(|(key, of)| (key.clone(), path_of(of))) {
                        // Those of a last one are kept, unless it says otherwise.
                        self.site.left.insert(path);
                        delete(&mut self.world, Snapshot::KIND, &last, Propagation::Background);
                    }
                }
                _ => continue,
            }
            self.say(&format!("a person mends {reason}"));
        }
    }
}

/// Somebody says that data of which nothing tells any more are the database's.
fn take_back(db: &mut Value) {
    db["metadata"]["annotations"][ADOPT] = db["metadata"]["uid"].clone();
    let version = &mut db["spec"]["engine"]["version"];
    if version.is_null() {
        *version = json!("17");
    }
}

/// Somebody has an empty database instead of a volume that is not there.
fn forget_volume(db: &mut Value) {
    if let Some(annotations) = db["metadata"]["annotations"].as_object_mut() {
        annotations.remove(ADOPT);
    }
}

/// Somebody lets the data go.
fn give_up(db: &mut Value) {
    db["metadata"]["annotations"][SKIP_FINAL_SNAPSHOT] = db["metadata"]["name"].clone();
}

/// Whether no pod can come back to its data any more, or these are gone before anybody was let in.
fn has_lost_its_claim(db: &Value) -> bool {
    let reason = &condition(db, "Stalled")["reason"];
    let configured = !db["status"]["initialization"]["completedAt"].is_null();
    let told = |of: SampleDBReason| *reason == *of.as_str();
    told(SampleDBReason::ClaimTerminating) || told(SampleDBReason::DataMissing) && !configured
}
