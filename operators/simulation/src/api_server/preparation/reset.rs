//! Which fields a write cannot change: those of another subresource.
//!
//! Source: `PrepareForUpdate` and `GetResetFields` of the strategies in `pkg/registry`.

use serde_json::{Value, json};

use super::encoding::is_built_in;
use super::values::{carry, object_at, remove};
use crate::api_server::copies::without;
use crate::api_server::errors::unmodelled;
use crate::api_server::kinds::Kind;
use crate::api_server::request::{ApiError, Subresource};

/// The part of an object that a write of this subresource may own: without the fields that it cannot change, and without their
/// owners.
#[must_use]
pub fn ownable(kind: &Kind, object: &Value, subresource: Option<Subresource>) -> Value {
    if subresource != Some(Subresource::Status) {
        return without(object, kind.status.then_some("status"));
    }
    let mut part = if is_built_in(kind) { without(object, Some("spec")) } else { status_of(object) };
    for name in kept_metadata(kind) {
        if let Some(metadata) = object_at(&mut part, &["metadata"]) {
            metadata.remove(*name);
        }
    }
    part
}

/// The status alone, with what says of which object it is.
fn status_of(object: &Value) -> Value {
    let mut part = json!({ "metadata": {} });
    for name in ["apiVersion", "kind", "status"] {
        carry(object, &mut part, &[], name);
    }
    part
}

/// The metadata of built-in kinds that a write to the status does not change.
fn kept_metadata(kind: &Kind) -> &'static [&'static str] {
    match kind.plural.as_str() {
        "deployments" => &["labels"],
        "pods" => &["ownerReferences"],
        _ => &[],
    }
}

/// Gives the object the fields of `before` that the write cannot change.
pub(super) fn before_update(
    kind: &Kind,
    before: &Value,
    after: &mut Value,
    subresource: Option<Subresource>,
) -> Result<(), ApiError> {
    match subresource {
        Some(Subresource::Eviction) => return Err(unmodelled("the subresource eviction")),
        Some(Subresource::Status) if is_built_in(kind) => {
            carry(before, after, &[], "spec");
            for name in kept_metadata(kind) {
                carry(before, after, &["metadata"], name);
            }
        }
        Some(Subresource::Status) => {
            let mut kept = before.clone();
            carry(after, &mut kept, &[], "status");
            // They are set by the write itself.
            for name in ["managedFields", "resourceVersion"] {
                carry(after, &mut kept, &["metadata"], name);
            }
            *after = kept;
        }
        None | Some(Subresource::Scale) => {
            if kind.status {
                carry(before, after, &[], "status");
            }
            if kind.plural == "namespaces" && is_built_in(kind) {
                carry(before, after, &["spec"], "finalizers");
                drop_empty_spec(before, after);
            }
        }
    }
    Ok(())
}

/// A Namespace without a spec stays without.
fn drop_empty_spec(before: &Value, after: &mut Value) {
    if before.get("spec").is_none() && after.get("spec").is_some_and(|spec| *spec == json!({})) {
        remove(after, "spec");
    }
}
