//! Pure: the patch that makes a child as it should be where an apply would not, because of what others have added; and the one
//! that puts back what they have changed, which costs less than an apply.
//!
//! The first is made from the live object, whole, and of that very version: it takes away the additions that are to go, and puts
//! in what we send. The fields that it puts in are then ours by a patch, as those of a creation are, and count as ours; an
//! apply that does not send all of them gathers them first ([`gathering`]).

use serde_json::{Map, Value, json};

use super::additions::{Additions, child, is_cluster_ip};
use super::defaults::{disown_defaults, disown_filled_in};
use super::overlay::put_over;
use super::ownership::{Owners, gathered};
use super::rules::rules;
use super::selector::Selector;
use crate::plan::meta::Kind;
use crate::plan::reported::Reported;

/// What takes away what others have added.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// A merge patch, of the version that it was made from.
    pub patch: Value,
    /// Whether fields stay that are ours and not sent any more: what takes them away is an apply.
    pub leaves: bool,
}

/// What makes `live` be as `body` says; `None` if no addition is to go.
///
/// # Errors
/// If `live` is not of the shape expected.
pub fn of(kind: &Kind, live: &Value, body: &Value) -> serde_json::Result<Option<Repair>> {
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

/// What puts back what others have changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Restore {
    /// A JSON patch. It bears no version, so that a write in between which is none of its business, such as one of the status, costs
    /// nothing: the API server tries again by itself. Instead it tests that the child is the very one and still belongs to whom it
    /// did, and, of each place that it changes, that what is there is what was seen.
    pub patch: Value,
    /// The version that was seen.
    pub version: Value,
}

/// What puts what `body` says into `live`; `None` if it is there already.
#[must_use]
pub fn restoring(live: &Value, body: &Value) -> Option<Restore> {
    let metadata = &live["metadata"];
    let mut steps = vec![test("/metadata/uid", &metadata["uid"])];
    steps.push(test("/metadata/ownerReferences", &metadata["ownerReferences"]));
    let guards = steps.len();
    let mut restored = live.clone();
    put_over(&mut restored, body);
    lead("", live, &restored, &mut steps);
    (steps.len() > guards).then(|| Restore { patch: steps.into(), version: metadata["resourceVersion"].clone() })
}

/// Whether `after` has some of what a FieldsV1 names and `body` has not.
fn leaves(after: &Value, body: &Value, fields: &Value) -> bool {
    let mut below = fields.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
    below.any(|(step, below)| match (child(after, step).filter(|value| !value.is_null()), child(body, step)) {
        (None, _) => false,
        (Some(_), None) => !is_hollow(below),
        (Some(after), Some(body)) => leaves(after, body, below),
    })
}

/// The merge patch that makes ours by apply what is ours by a patch, where `body` does not send all of that; else `None`.
///
/// Where all was told to be as asked, nothing of what the API server fills in has been sent and is so no longer: if it is not at its
/// default, a webhook that looks at creations alone has put it there. It becomes nobody's, for the apply that follows would take it
/// away, and pods would be replaced.
///
/// # Errors
/// If `live` is not of the shape expected.
pub fn gathering(kind: &Kind, live: &Value, body: &Value, told: Reported) -> serde_json::Result<Option<Value>> {
    let metadata = &live["metadata"];
    let Some(mut patched) = Owners::read(&metadata.to_string())?.patched else { return Ok(None) };
    // With another tag of an image another way to pull it is the default, and what was filled in before is none any more.
    let (mut left, mut after) = (patched.clone(), live.clone());
    put_over(&mut after, body);
    disown_defaults(kind, &mut left, &after);
    if sends(body, &left) {
        return Ok(None);
    }
    disown_defaults(kind, &mut patched, live);
    if told == Reported::All {
        disown_filled_in(kind, &mut patched, live);
    }
    let managed = metadata["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let managed = gathered(managed, patched);
    Ok(Some(json!({ "metadata": { "resourceVersion": metadata["resourceVersion"], "managedFields": managed } })))
}

/// Whether `body` has all that a FieldsV1 names.
fn sends(body: &Value, fields: &Value) -> bool {
    let mut below = fields.as_object().into_iter().flatten().filter(|(step, _)| *step != ".");
    below.all(|(step, below)| child(body, step).map_or_else(|| is_hollow(below), |body| sends(body, below)))
}

/// Whether nothing but structs within it are ours, each itself and without a field: a creation owns those that were filled in, like
/// the pace in a Deployment's strategy. Where nothing is sent in their place they may stay.
fn is_hollow(fields: &Value) -> bool {
    fields.as_object().is_some_and(|below| {
        // What is empty stands for a value.
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
        remove_what_a_type_brings(&mut repaired["spec"]);
    }
    put_over(&mut repaired, body);
    repaired
}

/// The field that the API server fills in with the value of this one, and from which it would fill this one in again: who has
/// applied one name of the service account does not own the other.
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

/// What the API server refuses in a Service of the type ClusterIP, or takes away with the type unless it is changed.
fn remove_what_a_type_brings(spec: &mut Value) {
    const BROUGHT: [&str; 7] = [
        "allocateLoadBalancerNodePorts",
        "externalName",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "loadBalancerClass",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
    ];
    if let Some(spec) = spec.as_object_mut() {
        BROUGHT.iter().for_each(|field| drop(spec.remove(*field)));
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        port.remove("nodePort");
    }
}

/// Takes out what is at a path, with what that leaves empty above it.
fn remove(place: &mut Value, path: &[Box<str>]) {
    let Some((step, rest)) = path.split_first() else { return };
    let goes = match rest {
        [] => true,
        _ => child_mut(place, step).is_some_and(|next| {
            remove(next, rest);
            next.as_object().is_some_and(Map::is_empty) || next.as_array().is_some_and(Vec::is_empty)
        }),
    };
    if !goes {
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
    let gone = old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = new.iter().filter_map(|(name, value)| {
        let changed = old.get(name).map_or_else(|| Some(value.clone()), |old| difference(old, value))?;
        Some((name.clone(), changed))
    });
    let patch: Map<String, Value> = gone.chain(changed).collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Adds the steps of the JSON patch that lead from one value to another. Lists are replaced whole.
fn lead(path: &str, before: &Value, after: &Value, steps: &mut Vec<Value>) {
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
            Some(old) => lead(&below(name), old, value, steps),
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

/// The API server takes a test for null to hold where nothing is.
fn test(path: &str, value: &Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

/// What a merge into nothing would make of it.
fn without_nulls(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let fields = fields.iter().filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
}

#[cfg(any(test, feature = "testing"))]
pub(crate) mod patched;
#[cfg(test)]
mod tests;
