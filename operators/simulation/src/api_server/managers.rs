//! Who owns which fields of an object: a port of what the API server does with structured-merge-diff v6 and the package
//! `managedfields` of apimachinery (1.36).
//!
//! Fields that a write cannot change must be the same before and after it, and absent from an applied object: `status` in
//! writes of the main resource of a kind with that subresource, all else in writes of the subresource. The API server has
//! filters for them; here the caller has them reset.
//!
//! Not modelled: the annotation `kubectl.kubernetes.io/last-applied-configuration` says nothing about ownership, so the
//! migration from `kubectl apply` without `--server-side` (only for the managers `kubectl` and `kubectl-client-side-apply`)
//! does not happen; and all entries are compared in one version of the kind.

mod cap;
mod comparison;
mod conflict;
mod encoding;
mod entry;
mod items;
mod merge;
mod prune;
mod removal;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use serde_json::Value;

use comparison::{Comparison, compare};
use entry::Entry;
use items::{error_of, fields_of};
use merge::merge;

use super::copies::without_managed_fields;
use super::field_set::{FieldSet, PathElement};
use super::field_types::FieldTypes;

pub use conflict::{Conflict, conflict_message};
pub use entry::{Operation, Writer};

/// Who owns which fields of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managers(Vec<Entry>);

impl Managers {
    /// Server-side apply. `live` is null for an object that is created. Returns the object after it, without `managedFields`,
    /// and its owners. Nothing is defaulted yet.
    ///
    /// An apply that changes nothing returns the live object; the owners may differ, if the manager now shares fields.
    ///
    /// # Errors
    /// Without `force`, if a field that others own gets another value.
    pub fn apply(
        &self,
        types: &FieldTypes,
        live: &Value,
        applied: &Value,
        by: &Writer<'_>,
        force: bool,
    ) -> Result<(Value, Self), Vec<Conflict>> {
        let before = types.filled(live);
        let mut managers =
            if self.is_empty() && !live.is_null() { Self::before_apply(types, live, by) } else { self.clone() };
        let merged = merge(types.root(), Some(&before), Some(applied)).unwrap_or_default();

        let own = Entry { fields: Arc::new(fields_of(types.root(), applied)), ..Entry::of(by, Operation::Apply) };
        let last = managers.replace(own.clone());
        let mut after = match &last {
            Some(last) => prune::prune(types.root(), &merged, &last.fields, &own.fields, &managers.owned()),
            None => merged,
        };
        managers.take_from_others(&own, &compare(types.root(), &before, &after), force)?;

        let changed = before != after;
        let time = if changed { Some(second(by.now)) } else { last.and_then(|last| last.time) };
        managers.finish(Entry { fields: Arc::new(own.fields.difference(&NEVER_OWNED)), time, ..own });
        managers.sort();
        if changed {
            types.drain(&mut after, live);
            prune::tidy(types, &mut after);
        } else {
            after = without_managed_fields(live);
        }
        Ok((after, managers))
    }

    /// Why an object cannot be applied: a list has an item twice, or an item without its key. The API server answers with code
    /// 500 and `failed to create typed patch object (NAMESPACE/NAME; GROUP/VERSION, Kind=KIND): ERROR`.
    #[must_use]
    pub fn cannot_be_applied(types: &FieldTypes, applied: &Value) -> Option<String> {
        error_of(types.root(), applied, &mut Vec::new())
    }

    /// A creation (`before` is null), an update, or a patch that is no apply: the owners after it.
    ///
    /// `after` may have `managedFields`: those replace the owners, as in the API server, which an update of a subresource
    /// cannot do. If they are absent, null or malformed, the owners stay. If they are empty, or one empty entry, ownership is
    /// not tracked until the next apply.
    #[must_use]
    pub fn update(&self, types: &FieldTypes, before: &Value, after: &Value, by: &Writer<'_>) -> Self {
        self.update_of(types, without_managed_fields(before), without_managed_fields(after), after, by)
    }

