//! Pure: `spec.podOverrides`: a pod template that is merged over the operator's.
//!
//! The definition takes any object for it, so that it stays short; whether it is a pod template, and one that may be merged, is
//! judged here, before anything is written. After that, a dry run shows whether the API server accepts such pods.

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

pub use limit::Limit;
pub(super) use merge::merge;
use rejection::PATH;
pub(super) use rejection::Rejection;

/// How many bytes of JSON `spec.podOverrides.spec` may have. A pod template of a thousand lines has half of them.
const MAX_BYTES: usize = 64 * 1024;

/// How many items each of its lists may have. A volume takes three bytes of JSON at least, and some 3 KB as what it is.
const MAX_ITEMS: usize = 512;

/// The template to merge over the operator's, as it is written; `None` if there is none.
pub(super) fn of(app: &MyApp, limit: Limit) -> Result<Option<Value>, Rejection> {
    let Some(PodOverrides { metadata, spec }) = &app.spec.pod_overrides else { return Ok(None) };
    let metadata = metadata.clone().unwrap_or_default();
    // First the checks that need no parsing, then those of the field names alone.
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
