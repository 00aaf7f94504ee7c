//! Everything that is not an object of the API server: volumes, Secrets, the state of pods, and faults.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::ByteString;
use runtime::plan::Key;
use runtime::projections::{Pod, Pvc, Service};
use runtime::testing::FakeCluster;
use sample_db::PASSWORD_REGENERATED_AT;
use serde_json::{Value, json};

use crate::data::{Disks, Rows};
use crate::invariants::OWNER_UID;
use crate::kubelet::PodState;
use crate::postgres::ManagerMemory;
use runtime::cache::Projection as _;

/// A Secret. It is read by name only, so no store has it.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The UID of the database that it was generated for; none for a user's own.
    pub owner: Option<String>,
    pub password: String,
    /// When it was generated again for existing data.
    pub regenerated_at: Option<String>,
    /// Its other entries.
    pub entries: BTreeMap<String, String>,
}

impl Secret {
    /// As the API server returns it.
    pub fn object(&self, key: &Key) -> Value {
        let data: BTreeMap<&String, ByteString> =
            self.entries.iter().map(|(name, value)| (name, ByteString(value.clone().into_bytes()))).collect();
        json!({ "metadata": { "namespace": &*key.namespace, "name": &*key.name,
            "labels": self.owner.as_ref().map(|owner| BTreeMap::from([(OWNER_UID, owner)])),
            "annotations": self.regenerated_at.as_ref().map(|at| BTreeMap::from([(PASSWORD_REGENERATED_AT, at)])) }, "data": data })
    }
}

/// The faults.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Releases whose images cannot be pulled.
    pub missing: BTreeSet<String>,
    /// Releases whose server does not start.
    pub crashing: BTreeSet<String>,
    /// Commands that fail, with the stage before which they do.
    pub failing: BTreeMap<&'static str, u32>,
    /// The release that every image reports, whatever its tag.
    pub lies: Option<String>,
    /// A text that no server's pod may contain: the API server rejects such pods.
    pub rejects: Option<&'static str>,
    /// The label of nodes that pods may ask for, and no node has.
    pub nowhere: Option<&'static str>,
    /// Whether the files of snapshots differ from what was read.
    pub corrupts: bool,
    /// Whether reads of the API server by name fail.
    pub reads_fail: bool,
    /// Whether the object store does not answer.
    pub store_away: bool,
    /// Whether servers have a replication slot, which no snapshot contains.
    pub slot: bool,
}

/// Everything that is not an object of the API server.
#[derive(Clone, Default)]
pub struct Infrastructure {
    pub disks: Disks,
    pub secrets: BTreeMap<String, Secret>,
    /// By the pod's UID.
    pub pod_states: BTreeMap<String, PodState>,
    /// StatefulSets as their controller last observed them, by UID.
    pub observed_sets: BTreeMap<String, Value>,
    pub faults: Faults,
    pub now: Timestamp,
    /// The initial SQL, by its checksum, and whether it is correct.
    pub sql: (String, bool),
    /// Rows that were acknowledged, by database.
    pub acked: BTreeMap<String, Rows>,
    /// Databases that have been written to.
    pub written: BTreeSet<String>,
    /// Files that a Job failed to remove: no snapshot waits for them.
    pub abandoned_files: BTreeSet<String>,
    pub violations: Vec<String>,
    /// Whether the namespace assigns the users that pods run as.
    pub assigns_uids: bool,
    /// Whether the namespace is terminating.
    pub namespace_terminating: bool,
    /// Whether applications do not write.
    pub writers_paused: bool,
    pub manager_memory: ManagerMemory,
    /// The PVCs on which pods have their snapshots, by the pod's UID.
    pub snapshots: BTreeMap<String, String>,
    /// When Jobs started and ended, by UID.
    pub jobs: BTreeMap<String, (Timestamp, Option<Timestamp>)>,
}

impl Infrastructure {
    /// Records a violation of an invariant.
    pub fn violation(&mut self, what: String) {
        if !self.violations.contains(&what) {
            self.violations.push(what);
        }
    }

    /// Whether the API server rejects that pod.
    pub fn rejects(&self, pod: &Value) -> bool {
        self.faults.rejects.is_some_and(|what| pod.to_string().contains(what))
    }

    /// The pod's UID of the server that a database's Service selects, if it accepts connections.
    pub fn server(&self, cluster: &FakeCluster, db: &Key) -> Option<String> {
        let service = cluster.get(Service::KIND, &db.sibling(&format!("{}-rw", db.name)))?;
        let pod = text(&service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"]);
        let pod = cluster.get(Pod::KIND, &db.sibling(&pod))?;
        let uid = text(&pod["metadata"]["uid"]);
        self.pod_states.get(&uid).filter(|state| state.server.is_some() && state.stopped.is_none()).map(|_| uid)
    }

    /// The UID of the PVC with a server's data.
    pub fn claim_of(&self, pod: &str) -> Option<String> {
        self.pod_states.get(pod)?.server.as_ref().map(|server| server.claim.clone())
    }

    /// Applications write what they can.
    pub fn write(&mut self, cluster: &FakeCluster, db: &Key) {
        let Some(pod) = self.server(cluster, db).filter(|_| !self.writers_paused) else { return };
        let password = self.secrets.get(&format!("{}-app", db.name)).map(|secret| secret.password.clone());
        let ready = self.pod_states.get(&pod).is_some_and(|state| state.ready);
        let Some(claim) = self.claim_of(&pod).filter(|_| ready) else { return };
        let row = self.disks.next_number();
        let Some(data) = self.disks.volume(&claim).data.as_mut() else { return };
        if !data.allows_clients
            || data.app.is_none()
            || data.app != password
            || data.restored.as_ref().is_some_and(|of| !of.1)
        {
            return;
        }
        let acked = self.acked.entry(db.name.to_string()).or_default();
        let lost: Vec<u32> = acked.difference(&data.rows).copied().collect();
        data.rows.insert(row);
        acked.insert(row);
        self.written.insert(db.name.to_string());
        if !lost.is_empty() {
            self.violation(format!("writers of {db} write to data without the rows {lost:?}"));
        }
    }
}

/// A text, empty if it is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The UID of a PVC, if it exists.
pub fn claim_uid(cluster: &FakeCluster, key: &Key) -> Option<String> {
    cluster.get(Pvc::KIND, key).map(|claim| text(&claim["metadata"]["uid"]))
}

/// Whether an object is terminating.
pub fn is_terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether an object has finalizers.
pub fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// The directory of a snapshot's files.
pub fn path_of(snapshot: &Value) -> String {
    text(&snapshot["status"]["location"]["path"])
}
