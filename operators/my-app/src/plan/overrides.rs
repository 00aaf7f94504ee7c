//! Pure: `spec.podOverrides`: a pod template that is merged over the operator's.
//!
//! The CRD accepts any object, so that it stays short. This module checks whether the object is a pod template that may be merged, before
//! the operator writes anything. After that, a dry run shows whether the API server accepts such pods.

use api::my_app::PodOverrides;
use serde_json::{Map, Value, json};

use super::free_json;
use crate::MyApp;

mod limit;
mod merge;
mod permitted;
mod protected;
mod rejection;
mod strict;

pub use limit::OverrideLimit;
pub(super) use merge::merge;
use rejection::PATH;
pub(super) use rejection::Rejection;

/// The largest size of `spec.podOverrides.spec`, in bytes of JSON. A pod template of a thousand lines has half of that.
const MAX_BYTES: usize = 64 * 1024;

/// The largest number of items in each of its lists. A volume takes at least three bytes of JSON, and some 3 KB of memory.
const MAX_ITEMS: usize = 512;

/// The template to merge over the operator's; `None` if the spec has no overrides.
pub(super) fn of(app: &MyApp, limit: OverrideLimit) -> Result<Option<Value>, Rejection> {
    let Some(PodOverrides { metadata, spec }) = &app.spec.pod_overrides else { return Ok(None) };
    let metadata = metadata.clone().unwrap_or_default();
    // First the checks that need no parsing, then those that need only the names of fields.
    permitted::check_enabled(limit)?;
    let fields = parsed(spec.text())?;
    permitted::check_fields(&metadata, &fields, limit)?;
    if let Some(why) = free_json::too_long(&fields, &format!("{PATH}.spec"), MAX_ITEMS) {
        return Err(Rejection::invalid(why));
    }
    let spec = strict::pod_spec(Value::Object(fields)).map_err(Rejection::invalid)?;
    protected::check(&metadata, &spec).map_err(Rejection::invalid)?;
    let mut template = json!({ "metadata": metadata });
    template["spec"] = spec;
    Ok(Some(template))
}

fn parsed(text: &str) -> Result<Map<String, Value>, Rejection> {
    const REMEDY: &str = "shorten it, or keep content in ConfigMaps and reference them";
    free_json::parse(&format!("{PATH}.spec"), text, MAX_BYTES, REMEDY).map_err(Rejection::invalid)
}

#[cfg(test)]
mod tests;
