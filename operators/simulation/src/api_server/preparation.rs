//! What the API server makes of an object before it stores it: it decodes, defaults, resets and allocates, and validates.
//!
//! The order of the real one is: [`decode`] (unknown fields, defaults, the form of values), then the managed fields are
//! computed from the part that a write may own ([`ownable`]), then [`prepare_creation`] or [`prepare_update`] reset and fill in
//! what only the server decides (status, cluster IPs, the selector of a Job), and validate. So the writer owns the defaults, and
//! no one owns what was filled in afterwards.
//!
//! Not modelled, so scenarios write only objects that satisfy them:
//! - CEL rules and `pattern` of CRDs are not evaluated.
//! - Of the validation of built-in kinds, only what a manager of workloads meets is checked: selectors, containers, strategies,
//!   counts, sizes, exit codes of Jobs, immutable fields. Names, labels and references are not. The source of a PersistentVolume
//!   can be changed.
//! - Unknown fields of built-in kinds stay, even if the request is strict.
//! - Of the admission plugins, pods get tolerations, priority and account, but no volume with the account's token; PVCs get no
//!   finalizer (`actors/claims.rs` adds it), and each StorageClass allows growth; Namespaces get no `spec.finalizers`.
//! - `spec.nodeName` of a pod may be set once by any write, since there is no subresource `binding`.
//!
//! A built-in kind whose defaults are not known, a keyword of a CRD that is not known, the PriorityClass of a pod, IPv6 of a
//! Service and evictions are refused with the code 501.

use serde_json::Value;

use super::kinds::Kind;
use super::request::{ApiError, Subresource};
use field_error::refuse;

mod creation;
mod custom;
mod defaults;
mod encoding;
mod field_error;
mod immutable;
mod quantity;
mod reset;
mod services;
mod validity;
mod values;

pub use reset::ownable;

/// Makes a new object what is stored. Its name, namespace and uid must be set.
///
/// # Errors
///
/// Unknown fields if the request is strict, invalid fields, and what is not modelled.
pub fn create(kind: &Kind, object: &mut Value, strict: bool) -> Result<(), ApiError> {
    decode(kind, object, strict)?;
    prepare_creation(kind, object)
}

/// Makes a changed object what is stored.
///
/// # Errors
///
/// Invalid fields, changes of immutable fields, and what is not modelled.
pub fn update(
    kind: &Kind,
    before: &Value,
    after: &mut Value,
    subresource: Option<Subresource>,
) -> Result<(), ApiError> {
    decode(kind, after, false)?;
    prepare_update(kind, before, after, subresource)
}

/// Decodes an object as the API server does: drops unknown fields of custom kinds, brings values into their form, and adds the
/// defaults. The writer owns all of the result.
///
/// # Errors
///
/// Unknown fields if the request is strict, values that cannot be decoded, and kinds whose defaults are not known.
pub fn decode(kind: &Kind, object: &mut Value, strict: bool) -> Result<(), ApiError> {
    encoding::normalize(kind, object)?;
    match &kind.schema {
        Some(schema) => custom::decode(kind, schema, object, strict),
        None if encoding::is_built_in(kind) => defaults::fill_in(&kind.plural, object),
        None => Ok(()),
    }
}

/// Resets, fills in and validates a decoded object that is to be created. Its name, namespace and uid must be set.
///
/// # Errors
///
/// Invalid fields, and what is not modelled.
pub fn prepare_creation(kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    // The kubelet creates its Node together with the status.
    if kind.status && kind.plural != "nodes" {
        values::remove(object, "status");
    }
    if let Some(schema) = &kind.schema {
        custom::fill_in(schema, object);
        return custom::validate(kind, schema, None, object);
    }
    encoding::normalize_all(kind, object)?;
    creation::prepare(kind, object)?;
    refuse(kind, object, validity::problems(&kind.plural, object))
}

/// Checks that an object, before it is decoded, gives one that is immutable no contents that are empty instead of absent: the API
/// server takes that for a change.
///
/// # Errors
///
/// It does.
pub fn check_emptied(kind: &Kind, before: &Value, after: &Value) -> Result<(), ApiError> {
    refuse(kind, before, immutable::emptied(&kind.plural, before, after))
}

/// Resets, fills in and validates a decoded object that is to replace `before`.
///
/// # Errors
///
/// Invalid fields, changes of immutable fields, and what is not modelled.
pub fn prepare_update(
    kind: &Kind,
    before: &Value,
    after: &mut Value,
    subresource: Option<Subresource>,
) -> Result<(), ApiError> {
    reset::before_update(kind, before, after, subresource)?;
    if let Some(schema) = &kind.schema {
        custom::fill_in(schema, after);
        return custom::validate(kind, schema, Some(before), after);
    }
    encoding::normalize_all(kind, after)?;
    if kind.plural == "services" {
        services::allocate(Some(before), after)?;
    }
    let fixed = immutable::problems(&kind.plural, before, after);
    let wrong = validity::problems(&kind.plural, after);
    let is_checked_first = ["deployments", "persistentvolumeclaims", "replicasets", "statefulsets"];
    let all = if is_checked_first.contains(&&*kind.plural) { [wrong, fixed] } else { [fixed, wrong] };
    refuse(kind, after, all.concat())
}

#[cfg(test)]
mod tests;
