//! The metadata of objects: what a request may say in it, and what the API server keeps.

use serde_json::{Map, Value, json};

use super::call::VerbCall;
use crate::api_server::errors::{
    Cause, OBJECT_MODIFIED, already_exists, bad_request, conflict, forbidden_field, invalid, invalid_as, invalid_value,
};
use crate::api_server::managers::Managers;
use crate::api_server::request::{ApiError, Propagation};
use crate::api_server::state::{ObjectKey, StoredObject, StoredState};

/// The finalizer of an object that the garbage collector removes after its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents the garbage collector releases first.
pub(crate) const ORPHAN: &str = "orphan";

/// The metadata of an object, which it gets if it has none.
pub(crate) fn of(object: &mut Value) -> Result<&mut Map<String, Value>, ApiError> {
    let fields = object.as_object_mut().ok_or_else(|| bad_request("the body is no object"))?;
    let metadata = fields.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata.as_object_mut().ok_or_else(|| bad_request("the metadata is no object"))
}

/// A text in the metadata; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    value(object, field).and_then(Value::as_str).unwrap_or_default()
}

/// A field of the metadata.
fn value<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(field).filter(|value| !value.is_null())
}

/// A number in the metadata.
pub(crate) fn number(object: &Value, field: &str) -> Option<i64> {
    value(object, field)?.as_i64()
}

/// The object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    value(object, "deletionTimestamp").is_some()
}

/// A finalizer holds the object.
pub(crate) fn has_finalizers(object: &Value) -> bool {
    !finalizers(object).is_empty()
}

fn finalizers(object: &Value) -> Vec<String> {
    let all = value(object, "finalizers").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(|finalizer| finalizer.as_str().map(str::to_owned)).collect()
}

/// Sets the finalizers of the garbage collector as a deletion asks for them.
pub(crate) fn set_collection_finalizers(object: &mut Value, propagation: Propagation) -> Result<(), ApiError> {
    let before = finalizers(object);
    let mut after: Vec<_> = before.iter().filter(|one| *one != FOREGROUND && *one != ORPHAN).cloned().collect();
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => after.push(FOREGROUND.to_owned()),
        Propagation::Orphan => after.push(ORPHAN.to_owned()),
    }
    let is_same = before.len() == after.len() && after.iter().all(|one| before.contains(one));
    if is_same {
        return Ok(());
    }
    let metadata = of(object)?;
    if after.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), json!(after));
    }
    Ok(())
}

/// Checks that a body is of the kind of the request. Only applies have to say it.
pub(crate) fn check_type(call: &VerbCall<'_>, object: &mut Value, required: bool) -> Result<(), ApiError> {
    let fields = object.as_object_mut().ok_or_else(|| bad_request("the body is no object"))?;
    for (field, expected) in [("apiVersion", call.api_version()), ("kind", &*call.kind.kind)] {
        let found = fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        if found.is_empty() && !required {
            fields.insert(field.to_owned(), json!(expected));
        } else if found != expected {
            return Err(bad_request(format!(
                "the {field} of the object ({found}) is not that of the URL ({expected})"
            )));
        }
    }
    Ok(())
}

/// Checks that a body is of the namespace of the request.
pub(crate) fn check_namespace(call: &VerbCall<'_>, object: &Value) -> Result<(), ApiError> {
    let namespace = text(object, "namespace");
    if namespace.is_empty() || namespace == call.namespace() {
        return Ok(());
    }
    Err(bad_request("the namespace of the provided object does not match the namespace sent on the request"))
}

