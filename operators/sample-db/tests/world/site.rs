//! All that is not an object of the API's: volumes, Secrets, pods' lives, and what goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::ByteString;
use runtime::plan::Key;
use runtime::projections::{Claim, Pod, Service};
use runtime::testing::World;
use sample_db::REMADE;
use serde_json::{Value, json};

use crate::asked::Held;
use crate::data::{Disks, Rows};
use crate::guard::OWNER_UID;
use crate::kubelet::Life;
use runtime::cache::Projection as _;

/// A Secret: read by name only, so no store has it.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The uid of the database that it was made for; none for a user's own.
    pub owner: Option<String>,
    pub password: String,
    /// When it was made again for data that are older.
    pub remade: Option<String>,
    /// What else stands in it.
    pub entries: BTreeMap<String, String>,
}

impl Secret {
    /// As the API server has it.
    pub fn object(&self, key: &Key) -> Value {
        let data: BTreeMap<&String, ByteString> =
            self.entries.iter().map(|(name, value)| (name, ByteString(value.clone().into_bytes()))).collect();
        json!({ "metadata": { "namespace": &*key.namespace, "name": &*key.name,
            "labels": self.owner.as_ref().map(|owner| BTreeMap::from([(OWNER_UID, owner)])),
            "annotations": self.remade.as_ref().map(|at| BTreeMap::from([(REMADE, at)])) }, "data": data })
    }
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Releases whose images cannot be pulled.
    pub missing: BTreeSet<String>,
    /// Releases whose server does not start.
    pub crashing: BTreeSet<String>,
    /// Verbs that fail, with the stage before which they do.
    pub failing: BTreeMap<&'static str, u32>,
    /// The release that an image says it is, whatever its tag.
    pub lies: Option<String>,
    /// What no server's pod may have in it: the API server creates none that does.
    pub rejects: Option<&'static str>,
    /// The label of nodes that pods ask for, and no node has.
    pub nowhere: Option<&'static str>,
    /// Whether what is written as a snapshot is not what was read.
    pub corrupts: bool,
    /// Whether the API server shows nothing by name.
    pub blind: bool,
    /// Whether servers have a replication slot, which no snapshot contains.
    pub slot: bool,
}

/// All that is not an object of the API's.
#[derive(Clone, Default)]
pub struct Site {
    pub disks: Disks,
    pub secrets: BTreeMap<String, Secret>,
    /// By the pod's uid.
    pub lives: BTreeMap<String, Life>,
    /// StatefulSets as their controller last read them, by uid.
    pub read: BTreeMap<String, Value>,
    pub faults: Faults,
    pub now: Timestamp,
    /// The initial SQL, by its sum, and whether it is right.
    pub sql: (String, bool),
    /// Rows that were acknowledged, by database.
    pub acked: BTreeMap<String, Rows>,
    /// Databases that have been written to.
    pub written: BTreeSet<String>,
    /// Files that a Job has tried in vain to remove: nobody waits for that.
    pub left: BTreeSet<String>,
    pub violations: Vec<String>,
    /// Whether the namespace dictates the users that pods run as.
    pub assigns_uids: bool,
    /// Whether the namespace is being deleted.
    pub going: bool,
    /// Whether nobody writes.
    pub idle: bool,
    pub held: Held,
    /// The claims that pods have their snapshots on, by the pod's uid.
    pub snapshots: BTreeMap<String, String>,
    /// When Jobs began and ended, by uid.
    pub jobs: BTreeMap<String, (Timestamp, Option<Timestamp>)>,
}

impl Site {
    /// Notes what must never be.
    pub fn violation(&mut self, what: String) {
        if !self.violations.contains(&what) {
            self.violations.push(what);
        }
    }

    /// Whether the API server creates no such pod.
    pub fn rejects(&self, pod: &Value) -> bool {
        self.faults.rejects.is_some_and(|what| pod.to_string().contains(what))
    }

    /// The server that a database's Service leads to, if it takes connections: its pod's uid.
    pub fn server(&self, world: &World, db: &Key) -> Option<String> {
        let service = world.get(Service::KIND, &db.sibling(&format!("{}-rw", db.name)))?;
        let pod = text(&service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"]);
        let pod = world.get(Pod::KIND, &db.sibling(&pod))?;
        let uid = text(&pod["metadata"]["uid"]);
        self.lives.get(&uid).filter(|life| life.server.is_some() && life.stopped.is_none()).map(|_| uid)
    }

    /// The claim that a server's data are on: its uid.
    pub fn claim_of(&self, pod: &str) -> Option<String> {
        self.lives.get(pod)?.server.as_ref().map(|server| server.claim.clone())
    }

    /// Lets applications write what they can.
    pub fn write(&mut self, world: &World, db: &Key) {
        let Some(pod) = self.server(world, db).filter(|_| !self.idle) else { return };
        let password = self.secrets.get(&format!("{}-app", db.name)).map(|secret| secret.password.clone());
        let ready = self.lives.get(&pod).is_some_and(|life| life.ready);
        let Some(claim) = self.claim_of(&pod).filter(|_| ready) else { return };
        let row = self.disks.fresh();
        let Some(data) = self.disks.volume(&claim).data.as_mut() else { return };
        if !data.open || data.app.is_none() || data.app != password || data.restored.as_ref().is_some_and(|of| !of.1) {
            return;
        }
        let acked = self.acked.entry(db.name.to_string()).or_default();
        let lost: Vec<u32> = acked.difference(&data.rows).copied().collect();
        data.rows.insert(row);
        acked.insert(row);
        self.written.insert(db.name.to_string());
        if !lost.is_empty() {
            self.violation(format!("writers of {db} are in on data without the rows {lost:?}"));
        }
    }
}

/// A text, empty if it is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The uid of a claim, if it is there.
pub fn claim_uid(world: &World, key: &Key) -> Option<String> {
    world.get(Claim::KIND, key).map(|claim| text(&claim["metadata"]["uid"]))
}

/// Whether an object is being deleted.
pub fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether a finalizer keeps it.
pub fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// Under which name a snapshot's files are.
pub fn path_of(snapshot: &Value) -> String {
    text(&snapshot["status"]["location"]["path"])
}
