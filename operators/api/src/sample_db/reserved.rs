//! Fields that are reserved for features which are not supported yet.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Value of a reserved field. Its schema accepts anything, so that the API server drops nothing silently; the field's rule
/// rejects any value with a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {}

/// The rule rejects a value unless the object has one already (CRDs may have been downgraded): such an object must stay
/// editable, and its finalizers removable. Without a schema, the API server cannot detect that a value is unchanged.
pub(super) const ALREADY_SET: &str = "oldSelf.hasValue()";

impl JsonSchema for Reserved {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Reserved".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}
