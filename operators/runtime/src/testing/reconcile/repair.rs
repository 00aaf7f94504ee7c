//! Writes in addition to applies.

use serde_json::Value;

use super::fill_in;
use crate::apply::drift::repair;
use crate::apply::drift::repair::patched::patched;
use crate::plan::meta::field_manager;
use crate::plan::{Apply, Reported};
use crate::testing::FakeCluster;
use crate::testing::ownership::{self, PATCHED};

impl FakeCluster {
    /// Performs the repairing patch, if there is one. Returns whether it leaves fields for an apply to remove.
    pub(super) fn repair(&mut self, apply: &Apply) -> Option<bool> {
        let live = self.live(apply)?;
        let repair = repair::of(&apply.kind, &live, &apply.body).expect("objects here can be read")?;
        self.patch(apply, live, &repair.patch);
        Some(repair.leaves)
    }

    /// Performs the restoring patch. Returns false if there is none, or one of its tests fails.
    pub(super) fn restore(&mut self, apply: &Apply) -> bool {
        let (Some(restore), Some(live)) = (apply.restore_patch(), self.live(apply)) else { return false };
        let Some(after) = patched(&live, &restore.patch) else { return false };
        self.put(apply, after);
        true
    }

    /// Performs a merge patch, as our manager.
    fn patch(&mut self, apply: &Apply, live: Value, patch: &Value) {
        let mut after = live;
        json_patch::merge(&mut after, patch);
        self.put(apply, after);
    }

    /// Writes the result of a patch, as our manager.
    fn put(&mut self, apply: &Apply, mut after: Value) {
        drop(after["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields")));
        let change = |object: &mut Value| {
            *object = after;
            fill_in(apply.kind, object);
        };
        self.write(apply.kind, &apply.key, change, Some(&field_manager("test")));
    }

    pub(super) fn migrate_ownership(&mut self, apply: &Apply, reported: Reported) {
        let Some(live) = self.live(apply) else { return };
        let ownership_migration =
            repair::ownership_migration(&apply.kind, &live, &apply.body, reported).expect("objects here can be read");
        if let (Some(_), Some(object)) =
            (ownership_migration, self.objects.get_mut(&(apply.kind.plural, apply.key.clone())))
        {
            let patched = object.owned.remove(&format!("{PATCHED}{}", field_manager("test"))).unwrap_or_default();
            object.owned.entry(field_manager("test")).or_default().extend(patched);
        }
    }

    fn live(&self, apply: &Apply) -> Option<Value> {
        let object = self.objects.get(&(apply.kind.plural, apply.key.clone()))?;
        let mut live = object.value.clone();
        live["metadata"]["managedFields"] = ownership::managed_fields(&object.owned, &object.applied);
        Some(live)
    }
}
