//! What happens in a simulation: actions of users, faults, time.

use api::sample_db::ADOPT;
use jiff::SignedDuration;
use runtime::cache::Projection as _;
use runtime::plan::{Key, ResourceKind};
use runtime::projections::{ConfigMap, Pod, Pvc, Service};
use runtime::testing::fault_injection::ReconcileFaults;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::collector::{KINDS, Propagation, delete};
use crate::infrastructure::{is_terminating, path_of, text};
use crate::simulation::Simulation;

/// The versions that users request.
pub const VERSIONS: [&str; 6] = ["13", "15.18", "15", "17", "17.12", "99"];
/// The commands that may fail.
pub const COMMANDS: [&str; 10] = [
    "pg-init",
    "pg-dump",
    "pg-verify",
    "pg-restore",
    "pg-prune",
    "pg-version",
    "pg-survey",
    "pg-upgrade",
    "pg-finish",
    "pg-basebackup",
];

/// Something that happens. Numbers select one of the existing objects.
#[derive(Clone, Debug)]
pub enum Step {
    /// The manager reconciles.
    Reconcile(ReconcileFaults),
    /// Its stores get some events of one kind.
    DeliverEvents { kind: usize, count: usize },
    /// Everything but the operator advances.
    Tick,
    /// Everything advances for so many rounds.
    Rounds(u8),
    /// Everything advances until it is settled.
    UntilSettled,
    /// Minutes pass.
    Wait(u8),
    /// The spec changes.
    Edit(Edit),
    /// The containers of a pod are killed.
    Kill(usize),
    /// A signal stops the server: it runs, and does nothing.
    StopServer,
    /// A user deletes a pod.
    DeletePod(usize),
    /// A user deletes a Secret.
    DeleteSecret(usize),
    /// A user deletes a Service or a ConfigMap.
    DeleteChild(usize),
    /// A user creates a snapshot.
    CreateSnapshot { physical: bool },
    /// A user deletes a snapshot.
    DeleteSnapshot(usize),
    /// A command fails from a stage on.
    Fail { command: usize, stage: u32 },
    /// The server of a release does not start.
    Crash(&'static str),
    /// The image of a release cannot be pulled.
    Missing(&'static str),
    /// The files of snapshots differ from what was read.
    Corrupt(bool),
    /// Servers have a replication slot, or none.
    Slot(bool),
    /// The initial SQL becomes incorrect, or another one that is correct.
    Sql { sum: &'static str, right: bool },
    /// Reads of the API server by name fail, or work again.
    FailReads(bool),
    /// All faults end.
    EndFaults,
    /// A user deletes the database.
    Delete(Propagation),
    /// A user creates a database from the newest snapshot.
    Restore { version: &'static str },
    /// A user creates the database again, which adopts what was left.
    Adopt,
    /// The database's status is lost.
    LoseStatus,
    /// The status of all snapshots is lost.
    LoseSnapshotStatus,
    /// A user deletes a PVC with data.
    DeleteDataPvc(usize),
    /// A user deletes the PVC of the snapshots.
    DeleteSnapshotPvc,
    /// A user deletes the namespace.
    DeleteNamespace,
}

/// A change of the spec.
#[derive(Clone, Debug)]
pub enum Edit {
    Version(usize),
    NoVersion,
    Parameter(usize),
    Size(bool),
    Restart(u8),
    Node(&'static str),
    Paused(bool),
    Schedule(usize),
    Policy(&'static str),
    Manual(bool),
    Skip,
}

impl Simulation {
    /// Performs a step.
    pub fn take(&mut self, step: &Step) {
        self.log(&format!("{step:?}"));
        match step {
            Step::Reconcile(pass) => self.reconcile_all(*pass),
            Step::DeliverEvents { kind, count } => self.cluster.deliver_events_of(KINDS[kind % KINDS.len()], *count),
            Step::Tick => self.tick(),
            Step::Rounds(rounds) => (0..*rounds).for_each(|_| self.round()),
            Step::UntilSettled => drop((0..150).find(|_| {
                self.round();
                self.at_rest().is_ok()
            })),
            Step::Wait(minutes) => self.infra.now += SignedDuration::from_mins(i64::from(*minutes)),
            Step::Edit(edit) => self.user(edit),
            Step::Kill(pod) => {
                if let Some(pod) = self.pick(Pod::KIND, *pod).and_then(|key| self.cluster.get(Pod::KIND, &key)) {
                    let uid = text(&pod["metadata"]["uid"]);
                    self.infra.kill(&uid);
                }
            }
            Step::StopServer => {
                let now = self.infra.now;
                let served = self.infra.server(&self.cluster, &self.key);
                if let Some(state) = served.and_then(|pod| self.infra.pod_states.get_mut(&pod)) {
                    state.stopped = Some(now);
                }
            }
            Step::DeletePod(pod) => {
                if let Some(pod) = self.pick(Pod::KIND, *pod) {
                    delete(&mut self.cluster, Pod::KIND, &pod, Propagation::Background);
                }
            }
            Step::DeleteSecret(which) => {
                let names: Vec<String> = self.infra.secrets.keys().cloned().collect();
                // The Secret of a database that is deleted, or has yet to be adopted, is not generated again.
                let serves = self.object().is_some_and(|db| !is_terminating(db)) && !self.infra.namespace_terminating;
                if let Some(which) = which.checked_rem(names.len()).filter(|_| serves) {
                    self.infra.secrets.remove(&names[which]);
                }
            }
            Step::DeleteChild(which) => {
                let kind = if which % 2 == 0 { Service::KIND } else { ConfigMap::KIND };
                if let Some(key) = self.pick(kind, which / 2) {
                    self.cluster.remove(kind, &key);
                }
            }
            Step::CreateSnapshot { physical } => self.backup(*physical),
            Step::DeleteSnapshot(which) => {
                let going = self.object().is_some_and(is_terminating);
                // What a user deletes, including the final snapshot, is lost on purpose.
                if let Some(key) = self.pick(Snapshot::KIND, *which).filter(|_| !going && self.object().is_some()) {
                    delete(&mut self.cluster, Snapshot::KIND, &key, Propagation::Background);
                }
            }
            Step::Fail { command, stage } => {
                self.infra.faults.failing.insert(COMMANDS[command % COMMANDS.len()], *stage);
            }
            Step::Crash(release) => drop(self.infra.faults.crashing.insert((*release).to_owned())),
            Step::Missing(release) => drop(self.infra.faults.missing.insert((*release).to_owned())),
            Step::Corrupt(corrupt) => self.infra.faults.corrupts = *corrupt,
            Step::Slot(slot) => self.infra.faults.slot = *slot,
            Step::Sql { sum, right } => self.infra.sql = ((*sum).to_owned(), *right),
            Step::FailReads(reads_fail) => self.infra.faults.reads_fail = *reads_fail,
            Step::EndFaults => self.infra.faults = crate::infrastructure::Faults::default(),
            Step::Delete(propagation) => self.delete(*propagation),
            Step::Restore { version } => self.restore(version),
            Step::Adopt => self.adopt(),
            Step::LoseStatus => {
                let key = self.key.clone();
                self.cluster.edit(SampleDB::KIND, &key, |object| object["status"] = json!({}));
            }
            Step::LoseSnapshotStatus => {
                let keys: Vec<Key> = self.cluster.all(Snapshot::KIND).map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.cluster.edit(Snapshot::KIND, &key, |object| object["status"] = json!({}));
                }
            }
            Step::DeleteDataPvc(which) => self.drop_claim(*which),
            Step::DeleteSnapshotPvc => {
                let key = self.key.sibling(&format!("{}-snapshots", self.key.name));
                delete(&mut self.cluster, Pvc::KIND, &key, Propagation::Background);
            }
            Step::DeleteNamespace => self.infra.namespace_terminating = true,
        }
    }

    fn user(&mut self, edit: &Edit) {
        let key = self.key.clone();
        self.cluster.edit(SampleDB::KIND, &key, |object| {
            let spec = &mut object["spec"];
            match edit {
                Edit::Version(version) => spec["engine"]["version"] = json!(VERSIONS[version % VERSIONS.len()]),
                Edit::NoVersion => spec["engine"]["version"] = Value::Null,
                Edit::Parameter(which) => {
                    let all = [
                        json!({}),
                        json!({ "work_mem": "8MB" }),
                        json!({ "max_connections": "50" }),
                        json!({ "work_mem": "bad" }),
                    ];
                    spec["engine"]["parameters"] = all[which % all.len()].clone();
                }
                Edit::Size(large) => spec["storage"]["size"] = json!(if *large { "20Gi" } else { "10Gi" }),
                Edit::Restart(at) => {
                    object["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = json!(at.to_string());
                }
                Edit::Node(label) => spec["nodeSelector"] = json!({ "disk": label }),
                Edit::Paused(paused) => spec["paused"] = json!(paused),
                Edit::Schedule(which) => {
                    let all = ["0 2 * * *", "*/10 * * * *", "30 * * * *"];
                    spec["backup"]["schedule"] = json!(all[which % all.len()]);
                    spec["backup"]["retention"] = json!({ "keepLast": 2 });
                }
                Edit::Policy(policy) => spec["deletion"]["policy"] = json!(policy),
                Edit::Manual(manual) => spec["upgrade"]["policy"] = json!(if *manual { "Manual" } else { "Auto" }),
                Edit::Skip => {
                    object["metadata"]["annotations"][api::sample_db::SKIP_FINAL_SNAPSHOT] = json!(&*key.name);
                }
            }
        });
    }

    fn backup(&mut self, physical: bool) {
        if self.object().is_none_or(is_terminating) || self.infra.namespace_terminating {
            return;
        }
        let name = format!("by-hand-{}", self.infra.disks.next_number());
        let method = if physical { "Physical" } else { "Logical" };
        let spec = json!({ "sampleDB": &*self.key.name, "method": method });
        self.cluster.create(Snapshot::KIND, &self.key.sibling(&name), json!({ "metadata": {}, "spec": spec }));
    }

    fn delete(&mut self, propagation: Propagation) {
        let Some(db) = self.object().cloned() else { return };
        self.note_retained(&db);
        self.deleted_uid = Some(text(&db["metadata"]["uid"]));
        let key = self.key.clone();
        delete(&mut self.cluster, SampleDB::KIND, &key, propagation);
    }

    /// Creates a database `copy` from the newest snapshot that is Ready.
    fn restore(&mut self, version: &str) {
        let ready =
            self.cluster.all(Snapshot::KIND).filter(|(_, of)| of["status"]["phase"] == "Ready" && !is_terminating(of));
        let Some((key, snapshot)) = ready.max_by_key(|(_, of)| text(&of["status"]["completedAt"])) else { return };
        let (name, path) = (key.name.clone(), path_of(snapshot));
        let claim = text(&snapshot["status"]["location"]["claim"]);
        let claim = crate::infrastructure::claim_uid(&self.cluster, &self.key.sibling(&claim)).unwrap_or_default();
        let file = self.infra.disks.volume(&claim).files.get(&path).cloned();
        let rows = file.map(|file| file.data.rows).unwrap_or_default();
        self.infra.acked.insert("copy".to_owned(), rows);
        let spec = json!({ "engine": { "version": version }, "bootstrap": { "fromSnapshot": { "name": &*name } },
            "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] } });
        self.create(&self.key.sibling("copy"), &spec, &json!({}));
    }

    fn drop_claim(&mut self, which: usize) {
        let pvcs = self.cluster.all(Pvc::KIND).map(|(key, _)| key.clone());
        let data: Vec<Key> = pvcs.filter(|key| key.name.starts_with("data-")).collect();
        let there = self.object().is_some();
        if let Some(which) = which.checked_rem(data.len()).filter(|_| there) {
            delete(&mut self.cluster, Pvc::KIND, &data[which], Propagation::Background);
        }
    }

    fn adopt(&mut self) {
        if self.object().is_some() {
            return;
        }
        let old = self.deleted_uid.clone().unwrap_or_default();
        let spec = json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] } });
        self.create(&self.key.clone(), &spec, &json!({ ADOPT: old }));
    }

    /// The database that scenarios are about, as the API server has it.
    pub fn object(&self) -> Option<&Value> {
        self.cluster.get(SampleDB::KIND, &self.key)
    }

    fn pick(&self, kind: ResourceKind, which: usize) -> Option<Key> {
        let keys: Vec<&Key> = self.cluster.all(kind).map(|(key, _)| key).collect();
        keys.get(which.checked_rem(keys.len())?).map(|key| (*key).clone())
    }
}
