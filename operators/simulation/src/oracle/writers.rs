//! One writer at a time: a manager sends writes only while it holds the Lease. One that is late may take effect after that.

use jiff::Timestamp;

use super::audit::{about, is_manager, text};
use crate::api_server::state::{AuditEntry, StoredState};

/// The writes of managers that did not hold the Lease when they sent them.
pub(super) fn violations(state: &StoredState) -> Vec<String> {
    let plural = |entry: &AuditEntry| state.kinds().get(entry.kind).map(|kind| kind.plural.as_str());
    let mut holders: Vec<(Timestamp, &str)> = Vec::new();
    let mut found = Vec::new();
    for entry in state.audit() {
        if plural(entry) == Some("leases") {
            if let (true, Some(lease)) = (entry.changed, &entry.after) {
                holders.push((entry.now, text(lease, "holderIdentity")));
            }
        } else if is_manager(entry) && entry.changed && plural(entry) != Some("events") {
            let holder = holders.iter().rev().find(|(since, _)| *since <= entry.sent).map_or("", |(_, holder)| *holder);
            if !held_by(holder, &entry.user) {
                let what = about(state, entry);
                found.push(format!("{} wrote {what}, and sent that while {holder:?} held the Lease", entry.user));
            }
        }
    }
    found
}

/// An identity is the manager's name and a random part.
fn held_by(holder: &str, user: &str) -> bool {
    holder.strip_prefix(user).is_some_and(|rest| rest.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api_server::request::{ApiRequest, Verb};
    use crate::api_server::verbs::testing::{Bench, config_map};

    /// What is found if `manager-0` sends a write at that second, which takes effect at second 20. Another manager has held the
    /// Lease since second 10.
    fn sent_at(second: i64) -> Vec<String> {
        let mut bench = Bench::new();
        let begun = bench.now;
        let at = |second: i64| begun + jiff::SignedDuration::from_secs(second);
        let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "m" },
            "spec": { "holderIdentity": "manager-0_a" } });
        bench.create("leases", &lease);
        bench.now = at(10);
        bench.merge("leases", "m", &json!({ "spec": { "holderIdentity": "manager-1_b" } })).unwrap();
        bench.now = at(20);
        let create = Verb::Create { body: config_map("a", "b"), strict: true };
        let request = bench.request("configmaps", None, create);
        let request = ApiRequest { user: "manager-0".to_owned(), sent: Some(at(second)), ..request };
        bench.perform(&request).unwrap();
        violations(&bench.state)
    }

    #[test]
    fn a_write_is_judged_by_who_held_the_lease_when_it_was_sent() {
        assert_eq!(sent_at(9), Vec::<String>::new());
        assert_eq!(sent_at(11).len(), 1);
    }
}
