//! The PVCs of a StatefulSet, and who owns them (kubernetes: `stateful_pod_control.go`).

use serde_json::{Value, json};

use super::super::client::{Client, Target};
use super::super::object::{
    controller_reference, is_deleting, items, list_or_null, name, namespace, set as set_field, text, uid,
};
use super::identity::{self, OWNER};
use super::writes::{Postponed, is_done};
use crate::api_server::kinds::KindId;

/// The PVCs of a pod: the names of the volumes and those of the PVCs.
pub(super) fn names(set: &Value, ordinal: i64) -> impl Iterator<Item = (String, String)> {
    let templates = items(&set["spec"]["volumeClaimTemplates"]).iter();
    templates.map(move |template| {
        let volume = name(template).to_owned();
        let claim = format!("{volume}-{}", identity::pod_name(set, ordinal));
        (volume, claim)
    })
}

/// Creates the PVCs of a pod that do not exist. One that is being deleted has to go first.
pub(super) fn create_missing(client: &Client<'_>, kind: KindId, set: &Value, ordinal: i64) -> Result<(), Postponed> {
    for (template, (_, claim)) in items(&set["spec"]["volumeClaimTemplates"]).iter().zip(names(set, ordinal)) {
        match client.get(kind, namespace(set), &claim) {
            None => is_done(client.create(kind, new(set, template, &claim)))?,
            Some(found) if is_deleting(&found) => return Err(Postponed),
            Some(_) => {}
        }
    }
    Ok(())
}

fn new(set: &Value, template: &Value, name: &str) -> Value {
    let mut claim = template.clone();
    set_field(&mut claim, &["apiVersion"], json!("v1"));
    set_field(&mut claim, &["kind"], json!("PersistentVolumeClaim"));
    set_field(&mut claim, &["metadata", "name"], json!(name));
    set_field(&mut claim, &["metadata", "namespace"], json!(namespace(set)));
    for (label, value) in set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten() {
        set_field(&mut claim, &["metadata", "labels", label], value.clone());
    }
    claim
}

/// Whether a PVC of a pod that does not exist is owned by an earlier one of that name: the garbage collector will delete it.
pub(super) fn are_stale(client: &Client<'_>, kind: KindId, set: &Value, ordinal: i64) -> bool {
    let pod = identity::pod_name(set, ordinal);
    let is_of_pod = |owner: &Value| text(&owner["kind"]) == "Pod" && owner["name"] == *pod;
    let mut claims = names(set, ordinal).filter_map(|(_, claim)| client.get(kind, namespace(set), &claim));
    claims.any(|claim| items(&claim["metadata"]["ownerReferences"]).iter().any(is_of_pod))
}

/// Gives the PVCs of a pod the owners with which they are to be deleted.
pub(super) fn retain(
    client: &Client<'_>,
    kind: KindId,
    set: &Value,
    pod: &Value,
    ordinal: i64,
) -> Result<(), Postponed> {
    for (_, claim) in names(set, ordinal) {
        let Some(claim) = client.get(kind, namespace(set), &claim) else { continue };
        let owners = owners(set, pod, ordinal, &claim);
        if owners != items(&claim["metadata"]["ownerReferences"]) {
            let patch = json!({ "metadata": { "uid": uid(&claim), "ownerReferences": list_or_null(owners) } });
            client.merge(Target::of(kind, &claim), patch).map_err(|_| Postponed)?;
        }
    }
    Ok(())
}

/// The owners of a PVC: of those that are the set or its pod, the one that the policy says.
fn owners(set: &Value, pod: &Value, ordinal: i64, claim: &Value) -> Vec<Value> {
    let is_own = |owner: &Value| [uid(set), uid(pod)].contains(&text(&owner["uid"]));
    let present = items(&claim["metadata"]["ownerReferences"]).iter();
    let others: Vec<Value> = present.filter(|owner| !is_own(owner)).cloned().collect();
    if others.iter().any(|owner| owner["controller"] == true) {
        return others;
    }
    let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
    let is_deleted = |when: &str| text(&policy[when]) == "Delete";
    let is_surplus = !identity::range(set).contains(&ordinal);
    let owner = match (is_deleted("whenScaled") && is_surplus, is_deleted("whenDeleted")) {
        (true, _) => Some(controller_reference(pod, "v1", "Pod")),
        (false, true) => Some(controller_reference(set, OWNER.0, OWNER.1)),
        (false, false) => None,
    };
    others.into_iter().chain(owner).collect()
}
