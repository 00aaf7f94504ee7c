//! One writer at a time: a manager writes only while it holds the Lease.

use super::audit::{about, is_manager, text};
use crate::api_server::state::{AuditEntry, StoredState};

/// The writes of managers that did not hold the Lease then.
pub(super) fn violations(state: &StoredState) -> Vec<String> {
    let plural = |entry: &AuditEntry| state.kinds().get(entry.kind).map(|kind| kind.plural.as_str());
    let mut holder = String::new();
    let mut found = Vec::new();
    for entry in state.audit() {
        if plural(entry) == Some("leases") {
            if let (true, Some(lease)) = (entry.changed, &entry.after) {
                text(lease, "holderIdentity").clone_into(&mut holder);
            }
        } else if is_manager(entry)
            && entry.changed
            && plural(entry) != Some("events")
            && !held_by(&holder, &entry.user)
        {
            let what = about(state, entry);
            found.push(format!("{} wrote {what} while {holder:?} held the Lease", entry.user));
        }
    }
    found
}

/// An identity is the manager's name and a random part.
fn held_by(holder: &str, user: &str) -> bool {
    holder.strip_prefix(user).is_some_and(|rest| rest.starts_with('_'))
}
