//! The part of status that all kinds share: see [`Contract`].

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use crate::Reason;

/// Condition types of all kinds.
pub mod condition_type {
    /// The observed state matches the spec. Always present once status has been written.
    pub const READY: &str = "Ready";
    /// Changes are in progress; absent otherwise.
    pub const RECONCILING: &str = "Reconciling";
    /// The object needs attention; absent otherwise.
    pub const STALLED: &str = "Stalled";
    /// Another live manager manages the object; absent otherwise.
    pub const CONFLICT: &str = "Conflict";
}

/// Format of times in status: whole seconds, like `metav1.Time`.
pub const ISO_SECONDS: &str = "date-time";

/// A status with the [`Contract`].
pub trait ObjectStatus: Clone + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The shared part.
    fn contract(&self) -> &Contract;
    /// The shared part, mutable.
    fn contract_mut(&mut self) -> &mut Contract;
    /// Corrects the rest of the status after an effect has failed.
    fn mark_failed(&mut self) {}
}

/// Status fields that all kinds share, under the same keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// Generation of the object that this status describes; -1 before the first status.
    #[serde(default = "never_observed")]
    pub observed_generation: i64,
    /// Manager that reconciles this object, as namespace/name of its Lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Conditions: Ready always; Reconciling, Stalled and Conflict only while True.
    #[serde(default, deserialize_with = "complete_conditions")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Reads conditions. Skips incomplete ones, of which another field manager still owns some fields.
fn complete_conditions<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Condition>, D::Error> {
    let all = Vec::<PartialCondition>::deserialize(from)?;
    let complete = all.into_iter().filter_map(|part| {
        Some(Condition {
            type_: part.type_,
            status: part.status?,
            observed_generation: part.observed_generation,
            last_update_time: part.last_update_time,
            last_transition_time: part.last_transition_time?,
            reason: part.reason?,
            message: part.message,
        })
    });
    Ok(complete.collect())
}

/// A condition, possibly incomplete.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialCondition {
    #[serde(rename = "type")]
    type_: Cow<'static, str>,
    status: Option<ConditionStatus>,
    observed_generation: Option<i64>,
    last_update_time: Option<Timestamp>,
    last_transition_time: Option<Timestamp>,
    reason: Option<Reason>,
    #[serde(default)]
    message: String,
}

fn never_observed() -> i64 {
    -1
}

impl Default for Contract {
    fn default() -> Self {
        Self { observed_generation: never_observed(), managed_by: None, conditions: Vec::new() }
    }
}

impl Contract {
    /// The condition of that type, if present.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|c| c.type_ == type_)
    }

    /// Whether the condition of that type is True.
    #[must_use]
    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|c| c.status == ConditionStatus::True)
    }
}

/// One aspect of an object's state, in the shape of `metav1.Condition`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition, in CamelCase.
    #[serde(rename = "type")]
    pub type_: Cow<'static, str>,
    /// Whether the condition holds.
    pub status: ConditionStatus,
    /// Generation of the object that this condition describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Same time under an older key; only of kinds that had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_update_time: Option<Timestamp>,
    /// Time at which the status last changed.
    #[schemars(schema_with = "date_time")]
    pub last_transition_time: Timestamp,
    /// Reason for the status: one CamelCase word, for programs.
    pub reason: Reason,
    /// Explanation of the status, for people.
    #[serde(default)]
    pub message: String,
}

fn date_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": ISO_SECONDS })
}

/// Status of a condition: True, False or Unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The operator cannot tell.
    Unknown,
}
