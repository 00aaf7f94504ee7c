//! How snapshots fare.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{is_default, known};

/// How snapshots fare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupStatus {
    /// When the schedule is due next.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub next: Option<Timestamp>,
    /// The last time of the schedule that a snapshot was made for.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub last_scheduled: Option<Timestamp>,
    /// How many times of the schedule were missed and not made up for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<i64>,
    /// The SampleDBSnapshot that is being taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// The last snapshot that was taken.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_successful: BackupSuccess,
    /// The last snapshot that was verified.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_verified: BackupVerified,
    /// The last snapshot that could not be taken or verified.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_failure: BackupFailure,
    /// How many have failed since the last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consecutive_failures: Option<i32>,
    /// How many Ready snapshots there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i32>,
}

/// A snapshot that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupSuccess {
    /// The SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it was complete.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub time: Option<Timestamp>,
    /// The size of its files, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// How many seconds it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
}

/// A snapshot that was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupVerified {
    /// The SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When its verification ended.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub time: Option<Timestamp>,
    /// How many seconds it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
}

/// A snapshot that could not be taken or verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupFailure {
    /// The SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it failed.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub time: Option<Timestamp>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
