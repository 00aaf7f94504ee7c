//! Fields of others that an apply would change, in the words of the API server.

use std::fmt;

use super::entry::{Entry, Operation};
use crate::api_server::field_set::{FieldSet, display};

/// A field that an apply without force would take from its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The owner.
    pub manager: String,
    /// How it came to own the field.
    pub operation: Operation,
    /// In which version it updated it.
    pub api_version: String,
    /// By which subresource.
    pub subresource: Option<String>,
    /// The field: `.spec.replicas`.
    pub path: String,
}

impl Conflict {
    /// The owner, as the API server names it: `"kubectl-edit" with subresource "scale" using apps/v1`.
    #[must_use]
    pub fn owner(&self) -> String {
        let subresource = self.subresource.as_ref().map(|name| format!(" with subresource {name:?}"));
        let version = (self.operation == Operation::Update).then(|| format!(" using {}", self.api_version));
        format!("{:?}{}{}", self.manager, subresource.unwrap_or_default(), version.unwrap_or_default())
    }

    /// Conflicts are listed by owner, one of a subresource first; those with one owner keep their order.
    pub(super) fn order(&self) -> (&str, Operation, &str, bool, Option<&str>) {
        let subresource = self.subresource.as_deref();
        (self.manager.as_str(), self.operation, self.api_version.as_str(), subresource.is_none(), subresource)
    }

    /// The message of its cause (reason `FieldManagerConflict`, field [`path`](Self::path)).
    #[must_use]
    pub fn message(&self) -> String {
        format!("conflict with {}", self.owner())
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.message(), self.path)
    }
}

/// The fields of an entry that are among those that an apply changed.
pub(super) fn conflicts(entry: &Entry, changed: &FieldSet) -> Vec<Conflict> {
    let conflict = |path: Vec<_>| Conflict {
        manager: entry.manager.clone(),
        operation: entry.operation,
        api_version: entry.api_version.clone(),
        subresource: entry.subresource.clone(),
        path: display(&path),
    };
    entry.fields.intersection(changed).paths().into_iter().map(conflict).collect()
}

/// The message of the Status of a refused apply (code 409, reason Conflict).
#[must_use]
pub fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        return format!("Apply failed with 1 conflict: {conflict}");
    }
    let mut lines = Vec::new();
    let mut owner = None;
    for conflict in conflicts {
        let name = conflict.owner();
        if owner.as_ref() != Some(&name) {
            lines.push(format!("conflicts with {name}:"));
            owner = Some(name);
        }
        lines.push(format!("- {}", conflict.path));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}
