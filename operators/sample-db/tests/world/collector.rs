//! What takes objects away: garbage collection in the foreground, finalizers, and the end of a namespace.

use runtime::cache::Projection as _;
use runtime::plan::{Key, Kind};
use runtime::projections::{Claim, ConfigMap, Job, Pod, Service, StatefulSet};
use runtime::testing::{NOW, World};
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::sets::owned;
use crate::site::{Site, is_going, is_held, text};

/// Annotation of what is deleted in the foreground: what holds the object may write its finalizers as a whole here.
const FOREGROUND: &str = "foreground";
/// The finalizer by which the API server notes that.
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// All kinds that there are.
pub const KINDS: [Kind; 8] = [
    SampleDB::KIND,
    Snapshot::KIND,
    StatefulSet::KIND,
    Service::KIND,
    ConfigMap::KIND,
    Job::KIND,
    Pod::KIND,
    Claim::KIND,
];

/// How somebody deletes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
}

/// Deletes an object, as a user does.
pub fn delete(world: &mut World, kind: Kind, key: &Key, propagation: Propagation) {
    let Some(live) = world.get(kind, key).filter(|live| !is_going(live)) else { return };
    let held = is_held(live);
    if propagation == Propagation::Foreground {
        world.edit(kind, key, |live| {
            live["metadata"]["annotations"][FOREGROUND] = json!("true");
            live["metadata"]["deletionTimestamp"] = json!(NOW);
            let mut held = live["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            held.push(json!(FOREGROUND_FINALIZER));
            live["metadata"]["finalizers"] = json!(held);
        });
    } else if held || [Pod::KIND, Claim::KIND].contains(&kind) {
        world.begin_removal(kind, key);
    } else {
        world.remove(kind, key);
    }
}

impl Site {
    /// Takes away what has nothing to wait for.
    pub fn collect(&mut self, world: &mut World) {
        for kind in [SampleDB::KIND, Snapshot::KIND, StatefulSet::KIND, Job::KIND] {
            for (key, object) in all(world, kind, is_going) {
                let uid = text(&object["metadata"]["uid"]);
                let held = object["metadata"]["finalizers"].as_array();
                let held = held.is_some_and(|all| all.iter().any(|of| *of != FOREGROUND_FINALIZER));
                let foreground = object["metadata"]["annotations"][FOREGROUND] == "true";
                let waits = foreground && !dependents_gone(world, &uid);
                if !held && !waits {
                    world.remove(kind, &key);
                }
            }
        }
        world.collect_garbage();
        if self.going {
            self.end(world);
        }
    }

    /// The namespace's controller deletes all that is in it.
    fn end(&mut self, world: &mut World) {
        self.secrets.clear();
        for kind in KINDS {
            for (key, _) in all(world, kind, |_| true) {
                delete(world, kind, &key, Propagation::Background);
            }
        }
    }
}

/// Deletes what goes with an object that is deleted in the foreground; whether all of it is gone.
fn dependents_gone(world: &mut World, uid: &str) -> bool {
    let mut gone = true;
    for kind in KINDS {
        for (key, object) in all(world, kind, |object| owned(object, uid)) {
            gone = false;
            if is_going(&object) {
                continue;
            }
            match kind == StatefulSet::KIND || kind == Job::KIND {
                true => delete(world, kind, &key, Propagation::Foreground),
                false => delete(world, kind, &key, Propagation::Background),
            }
        }
    }
    gone
}

/// Some objects of a kind.
fn all(world: &World, kind: Kind, of: impl Fn(&Value) -> bool) -> Vec<(Key, Value)> {
    let some = world.all(kind).filter(|(_, object)| of(object));
    some.map(|(key, object)| (key.clone(), object.clone())).collect()
}
