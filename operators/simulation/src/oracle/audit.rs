//! How oracles read the audit log.

use serde_json::Value;

use crate::api_server::state::{AuditEntry, StoredState};

/// Whether a manager sent that write.
pub(crate) fn is_manager(entry: &AuditEntry) -> bool {
    entry.user.starts_with("manager-")
}

/// The object of a write, as text.
pub(super) fn about(state: &StoredState, entry: &AuditEntry) -> String {
    let plural = state.kinds().get(entry.kind).map_or("?", |kind| kind.plural.as_str());
    let (namespace, name) = &entry.key;
    let part = entry.subresource.map(|part| format!(" {part:?}")).unwrap_or_default();
    format!("{plural} {namespace}/{name}{part}")
}

/// The text of a field of a Lease.
pub(super) fn text<'a>(lease: &'a Value, field: &str) -> &'a str {
    lease["spec"][field].as_str().unwrap_or_default()
}
