//! What an apply is not enough for.

use serde_json::Value;

use super::fill_in;
use crate::apply::drift::repair;
use crate::apply::drift::repair::patched::patched;
use crate::plan::meta::field_manager;
use crate::plan::{Apply, Reported};
use crate::testing::World;
use crate::testing::ownership::{self, PATCHED};

impl World {
    /// The real one's patch, if there is one to make; whether that leaves something for an apply to take away.
    pub(super) fn repair(&mut self, apply: &Apply) -> Option<bool> {
        let live = self.told(apply)?;
        let repair = repair::of(&apply.kind, &live, &apply.body).expect("objects here can be read")?;
        self.patch(apply, live, &repair.patch);
        Some(repair.leaves)
    }

    /// The real one's patch of what was seen; false if there is none, or if what it tests is not so any more.
    pub(super) fn restore(&mut self, apply: &Apply) -> bool {
        let (Some(restore), Some(live)) = (apply.restores(), self.told(apply)) else { return false };
        let Some(after) = patched(&live, &restore.patch) else { return false };
        self.put(apply, after);
        true
    }

    /// Merges a patch into what is there, as our manager.
    fn patch(&mut self, apply: &Apply, live: Value, patch: &Value) {
        let mut after = live;
        json_patch::merge(&mut after, patch);
        self.put(apply, after);
    }

    /// Writes what a patch makes of a child, as our manager.
    fn put(&mut self, apply: &Apply, mut after: Value) {
        drop(after["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields")));
        let change = |object: &mut Value| {
            *object = after;
            fill_in(apply.kind, object);
        };
        self.write(apply.kind, &apply.key, change, Some(&field_manager("test")));
    }

    pub(super) fn gather(&mut self, apply: &Apply, told: Reported) {
        let Some(live) = self.told(apply) else { return };
        let gathering = repair::gathering(&apply.kind, &live, &apply.body, told).expect("objects here can be read");
        if let (Some(_), Some(object)) = (gathering, self.objects.get_mut(&(apply.kind.plural, apply.key.clone()))) {
            let patched = object.owned.remove(&format!("{PATCHED}{}", field_manager("test"))).unwrap_or_default();
            object.owned.entry(field_manager("test")).or_default().extend(patched);
        }
    }

    fn told(&self, apply: &Apply) -> Option<Value> {
        let object = self.objects.get(&(apply.kind.plural, apply.key.clone()))?;
        let mut live = object.value.clone();
        live["metadata"]["managedFields"] = ownership::managed_fields(&object.owned, &object.applied);
        Some(live)
    }
}
