//! `spec.podOverrides`: a pod template that is merged over ours. Pure.
//!
//! The definition takes any object for it, so that it stays short; whether it is a pod template, and one that may be merged, is
//! judged here, before anything is written. What the API server makes of such pods it is asked in a dry run after that.

use std::fmt;
use std::str::FromStr;

use api::my_app::{MyAppReason, PodOverrides};
use serde_json::{Map, Value, json};

use super::free_json;
use crate::MyApp;

mod merge;
mod permitted;
mod protected;
mod strict;

pub(super) use merge::merge;

/// How much of pods MyApps may override; an administrator's to say (docs/security.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Nothing.
    None,
    /// Where pods run, and with which priority; labels and annotations.
    #[default]
    Placement,
    /// All that a pod may have in the namespace.
    All,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Self::None),
            "placement" => Ok(Self::Placement),
            "all" => Ok(Self::All),
            _ => Err("it takes none, placement or all".to_owned()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Placement => "placement",
            Self::All => "all",
        })
    }
}

/// Why overrides are not merged: a condition's reason, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: MyAppReason,
    pub(super) message: String,
}

impl Refusal {
    fn invalid(message: impl Into<String>) -> Self {
        Self { reason: MyAppReason::PodOverridesInvalid, message: message.into() }
    }
}

/// Where overrides are in a MyApp, as messages tell it.
const PATH: &str = "spec.podOverrides";

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
