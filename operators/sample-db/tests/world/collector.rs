//! What deletes objects: foreground garbage collection, finalizers, and the deletion of a namespace.

use runtime::cache::Projection as _;
use runtime::plan::{Key, ResourceKind};
use runtime::projections::{ConfigMap, Job, Pod, Pvc, Service, StatefulSet};
use runtime::testing::{FakeCluster, NOW};
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::infrastructure::{Infrastructure, has_finalizers, is_terminating, text};
use crate::sets::owned;

/// Annotation of objects that are deleted in the foreground, since operators may overwrite the list of finalizers here.
const FOREGROUND: &str = "foreground";
/// The finalizer of the API server for that.
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// All kinds.
pub const KINDS: [ResourceKind; 8] = [
    SampleDB::KIND,
    Snapshot::KIND,
    StatefulSet::KIND,
    Service::KIND,
    ConfigMap::KIND,
    Job::KIND,
    Pod::KIND,
    Pvc::KIND,
];

/// How a user deletes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
}

/// Deletes an object, as a user does.
pub fn delete(cluster: &mut FakeCluster, kind: ResourceKind, key: &Key, propagation: Propagation) {
    let Some(live) = cluster.get(kind, key).filter(|live| !is_terminating(live)) else { return };
    let held = has_finalizers(live);
    if propagation == Propagation::Foreground {
        cluster.edit(kind, key, |live| {
            live["metadata"]["annotations"][FOREGROUND] = json!("true");
            live["metadata"]["deletionTimestamp"] = json!(NOW);
            let mut held = live["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            held.push(json!(FOREGROUND_FINALIZER));
            live["metadata"]["finalizers"] = json!(held);
        });
    } else if held || [Pod::KIND, Pvc::KIND].contains(&kind) {
        cluster.delete(kind, key);
    } else {
        cluster.remove(kind, key);
    }
}

impl Infrastructure {
    /// Removes terminating objects that wait for nothing.
    pub fn collect_garbage(&mut self, cluster: &mut FakeCluster) {
        for kind in [SampleDB::KIND, Snapshot::KIND, StatefulSet::KIND, Job::KIND] {
            for (key, object) in all(cluster, kind, is_terminating) {
                let uid = text(&object["metadata"]["uid"]);
                let held = object["metadata"]["finalizers"].as_array();
                let held = held.is_some_and(|all| all.iter().any(|of| *of != FOREGROUND_FINALIZER));
                let foreground = object["metadata"]["annotations"][FOREGROUND] == "true";
                let waits = foreground && !are_dependents_deleted(cluster, &uid);
                if !held && !waits {
                    cluster.remove(kind, &key);
                }
            }
        }
        cluster.collect_garbage();
        if self.namespace_terminating {
            self.end(cluster);
        }
    }

    /// The namespace controller deletes everything in the namespace.
    fn end(&mut self, cluster: &mut FakeCluster) {
        self.secrets.clear();
        for kind in KINDS {
            for (key, _) in all(cluster, kind, |_| true) {
                delete(cluster, kind, &key, Propagation::Background);
            }
        }
    }
}

/// Deletes the dependents of an object that is deleted in the foreground. Returns whether all of them are deleted.
fn are_dependents_deleted(cluster: &mut FakeCluster, uid: &str) -> bool {
    let mut all_deleted = true;
    for kind in KINDS {
        for (key, object) in all(cluster, kind, |object| owned(object, uid)) {
            all_deleted = false;
            if is_terminating(&object) {
                continue;
            }
            match kind == StatefulSet::KIND || kind == Job::KIND {
                true => delete(cluster, kind, &key, Propagation::Foreground),
                false => delete(cluster, kind, &key, Propagation::Background),
            }
        }
    }
    all_deleted
}

/// The objects of a kind that match.
fn all(cluster: &FakeCluster, kind: ResourceKind, of: impl Fn(&Value) -> bool) -> Vec<(Key, Value)> {
    let some = cluster.all(kind).filter(|(_, object)| of(object));
    some.map(|(key, object)| (key.clone(), object.clone())).collect()
}
