//! `spec.podOverrides`: a pod template that is merged over ours. Pure.
//!
//! The definition takes any object for it, so that it stays short; whether it is a pod template, and one that may be merged, is
//! judged here, before anything is written. What the API server makes of such pods it is asked in a dry run after that.

use api::my_app::PodOverrides;
use serde_json::{Map, Value, json};

use super::free_json;
use crate::MyApp;

mod limit;
mod merge;
mod permitted;
mod protected;
mod refusal;
mod strict;

pub use limit::Limit;
pub(super) use merge::merge;
use refusal::PATH;
pub(super) use refusal::Refusal;

/// How many bytes of JSON `spec.podOverrides.spec` may have. A pod template of a thousand lines has half of them.
const LONGEST: usize = 64 * 1024;

/// How many items each of its lists may have. A volume takes three bytes of JSON at least, and some 3 KB as what it is.
const MOST: usize = 512;

/// The template to merge over ours, as it is written; nothing if there is none.
pub(super) fn of(app: &MyApp, limit: Limit) -> Result<Option<Value>, Refusal> {
    let Some(PodOverrides { metadata, spec }) = &app.spec.pod_overrides else { return Ok(None) };
    let metadata = metadata.clone().unwrap_or_default();
    // Before anything is parsed, and of what is parsed before it is looked into.
    permitted::check_enabled(limit)?;
    let fields = parsed(spec.text())?;
    permitted::check_fields(&metadata, &fields, limit)?;
    if let Some(why) = free_json::too_long(&fields, &format!("{PATH}.spec"), MOST) {
        return Err(Refusal::invalid(why));
    }
    let spec = strict::pod_spec(Value::Object(fields)).map_err(Refusal::invalid)?;
    protected::check(&metadata, &spec).map_err(Refusal::invalid)?;
    let mut template = json!({ "metadata": metadata });
    template["spec"] = spec;
    Ok(Some(template))
}

fn parsed(text: &str) -> Result<Map<String, Value>, Refusal> {
    const REMEDY: &str = "ask for less, or keep contents in ConfigMaps and name them";
    free_json::parse(&format!("{PATH}.spec"), text, LONGEST, REMEDY).map_err(Refusal::invalid)
}

#[cfg(test)]
mod tests;
