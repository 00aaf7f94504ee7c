//! How a controller takes the objects that its selector matches, and gives up those that it no longer matches
//! (kubernetes: `pkg/controller/controller_ref_manager.go`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, Target};
use super::object::{self, controller, controller_reference, is_deleting, items, namespace, uid};
use super::selector;
use crate::api_server::kinds::KindId;

/// What a controller does with an object.
#[derive(Debug, PartialEq, Eq)]
enum Claim {
    Keep,
    Adopt,
    Release,
    Ignore,
}

/// The objects that `owner`, of that API version and kind, controls, after it has adopted and released some of the candidates.
pub fn claim_all(
    client: &Client<'_>,
    (api_version, owner_kind): (&str, &str),
    owner: &Value,
    kind: KindId,
    candidates: &[Arc<Value>],
) -> Vec<Arc<Value>> {
    let mut claimed = Vec::new();
    for candidate in candidates {
        match claim(owner, candidate) {
            Claim::Keep => claimed.push(Arc::clone(candidate)),
            Claim::Adopt => {
                let patch = adoption(candidate, controller_reference(owner, api_version, owner_kind));
                claimed.extend(client.merge(Target::of(kind, candidate), patch).ok().map(Arc::new));
            }
            Claim::Release => {
                // An object that is gone by now needs no release.
                client.merge(Target::of(kind, candidate), without_owners(candidate, &[uid(owner)])).ok();
            }
            Claim::Ignore => {}
        }
    }
    claimed
}

fn claim(owner: &Value, candidate: &Value) -> Claim {
    if namespace(owner) != namespace(candidate) {
        return Claim::Ignore;
    }
    let is_match = selector::matches(&owner["spec"]["selector"], candidate);
    match controller(candidate) {
        Some(reference) if object::text(&reference["uid"]) != uid(owner) => Claim::Ignore,
        Some(_) if is_match => Claim::Keep,
        Some(_) if is_deleting(owner) => Claim::Ignore,
        Some(_) => Claim::Release,
        None if is_match && !is_deleting(owner) && !is_deleting(candidate) => Claim::Adopt,
        None => Claim::Ignore,
    }
}

fn adoption(candidate: &Value, reference: Value) -> Value {
    let mut owners = items(&candidate["metadata"]["ownerReferences"]).to_vec();
    owners.push(reference);
    json!({ "metadata": { "uid": uid(candidate), "ownerReferences": owners } })
}

/// The merge patch that removes the owners of those uids from an object.
pub fn without_owners(of: &Value, owners: &[&str]) -> Value {
    let others = items(&of["metadata"]["ownerReferences"]).iter();
    let others = others.filter(|owner| !owners.contains(&object::text(&owner["uid"]))).cloned().collect();
    json!({ "metadata": { "uid": uid(of), "ownerReferences": object::list_or_null(others) } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(labels: Value, owner: Option<&str>) -> Value {
        let owners: Vec<Value> = owner.map(|uid| json!({ "uid": uid, "controller": true })).into_iter().collect();
        json!({ "metadata": { "uid": "c", "namespace": "n", "labels": labels, "ownerReferences": owners } })
    }

    #[test]
    fn a_controller_claims_by_its_selector_and_never_from_another_controller() {
        let selector = json!({ "matchLabels": { "a": "b" } });
        let mut owner = json!({ "metadata": { "uid": "o", "namespace": "n" }, "spec": { "selector": selector } });
        let (labels, others) = (json!({ "a": "b" }), json!({ "a": "c" }));
        assert_eq!(claim(&owner, &candidate(labels.clone(), Some("o"))), Claim::Keep);
        assert_eq!(claim(&owner, &candidate(labels.clone(), Some("x"))), Claim::Ignore);
        assert_eq!(claim(&owner, &candidate(labels.clone(), None)), Claim::Adopt);
        assert_eq!(claim(&owner, &candidate(others.clone(), None)), Claim::Ignore);
        assert_eq!(claim(&owner, &candidate(others.clone(), Some("o"))), Claim::Release);
        let mut deleted = candidate(labels.clone(), None);
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(claim(&owner, &deleted), Claim::Ignore);
        owner["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(claim(&owner, &candidate(labels, None)), Claim::Ignore);
        assert_eq!(claim(&owner, &candidate(others, Some("o"))), Claim::Ignore);
    }

    #[test]
    fn owners_are_added_and_removed_beside_others() {
        let object = json!({ "metadata": { "uid": "c", "ownerReferences": [{ "uid": "x" }] } });
        let adopted = adoption(&object, json!({ "uid": "o" }));
        assert_eq!(adopted["metadata"]["ownerReferences"], json!([{ "uid": "x" }, { "uid": "o" }]));
        assert_eq!(without_owners(&adopted, &["o"])["metadata"]["ownerReferences"], json!([{ "uid": "x" }]));
        assert_eq!(without_owners(&object, &["x"])["metadata"]["ownerReferences"], Value::Null);
    }
}
