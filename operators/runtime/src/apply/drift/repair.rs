//! Pure: the patch that makes a child as desired where an apply would not, because of additions of others; and the patch that
//! restores what others have changed, which costs less than an apply.
//!
//! The first is built from the complete live object, and applies to that version only: it removes additions, and sets what we
//! send. We own the fields that it sets through a patch, like those of a creation. An apply that does not send all of them
//! migrates their ownership first ([`ownership_migration`]).

use serde_json::{Map, Value, json};

use super::additions::{Additions, child, is_cluster_ip};
use super::defaults::{disown_defaults, disown_filled_in};
use super::overlay::put_over;
use super::ownership::{Owners, migrated};
use super::rules::rules;
use super::selector::Selector;
use crate::plan::meta::ResourceKind;
use crate::plan::reported::Reported;

/// Removes what others have added.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// A merge patch for the version that it was built from.
    pub patch: Value,
    /// Whether owned fields stay that are no longer sent: an apply removes them.
    pub leaves: bool,
}

/// The patch that makes `live` match `body`; `None` if there is no addition to remove.
///
/// # Errors
/// If `live` has an unexpected shape.
pub fn of(kind: &ResourceKind, live: &Value, body: &Value) -> serde_json::Result<Option<Repair>> {
    let mut owners = Owners::read(&live["metadata"].to_string())?;
    let additions = Additions::find(rules(kind), live, &owners);
    if !additions.outlast(body) {
        return Ok(None);
    }
    let after = repaired(live, body, &additions);
    if let Some(patched) = &mut owners.patched {
        disown_defaults(kind, patched, &after);
    }
    let leaves = [&owners.applied, &owners.patched].into_iter().flatten().any(|ours| leaves(&after, body, ours));
    let mut patch = difference(live, &after).unwrap_or_else(|| json!({}));
    patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    Ok(Some(Repair { patch, leaves }))
}

/// Restores what others have changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Restore {
    /// A JSON patch. It contains no version, so an unrelated write in between, such as one of the status, costs nothing: the API
    /// server retries on its own. Instead, it tests that the child has the same uid and owner, and that each place that it
    /// changes has the observed value.
    pub patch: Value,
    /// The observed version.
    pub version: Value,
}

/// The patch that sets what `body` contains in `live`; `None` if nothing differs.
#[must_use]
pub fn restoring(live: &Value, body: &Value) -> Option<Restore> {
    let metadata = &live["metadata"];
    let mut steps = vec![test("/metadata/uid", &metadata["uid"])];
    steps.push(test("/metadata/ownerReferences", &metadata["ownerReferences"]));
    let guards = steps.len();
    let mut restored = live.clone();
    put_over(&mut restored, body);
    add_steps("", live, &restored, &mut steps);
    (steps.len() > guards).then(|| Restore { patch: steps.into(), version: metadata["resourceVersion"].clone() })
}

/// Whether `after` has fields of a FieldsV1 that `body` does not have.
fn leaves(after: &Value, body: &Value, fields: &Value) -> bool {
    let mut below = fields.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
    below.any(|(step, below)| match (child(after, step).filter(|value| !value.is_null()), child(body, step)) {
        (None, _) => false,
        (Some(_), None) => !is_hollow(below),
        (Some(after), Some(body)) => leaves(after, body, below),
    })
}

