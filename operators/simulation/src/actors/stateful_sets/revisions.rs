//! The ControllerRevisions of a StatefulSet: the templates that it had (kubernetes: `pkg/controller/history`, and
//! `getStatefulSetRevisions` in `stateful_set_control.go`).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::client::{Client, Target, is_outdated};
use super::super::deployments::template::hash;
use super::super::object::{
    controller_reference, name, namespace, number, remove, seconds, set as set_field, text, uid,
};
use super::super::{ownership, selector};
use super::identity::{self, OWNER};
use super::writes::Postponed;
use crate::api_server::kinds::KindId;
use crate::api_server::request::DeleteOptions;

/// The label with the hash of a revision.
const HASH: &str = "controller.kubernetes.io/hash";

/// A template that a set has or had.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Revision {
    pub(super) name: String,
    pub(super) template: Value,
}

/// The revisions of a set.
#[derive(Debug)]
pub(super) struct Revisions {
    /// All, the oldest first.
    all: Vec<Arc<Value>>,
    /// That before the update that is under way.
    pub(super) current: Revision,
    /// That of the present template.
    pub(super) update: Revision,
    /// How many hashes were taken by other revisions.
    pub(super) collisions: i64,
}

/// The revisions of a set. That of its template is created, or made the newest again.
pub(super) fn of(client: &Client<'_>, kind: KindId, set: &Value) -> Result<Revisions, Postponed> {
    let is_near = |one: &Arc<Value>| namespace(one) == namespace(set);
    let near = client.list(kind).into_iter().filter(|one| is_near(one) && is_selected(set, one));
    let mut all = ownership::claim_all(client, OWNER, set, kind, &near.collect::<Vec<_>>());
    all.sort_by_cached_key(|one| {
        (number(&one["revision"]), seconds(&one["metadata"]["creationTimestamp"]), name(one).to_owned())
    });
    let data = data(&set["spec"]["template"]);
    let next = all.last().map_or(1, |last| number(&last["revision"]) + 1);
    let mut collisions = number(&set["status"]["collisionCount"]);
    let update = match all.iter().rposition(|one| one["data"] == data) {
        Some(found) if found + 1 == all.len() => Revision::of(&all[found]),
        Some(found) => {
            let mut again = Value::clone(&all[found]);
            set_field(&mut again, &["revision"], json!(next));
            Revision::of(&client.update(kind, again).map_err(|_| Postponed)?)
        }
        None => Revision::of(&create(client, kind, set, &data, next, &mut collisions)?),
    };
    let current = all.iter().find(|one| set["status"]["currentRevision"] == name(one));
    let current = current.map_or_else(|| update.clone(), |current| Revision::of(current));
    Ok(Revisions { all, current, update, collisions })
}

fn is_selected(set: &Value, revision: &Value) -> bool {
    selector::matches(&set["spec"]["selector"], revision)
}

impl Revision {
    fn of(revision: &Value) -> Self {
        let mut template = revision["data"]["spec"]["template"].clone();
        remove(&mut template, &["$patch"]);
        Self { name: name(revision).to_owned(), template }
    }
}

/// What a revision keeps of a set: a patch that replaces the template.
fn data(template: &Value) -> Value {
    let mut template = template.clone();
    set_field(&mut template, &["$patch"], json!("replace"));
    json!({ "spec": { "template": template } })
}

/// Creates a revision. If another one has its name, the hash is made with another number.
fn create(
    client: &Client<'_>,
    kind: KindId,
    set: &Value,
    data: &Value,
    number: i64,
    collisions: &mut i64,
) -> Result<Value, Postponed> {
    let hash = hash(data, Some(*collisions));
    let name = format!("{}-{hash}", name(set));
    if let Some(taken) = client.get(kind, namespace(set), &name) {
        if taken["data"] == *data {
            return Ok(Value::clone(&taken));
        }
        *collisions += 1;
        return create(client, kind, set, data, number, collisions);
    }
    let mut metadata = json!({
        "name": name, "namespace": namespace(set), "labels": set["spec"]["template"]["metadata"]["labels"],
        "ownerReferences": [controller_reference(set, OWNER.0, OWNER.1)],
    });
    set_field(&mut metadata, &["labels", HASH], json!(hash));
    let annotations = &set["metadata"]["annotations"];
    if !annotations.is_null() {
        set_field(&mut metadata, &["annotations"], annotations.clone());
    }
    let body = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": data, "revision": number,
    });
    client.create(kind, body).map_err(|_| Postponed)
}

/// Deletes the oldest revisions that no pod has, and that are more than the set keeps.
pub(super) fn trim(
    client: &Client<'_>,
    kind: KindId,
    set: &Value,
    revisions: &Revisions,
    pods: &[Arc<Value>],
) -> Result<(), Postponed> {
    let mut live: BTreeSet<&str> = pods.iter().map(|pod| identity::revision(pod)).collect();
    live.extend([revisions.current.name.as_str(), revisions.update.name.as_str()]);
    let past: Vec<&Arc<Value>> = revisions.all.iter().filter(|one| !live.contains(name(one))).collect();
    let kept = set["spec"]["revisionHistoryLimit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(10);
    for one in past.iter().take(past.len().saturating_sub(kept)) {
        let options = DeleteOptions { uid: Some(uid(one).to_owned()), ..DeleteOptions::default() };
        if client.delete(Target::of(kind, one), options).is_err_and(|refused| !is_outdated(&refused)) {
            return Err(Postponed);
        }
    }
    Ok(())
}

/// The name of the revision that a pod of that ordinal gets when it is created now.
pub(super) fn for_new_pod<'a>(set: &Value, revisions: &'a Revisions, ordinal: i64) -> &'a Revision {
    let strategy = &set["spec"]["updateStrategy"];
    let first_updated = identity::range(set).start + number(&strategy["rollingUpdate"]["partition"]);
    let is_kept = text(&strategy["type"]) == "RollingUpdate" && ordinal < first_updated;
    if is_kept { &revisions.current } else { &revisions.update }
}