/// Checks that a body is of the object of the request.
pub(crate) fn check_name(name: &str, object: &Value, required: bool) -> Result<(), ApiError> {
    match text(object, "name") {
        found if found == name => Ok(()),
        "" if !required => Ok(()),
        "" => Err(bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        found => {
            Err(bad_request(format!("the name of the object ({found}) does not match the name on the URL ({name})")))
        }
    }
}

/// Gives a new object what the API server decides.
pub(crate) fn initialize(
    state: &mut StoredState,
    call: &VerbCall<'_>,
    object: &mut Value,
    name: &str,
) -> Result<(), ApiError> {
    let uid = state.new_uid();
    let metadata = of(object)?;
    for field in [
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "namespace",
        "resourceVersion",
        "selfLink",
    ] {
        metadata.remove(field);
    }
    metadata.insert("name".to_owned(), json!(name));
    metadata.insert("uid".to_owned(), json!(uid));
    metadata.insert("creationTimestamp".to_owned(), json!(call.second().to_string()));
    if call.kind.namespaced {
        metadata.insert("namespace".to_owned(), json!(call.namespace()));
    }
    Ok(())
}

/// Keeps in an update what only the API server decides, and what the body does not say.
pub(crate) fn carry_over(before: &Value, after: &mut Value) -> Result<(), ApiError> {
    let kept = |field: &str| value(before, field).cloned();
    let metadata = of(after)?;
    metadata.remove("selfLink");
    for field in ["creationTimestamp", "generation"] {
        match kept(field) {
            Some(value) => metadata.insert(field.to_owned(), value),
            None => metadata.remove(field),
        };
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(value) = kept(field) {
            metadata.insert(field.to_owned(), value);
        }
    }
    for field in ["name", "namespace", "uid"] {
        let is_said = metadata.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if let (false, Some(value)) = (is_said, kept(field)) {
            metadata.insert(field.to_owned(), value);
        }
    }
    Ok(())
}

/// Checks what an update may not change. `rest` is what the validation of the kind found.
pub(crate) fn check_update(
    call: &VerbCall<'_>,
    before: &Value,
    after: &Value,
    rest: Result<(), ApiError>,
) -> Result<(), ApiError> {
    let mut causes: Vec<Cause> = Vec::new();
    if is_deleting(before) {
        let old = finalizers(before);
        let new: Vec<_> = finalizers(after).into_iter().filter(|one| !old.contains(one)).collect();
        if !new.is_empty() {
            let new: Vec<_> = new.iter().map(|one| format!("{one:?}")).collect();
            let new = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                new.join(", ")
            );
            causes.push(forbidden_field("metadata.finalizers", &new));
        }
    }
    for field in ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (old, new) = (value(before, field), value(after, field));
        if old != new {
            let new = new.unwrap_or(&Value::Null);
            causes.push(invalid_value(&format!("metadata.{field}"), new, "field is immutable"));
        }
    }
    let rest = match rest {
        _ if causes.is_empty() => return rest,
        Ok(()) => Vec::new(),
        Err(error) if error.code == 422 => error.causes,
        Err(error) => return Err(error),
    };
    // The API server checks it for all kinds, and the validation of most kinds checks it again.
    let again = if call.kind.plural == "poddisruptionbudgets" { Vec::new() } else { causes.clone() };
    let causes = [causes, again, rest].concat();
    Err(invalid(call.kind, text(before, "name"), causes))
}

/// Checks the precondition that a version is, and sets the present one.
pub(crate) fn check_version(call: &VerbCall<'_>, before: &Value, after: &mut Value) -> Result<(), ApiError> {
    let (present, expected) = (text(before, "resourceVersion"), text(after, "resourceVersion"));
    let name = text(before, "name");
    if expected.is_empty() && !is_unconditional(call) {
        let cause = invalid_value("metadata.resourceVersion", &json!(0), "must be specified for an update");
        return Err(invalid_as(&call.kind.resource(), name, vec![cause]));
    }
    if !expected.is_empty() && expected.parse::<u64>().is_err() {
        return Err(bad_request(format!("the resourceVersion {expected:?} is no number")));
    }
    if !expected.is_empty() && expected != present {
        return Err(conflict(&call.kind.resource(), name, OBJECT_MODIFIED));
    }
    let present = present.to_owned();
    of(after)?.insert("resourceVersion".to_owned(), json!(present));
    Ok(())
}

/// Objects of the kind may be replaced without a version. (kubernetes: `AllowUnconditionalUpdate` of the strategies)
fn is_unconditional(call: &VerbCall<'_>) -> bool {
    call.kind.schema.is_none() && !["leases", "poddisruptionbudgets", "storageclasses"].contains(&&*call.kind.plural)
}

/// Checks that no object has the name.
pub(crate) fn check_absent(state: &StoredState, call: &VerbCall<'_>, key: &ObjectKey) -> Result<(), ApiError> {
    let Some(present) = state.stored(call.id(), key) else { return Ok(()) };
    let mut refusal = already_exists(call.kind, &key.1);
    if is_deleting(&present.value) {
        refusal.message = format!("object is being deleted: {}", refusal.message);
    }
    Err(refusal)
}

/// The object lists the owners of its fields.
pub(crate) fn lists_managers(object: &Value) -> bool {
    value(object, "managedFields").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

/// Drops the owners that a body lists, if they are those of the object: then they need not be read.
pub(crate) fn drop_same_managers(before: &Value, after: &mut Value) -> Result<(), ApiError> {
    if value(before, "managedFields") == value(after, "managedFields") {
        of(after)?.remove("managedFields");
    }
    Ok(())
}

/// Writes the owners of its fields into an object.
pub(crate) fn render(object: &mut Value, managers: &Managers) -> Result<(), ApiError> {
    let metadata = of(object)?;
    if managers.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), managers.to_value());
    }
    Ok(())
}

/// The same, of an object that is to replace another one.
pub(crate) fn render_after(object: &mut Value, managers: &Managers, before: &StoredObject) -> Result<(), ApiError> {
    let metadata = of(object)?;
    if managers.is_empty() {
        metadata.remove("managedFields");
    } else {
        let rendered = managers.to_value_after(&before.managers, &before.value);
        metadata.insert("managedFields".to_owned(), rendered);
    }
    Ok(())
}

/// Whether two objects are equal but for the owners of their fields.
pub(crate) fn is_same_but_managers(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return one == other };
    let is_same = |name: &str, one: &Value, other: &Value| match (one.as_object(), other.as_object()) {
        (Some(one), Some(other)) if name == "metadata" => {
            let fields = |of| Map::iter(of).filter(|(name, _)| *name != "managedFields");
            fields(one).eq(fields(other))
        }
        _ => one == other,
    };
    one.len() == other.len()
        && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| is_same(name, value, other)))
}
