//! The defaults of PersistentVolumeClaims.

use serde_json::Value;

use crate::api_server::preparation::values::{Fields, default, object_at};

/// Adds the defaults of a PersistentVolumeClaim.
pub(super) fn claim(claim: &mut Value) {
    if let Some(spec) = object_at(claim, &["spec"]) {
        claim_spec(spec);
    }
}

/// Adds the defaults of the spec of a claim; a volume has the same.
pub(super) fn claim_spec(spec: &mut Fields) {
    default(spec, "volumeMode", "Filesystem");
}
