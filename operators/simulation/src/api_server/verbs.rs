//! What the API server does for each verb, in the order of the real one: the object is decoded and defaulted, the request is
//! admitted, the owners of its fields are determined, the object is validated, and then it is stored if it differs.
//!
//! Not modelled, and refused as such: watches (which are streams), evictions, applies to `scale`, deletions of collections, the
//! creation of an object by an update of its status, and `managedFields` in a creation. Of all other things that a request
//! may ask for, its type has no field.

use std::sync::Arc;

use jiff::Timestamp;

use self::call::VerbCall;
use super::errors::{bad_request, not_served, unmodelled};
use super::kinds::Kinds;
use super::request::{Answer, ApiError, ApiRequest, Patch, Subresource, Verb};
use super::state::StoredState;
use super::{deletion, kinds};

pub(crate) mod admission;
pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod create;
pub(crate) mod generation;
pub(crate) mod metadata;
pub(crate) mod namespaces;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod replicas;
pub(crate) mod scale;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod undeclared;
pub(crate) mod update;

pub use read::metadata_only;

/// Performs a request.
fn perform(state: &mut StoredState, kinds: &Kinds, request: &ApiRequest, now: Timestamp) -> Result<Answer, ApiError> {
    let kind = kinds.get(request.kind).ok_or_else(not_served)?;
    let call = VerbCall::new(request, kind, kinds.scale_paths(request.kind), now);
    check_path(&call)?;
    let mut answer = dispatch(state, &call)?;
    if request.metadata_only && read::is_object(&answer.body) {
        answer.body = Arc::new(metadata_only(&answer.body));
    }
    Ok(answer)
}

fn dispatch(state: &mut StoredState, call: &VerbCall<'_>) -> Result<Answer, ApiError> {
    use Subresource::{Scale, Status};
    match (&call.request.verb, call.request.subresource) {
        (Verb::Get, None | Some(Status)) => read::get(state, call),
        (Verb::List(options), None) => read::list(state, call, options),
        (Verb::Create { body, strict }, None) => create::create(state, call, body, *strict),
        (Verb::Update { body }, None | Some(Status)) => update::replace(state, call, body),
        (Verb::Patch(Patch::Apply { body, force }), None | Some(Status)) => apply::apply(state, call, body, *force),
        (Verb::Patch(Patch::Merge(merge)), None | Some(Status)) => {
            patch::patch(state, call, |object| patch::merge(object, merge))
        }
        (Verb::Patch(Patch::Json(steps)), None | Some(Status)) => {
            patch::patch(state, call, |object| patch::steps(object, steps))
        }
        (Verb::Delete(options), None) => deletion::delete(state, call, options),
        (Verb::Get, Some(Scale)) => scale::get(state, call),
        (Verb::Update { body }, Some(Scale)) => scale::replace(state, call, body),
        (Verb::Patch(Patch::Merge(merge)), Some(Scale)) => {
            scale::patch(state, call, |object| patch::merge(object, merge))
        }
        (Verb::Patch(Patch::Json(steps)), Some(Scale)) => {
            scale::patch(state, call, |object| patch::steps(object, steps))
        }
        (Verb::Watch(_), _) => Err(unmodelled("a watch is no request with one answer")),
        (
            Verb::Get | Verb::List(_) | Verb::Create { .. } | Verb::Update { .. } | Verb::Patch(_) | Verb::Delete(_),
            _,
        ) => Err(unmodelled(format!("this verb of the subresource {:?}", call.request.subresource))),
    }
}

/// The path has a namespace if the kind has, and a subresource only if the kind has it.
fn check_path(call: &VerbCall<'_>) -> Result<(), ApiError> {
    let kinds::Kind { namespaced, status, scale, plural, .. } = call.kind;
    let is_list = matches!(call.request.verb, Verb::List(_));
    match (namespaced, &call.request.namespace) {
        (true, None) if !is_list => return Err(bad_request("an empty namespace may not be set during creation")),
        (false, Some(_)) => return Err(not_served()),
        _ => {}
    }
    let served = match call.request.subresource {
        None => true,
        Some(Subresource::Status) => *status,
        Some(Subresource::Scale) => *scale,
        Some(Subresource::Eviction) => plural == "pods",
    };
    if served { Ok(()) } else { Err(not_served()) }
}
