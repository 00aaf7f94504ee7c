//! What happens to a world: users, faults, time.

use api::sample_db::ADOPT;
use jiff::SignedDuration;
use runtime::cache::Projection as _;
use runtime::plan::{Key, Kind};
use runtime::projections::{Claim, ConfigMap, Pod, Service};
use runtime::testing::branching::Pass;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::collector::{KINDS, Propagation, delete};
use crate::site::{is_going, path_of, text};

/// The versions that users ask for.
pub const VERSIONS: [&str; 6] = ["13", "15.18", "15", "17", "17.12", "99"];
/// The verbs that fail.
pub const VERBS: [&str; 10] = [
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

/// Something that happens. Numbers pick one of those that are there.
#[derive(Clone, Debug)]
pub enum Step {
    /// A pass of the manager.
    Pass(Pass),
    /// Its stores see some events of one kind.
    See { kind: usize, count: usize },
    /// All else goes on.
    Tick,
    /// All goes on, without anything happening, for so many rounds.
    Calm(u8),
    /// All goes on until it is at rest.
    Rest,
    /// Minutes go by.
    Wait(u8),
    /// The spec changes.
    Edit(Edit),
    /// The containers of a pod are killed.
    Kill(usize),
    /// A signal stops the server: it runs, and does nothing.
    Stop,
    /// Somebody deletes a pod.
    Evict(usize),
    /// Somebody deletes a Secret.
    DropSecret(usize),
    /// Somebody deletes a Service or a ConfigMap.
    DropChild(usize),
    /// Somebody asks for a snapshot.
    Backup { physical: bool },
    /// Somebody deletes a snapshot.
    DropSnapshot(usize),
    /// A verb fails from a stage on.
    Fail { verb: usize, stage: u32 },
    /// The server of a release does not start.
    Crash(&'static str),
    /// The image of a release cannot be pulled.
    Missing(&'static str),
    /// Snapshots are not what was read.
    Corrupt(bool),
    /// Servers have a replication slot, or none.
    Slot(bool),
    /// The initial SQL is wrong, or another one, which is right.
    Sql { sum: &'static str, right: bool },
    /// The API server shows objects by name no longer, or again.
    Blind(bool),
    /// Nothing fails any more.
    Mend,
    /// Somebody deletes the database.
    Delete(Propagation),
    /// Somebody makes a database of the newest snapshot.
    Restore { version: &'static str },
    /// Somebody makes the database again, which takes over what was left.
    Adopt,
    /// The database's status is gone.
    LoseStatus,
    /// That of all snapshots is.
    LoseSnapshots,
    /// Somebody deletes a claim of data.
    DropClaim(usize),
    /// Somebody deletes the claim of the snapshots.
    DropSnapshots,
    /// Somebody deletes the namespace.
    End,
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

impl Bench {
    /// Lets it happen.
    pub fn take(&mut self, step: &Step) {
        self.say(&format!("{step:?}"));
        match step {
            Step::Pass(pass) => self.pass(*pass),
            Step::See { kind, count } => self.world.deliver_of(KINDS[kind % KINDS.len()], *count),
            Step::Tick => self.tick(),
            Step::Calm(rounds) => (0..*rounds).for_each(|_| self.round()),
            Step::Rest => drop((0..150).find(|_| {
                self.round();
                self.at_rest().is_ok()
            })),
            Step::Wait(minutes) => self.site.now += SignedDuration::from_mins(i64::from(*minutes)),
            Step::Edit(edit) => self.user(edit),
            Step::Kill(pod) => {
                if let Some(pod) = self.pick(Pod::KIND, *pod).and_then(|key| self.world.get(Pod::KIND, &key)) {
                    let uid = text(&pod["metadata"]["uid"]);
                    self.site.kill(&uid);
                }
            }
            Step::Stop => {
                let now = self.site.now;
                let served = self.site.server(&self.world, &self.key);
                if let Some(life) = served.and_then(|pod| self.site.lives.get_mut(&pod)) {
                    life.stopped = Some(now);
                }
            }
            Step::Evict(pod) => {
                if let Some(pod) = self.pick(Pod::KIND, *pod) {
                    delete(&mut self.world, Pod::KIND, &pod, Propagation::Background);
                }
            }
            Step::DropSecret(which) => {
                let names: Vec<String> = self.site.secrets.keys().cloned().collect();
                // Of one that goes nobody makes it again, nor of one that is yet to be taken over.
                let serves = self.object().is_some_and(|db| !is_going(db)) && !self.site.going;
                if let Some(which) = which.checked_rem(names.len()).filter(|_| serves) {
                    self.site.secrets.remove(&names[which]);
                }
            }
            Step::DropChild(which) => {
                let kind = if which % 2 == 0 { Service::KIND } else { ConfigMap::KIND };
                if let Some(key) = self.pick(kind, which / 2) {
                    self.world.remove(kind, &key);
                }
            }
            Step::Backup { physical } => self.backup(*physical),
            Step::DropSnapshot(which) => {
                let going = self.object().is_some_and(is_going);
                // What a person deletes of it, the last one included, is a person's to lose.
                if let Some(key) = self.pick(Snapshot::KIND, *which).filter(|_| !going && self.object().is_some()) {
                    delete(&mut self.world, Snapshot::KIND, &key, Propagation::Background);
                }
            }
            Step::Fail { verb, stage } => drop(self.site.faults.failing.insert(VERBS[verb % VERBS.len()], *stage)),
            Step::Crash(release) => drop(self.site.faults.crashing.insert((*release).to_owned())),
            Step::Missing(release) => drop(self.site.faults.missing.insert((*release).to_owned())),
            Step::Corrupt(corrupt) => self.site.faults.corrupts = *corrupt,
            Step::Slot(slot) => self.site.faults.slot = *slot,
            Step::Sql { sum, right } => self.site.sql = ((*sum).to_owned(), *right),
            Step::Blind(blind) => self.site.faults.blind = *blind,
            Step::Mend => self.site.faults = crate::site::Faults::default(),
            Step::Delete(propagation) => self.delete(*propagation),
            Step::Restore { version } => self.restore(version),
            Step::Adopt => self.adopt(),
            Step::LoseStatus => {
                let key = self.key.clone();
                self.world.edit(SampleDB::KIND, &key, |object| object["status"] = json!({}));
            }
            Step::LoseSnapshots => {
                let keys: Vec<Key> = self.world.all(Snapshot::KIND).map(|(key, _)| key.clone()).collect();
                for key in keys {
                    self.world.edit(Snapshot::KIND, &key, |object| object["status"] = json!({}));
                }
            }
            Step::DropClaim(which) => self.drop_claim(*which),
            Step::DropSnapshots => {
                let key = self.key.sibling(&format!("{}-snapshots", self.key.name));
                delete(&mut self.world, Claim::KIND, &key, Propagation::Background);
            }
            Step::End => self.site.going = true,
        }
    }

    fn user(&mut self, edit: &Edit) {
        let key = self.key.clone();
        self.world.edit(SampleDB::KIND, &key, |object| {
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
        if self.object().is_none_or(is_going) || self.site.going {
            return;
        }
        let name = format!("by-hand-{}", self.site.disks.fresh());
        let method = if physical { "Physical" } else { "Logical" };
        let spec = json!({ "sampleDB": &*self.key.name, "method": method });
        self.world.create(Snapshot::KIND, &self.key.sibling(&name), json!({ "metadata": {}, "spec": spec }));
    }

    fn delete(&mut self, propagation: Propagation) {
        let Some(db) = self.object().cloned() else { return };
        self.note_retained(&db);
        self.doomed = Some(text(&db["metadata"]["uid"]));
        let key = self.key.clone();
        delete(&mut self.world, SampleDB::KIND, &key, propagation);
    }

    /// A database `copy` of the newest snapshot that is Ready.
    fn restore(&mut self, version: &str) {
        let ready = self.world.all(Snapshot::KIND).filter(|(_, of)| of["status"]["phase"] == "Ready" && !is_going(of));
        let Some((key, snapshot)) = ready.max_by_key(|(_, of)| text(&of["status"]["completedAt"])) else { return };
        let (name, path) = (key.name.clone(), path_of(snapshot));
        let claim = text(&snapshot["status"]["location"]["claim"]);
        let claim = crate::site::claim_uid(&self.world, &self.key.sibling(&claim)).unwrap_or_default();
        let file = self.site.disks.volume(&claim).files.get(&path).cloned();
        let rows = file.map(|file| file.data.rows).unwrap_or_default();
        self.site.acked.insert("copy".to_owned(), rows);
        let spec = json!({ "engine": { "version": version }, "bootstrap": { "fromSnapshot": { "name": &*name } },
            "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] } });
        self.create(&self.key.sibling("copy"), &spec, &json!({}));
    }

    fn drop_claim(&mut self, which: usize) {
        let data: Vec<Key> = self
            .world
            .all(Claim::KIND)
            .map(|(key, _)| key.clone())
            .filter(|key| key.name.starts_with("data-"))
            .collect();
        let there = self.object().is_some();
        if let Some(which) = which.checked_rem(data.len()).filter(|_| there) {
            delete(&mut self.world, Claim::KIND, &data[which], Propagation::Background);
        }
    }

    fn adopt(&mut self) {
        if self.object().is_some() {
            return;
        }
        let old = self.doomed.clone().unwrap_or_default();
        let spec = json!({ "init": { "sqlFrom": [{ "configMapKeyRef": { "name": "sql", "key": "init.sql" } }] } });
        self.create(&self.key.clone(), &spec, &json!({ ADOPT: old }));
    }

    /// The database that stories are about, as it truly is.
    pub fn object(&self) -> Option<&Value> {
        self.world.get(SampleDB::KIND, &self.key)
    }

    fn pick(&self, kind: Kind, which: usize) -> Option<Key> {
        let keys: Vec<&Key> = self.world.all(kind).map(|(key, _)| key).collect();
        keys.get(which.checked_rem(keys.len())?).map(|key| (*key).clone())
    }
}