/// The merge patch that migrates ownership from patches to applies, if `body` does not send all of the patched fields.
///
/// If the status reports everything as desired, no field with a default was sent and is no longer sent. So a field that is not at
/// its default was set by a webhook for creations only. It is left without an owner: otherwise, the apply that follows would
/// remove it, and pods would be replaced.
///
/// # Errors
/// If `live` has an unexpected shape.
pub fn ownership_migration(
    kind: &ResourceKind,
    live: &Value,
    body: &Value,
    reported: Reported,
) -> serde_json::Result<Option<Value>> {
    let metadata = &live["metadata"];
    let Some(mut patched) = Owners::read(&metadata.to_string())?.patched else { return Ok(None) };
    // Another tag of an image may change the default pull policy; the earlier default is then none any more.
    let (mut left, mut after) = (patched.clone(), live.clone());
    put_over(&mut after, body);
    disown_defaults(kind, &mut left, &after);
    if sends(body, &left) {
        return Ok(None);
    }
    disown_defaults(kind, &mut patched, live);
    if reported == Reported::All {
        disown_filled_in(kind, &mut patched, live);
    }
    let managed = metadata["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let managed = migrated(managed, patched);
    Ok(Some(json!({ "metadata": { "resourceVersion": metadata["resourceVersion"], "managedFields": managed } })))
}

/// Whether `body` has all fields that a FieldsV1 names.
fn sends(body: &Value, fields: &Value) -> bool {
    let mut below = fields.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
    below.all(|(step, below)| child(body, step).map_or_else(|| is_hollow(below), |body| sends(body, below)))
}

/// Whether we own only structs within it, and no field of them: a creation owns structs that were filled in, like `rollingUpdate`
/// in the strategy of a Deployment. They may stay if nothing is sent in their place.
fn is_hollow(fields: &Value) -> bool {
    fields.as_object().is_some_and(|below| {
        // An empty set stands for a value.
        let only_itself =
            |below: &Value| below.as_object().is_some_and(|below| below.len() == 1 && below.contains_key("."));
        !below.is_empty() && below.iter().all(|(step, below)| step != "." && only_itself(below))
    })
}

fn repaired(live: &Value, body: &Value, additions: &Additions) -> Value {
    let mut repaired = live.clone();
    for addition in additions.beyond(body) {
        remove(&mut repaired, &addition.path);
        if let Some(twin) = twin(&addition.path) {
            remove(&mut repaired, &twin);
        }
    }
    if is_cluster_ip(body) && !is_cluster_ip(live) {
        remove_fields_of_other_types(&mut repaired["spec"]);
    }
    put_over(&mut repaired, body);
    repaired
}

/// The field that the API server copies from this one, and from which it would fill in this one again: a manager that applied one
/// name of the service account does not own the other.
/// (kubernetes: pkg/apis/core/v1/conversion.go)
fn twin(path: &[Box<str>]) -> Option<Vec<Box<str>>> {
    let (last, above) = path.split_last()?;
    let twin = match &**last {
        "f:serviceAccountName" => "f:serviceAccount",
        "f:serviceAccount" => "f:serviceAccountName",
        _ => return None,
    };
    Some(above.iter().cloned().chain([twin.into()]).collect())
}

/// Removes what the API server rejects in a Service of the type ClusterIP, or removes together with the type unless it is
/// changed.
fn remove_fields_of_other_types(spec: &mut Value) {
    const OF_OTHER_TYPES: [&str; 7] = [
        "allocateLoadBalancerNodePorts",
        "externalName",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "loadBalancerClass",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
    ];
    if let Some(spec) = spec.as_object_mut() {
        OF_OTHER_TYPES.iter().for_each(|field| drop(spec.remove(*field)));
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        port.remove("nodePort");
    }
}

/// Removes the value at a path, and parents that become empty.
fn remove(place: &mut Value, path: &[Box<str>]) {
    let Some((step, rest)) = path.split_first() else { return };
    let is_removed = match rest {
        [] => true,
        _ => child_mut(place, step).is_some_and(|next| {
            remove(next, rest);
            next.as_object().is_some_and(Map::is_empty) || next.as_array().is_some_and(Vec::is_empty)
        }),
    };
    if !is_removed {
        return;
    }
    match (place, step.strip_prefix("f:")) {
        (Value::Object(fields), Some(name)) => drop(fields.remove(name)),
        (Value::Array(items), None) => {
            if let Some(selector) = Selector::parse(step) {
                items.retain(|item| !selector.matches(item));
            }
        }
        _ => {}
    }
}

fn child_mut<'a>(place: &'a mut Value, step: &str) -> Option<&'a mut Value> {
    if let Some(name) = step.strip_prefix("f:") {
        return place.get_mut(name);
    }
    let selector = Selector::parse(step)?;
    place.as_array_mut()?.iter_mut().find(|item| selector.matches(item))
}

/// The merge patch that leads from one value to another; `None` if they are the same.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let removed = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = new.iter().filter_map(|(name, value)| {
        let changed = old.get(name).map_or_else(|| Some(value.clone()), |old| difference(old, value))?;
        Some((name.clone(), changed))
    });
    let patch: Map<String, Value> = removed.chain(changed).collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Adds the steps of the JSON patch that lead from one value to another. Lists are replaced as a whole.
fn add_steps(path: &str, before: &Value, after: &Value, steps: &mut Vec<Value>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            steps.extend([test(path, before), json!({ "op": "replace", "path": path, "value": after })]);
        }
        return;
    };
    let below = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    for (name, value) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
        steps.extend([test(&below(name), value), json!({ "op": "remove", "path": below(name) })]);
    }
    for (name, value) in new {
        match old.get(name) {
            Some(old) => add_steps(&below(name), old, value, steps),
            None if value.is_null() => {}
            None => {
                let value = without_nulls(value);
                steps.extend([
                    test(&below(name), &Value::Null),
                    json!({ "op": "add", "path": below(name), "value": value }),
                ]);
            }
        }
    }
}

/// In the API server, a test for null holds where no value exists.
fn test(path: &str, value: &Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

/// The value without null fields, like the result of a merge patch into nothing.
fn without_nulls(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let fields = fields.iter().filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
}

#[cfg(any(test, feature = "testing"))]
pub(crate) mod patched;
#[cfg(test)]
mod tests;
