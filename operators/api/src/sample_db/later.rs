//! Places that are kept for what is not built yet.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A place for what is not built yet. Its schema takes anything, so that nothing is dropped in silence, and the rule
/// beside the field refuses whatever is given, with a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotBuilt {}

/// The rule that refuses it, but not of an object that has it already (definitions may have gone back to an earlier
/// version): such a one must still be editable, and its finalizers removable. The API server cannot see by itself that
/// what it has no schema for has not changed.
pub(super) const ADDED_BEFORE: &str = "oldSelf.hasValue()";

impl JsonSchema for NotBuilt {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NotBuilt".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}
