//! An entry of `managedFields`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::api_server::field_set::FieldSet;

/// The kind of writes that an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Everything else.
    Update,
}

/// What a manager owns by one kind of write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) subresource: Option<String>,
    pub(super) api_version: String,
    /// `None` if the manager has never changed the object, and shares the ownership of what others set.
    pub(super) time: Option<Timestamp>,
    pub(super) fields: Arc<FieldSet>,
}

impl Entry {
    pub(super) fn of(by: &Writer<'_>, operation: Operation) -> Self {
        let manager = if by.manager.is_empty() { "unknown" } else { by.manager };
        Self {
            manager: manager.to_owned(),
            operation,
            subresource: by.subresource.filter(|name| !name.is_empty()).map(str::to_owned),
            api_version: by.api_version.to_owned(),
            time: None,
            fields: Arc::default(),
        }
    }

    /// Whether both are about the same writes. The version tells apart updates only.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// Takes these fields away; true if something is left.
    pub(super) fn lose(&mut self, fields: &FieldSet) -> bool {
        let lost = self.fields.intersection(fields);
        if !lost.is_empty() {
            self.fields = Arc::new(self.fields.difference(&lost));
        }
        !self.fields.is_empty()
    }
}

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// To which subresource: `status`, `scale`.
    pub subresource: Option<&'a str>,
    /// The version of the kind in which it writes: `apps/v1`.
    pub api_version: &'a str,
    /// When.
    pub now: Timestamp,
}
