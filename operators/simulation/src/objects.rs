//! The objects in the namespace of users.

use serde_json::Value;

use crate::api_server::state::StoredState;

/// The namespace of all objects of users.
pub const NAMESPACE: &str = "team";

/// The objects of users of a kind.
pub fn objects<'a>(state: &'a StoredState, plural: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let kind = state.kinds().plural(plural);
    let all = kind.into_iter().flat_map(|kind| state.all(kind));
    all.filter(|((namespace, _), _)| namespace == NAMESPACE).map(|((_, name), object)| (name.as_str(), &**object))
}