    /// The same, of parts of the objects that are needed for nothing else, where `requested` has the `managedFields`.
    #[must_use]
    pub fn update_of(
        &self,
        types: &FieldTypes,
        before: Value,
        after: Value,
        requested: &Value,
        by: &Writer<'_>,
    ) -> Self {
        let mut managers = self.requested(requested, by);
        if managers.is_empty() && !before.is_null() {
            return managers;
        }
        let changes = compare(types.root(), &types.fill(before), &types.fill(after));
        let changed = changes.modified.union(&changes.added);
        let gone = changed.union(&changes.removed);
        managers.0.retain_mut(|entry| entry.lose(&gone));

        let own = changed.difference(&NEVER_OWNED);
        if !own.is_empty() {
            // Entries of the subresource scale lose their time when they become those of the object.
            let time = (by.subresource != Some("scale")).then(|| second(by.now));
            let mut entry = Entry { time, ..Entry::of(by, Operation::Update) };
            entry.fields = match managers.0.iter().find(|other| other.is_same(&entry)) {
                None => Arc::new(own),
                // What is shared need not be encoded again.
                Some(previous) if previous.fields.includes(&own) => previous.fields.clone(),
                Some(previous) => Arc::new(own.union(&previous.fields)),
            };
            managers.replace(entry);
        }
        cap::cap(&mut managers.0);
        managers.sort();
        managers
    }

    /// Whether ownership is not tracked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both have the same entries, at whatever time they were written. The API server does not store an object that
    /// differs from the live one in those times only (after admission, defaults and resets).
    #[must_use]
    pub fn is_same_but_times(&self, other: &Self) -> bool {
        let same = |entry: &Entry| {
            let mut others =
                other.0.iter().filter(|other| other.is_same(entry) && other.api_version == entry.api_version);
            others.any(|other| other.fields == entry.fields)
        };
        self.0.len() == other.0.len() && self.0.iter().all(same)
    }

    /// The owners of an object whose ownership was not tracked: one entry that owns all.
    #[must_use]
    pub fn before_apply(types: &FieldTypes, live: &Value, by: &Writer<'_>) -> Self {
        let first = Writer { manager: "before-first-apply", ..*by };
        Self::default().update(types, &Value::Null, &without_managed_fields(live), &first)
    }

    /// The owners with which an update starts.
    fn requested(&self, after: &Value, by: &Writer<'_>) -> Self {
        let Some(Value::Array(entries)) = after.pointer("/metadata/managedFields") else { return self.clone() };
        if by.subresource.is_some_and(|name| !name.is_empty()) {
            return self.clone();
        }
        match entries.as_slice() {
            [] => Self::default(),
            [Value::Object(entry)] if entry.is_empty() => Self::default(),
            entries => Self::from_value(entries).unwrap_or_else(|| self.clone()),
        }
    }

    /// Puts the entry in the place of the one about the same writes, which it returns.
    fn replace(&mut self, entry: Entry) -> Option<Entry> {
        if let Some(present) = self.0.iter_mut().find(|present| present.is_same(&entry)) {
            return Some(std::mem::replace(present, entry));
        }
        self.0.push(entry);
        None
    }

    /// The same, without the entry if it is empty.
    fn finish(&mut self, entry: Entry) {
        self.0.retain(|present| !present.is_same(&entry));
        if !entry.fields.is_empty() {
            self.0.push(entry);
        }
    }

    /// All fields that have an owner.
    fn owned(&self) -> FieldSet {
        self.0.iter().fold(FieldSet::default(), |all, entry| all.union(&entry.fields))
    }

    /// Takes from all but `own` what an apply changed.
    fn take_from_others(&mut self, own: &Entry, changes: &Comparison, force: bool) -> Result<(), Vec<Conflict>> {
        let changed = changes.modified.union(&changes.added);
        if !force {
            let others = self.0.iter().filter(|entry| !entry.is_same(own));
            let mut conflicts: Vec<Conflict> = others.flat_map(|entry| conflict::conflicts(entry, &changed)).collect();
            if !conflicts.is_empty() {
                conflicts.sort_by(|one, other| one.order().cmp(&other.order()));
                return Err(conflicts);
            }
        }
        let gone = changed.union(&changes.removed);
        self.0.retain_mut(|entry| entry.is_same(own) || entry.lose(&gone));
        Ok(())
    }
}

/// Times of entries are whole seconds.
fn second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// The fields that no manager ever owns.
static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    const METADATA: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let field = |name: &str| PathElement::Field(name.to_owned());
    let mut set = FieldSet::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    for name in METADATA {
        set.insert(&[field("metadata"), field(name)]);
    }
    set
});
