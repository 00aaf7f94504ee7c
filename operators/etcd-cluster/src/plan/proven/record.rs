//! Pure: what a member has been seen to run with, as its claim records it. Pure data.

use std::collections::BTreeMap;

use api::etcd_cluster::PodPolicy;
use serde::{Deserialize, Serialize};

use crate::plan::names;

/// All of a spec that a member's pod is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proven {
    pub(super) template: String,
    pub(super) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<PodPolicy>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) options: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quota: Option<String>,
}

impl Proven {
    /// Its fingerprint.
    #[must_use]
    pub fn mark(&self) -> String {
        mark(&self.template, &self.version)
    }
}

/// A fingerprint of what a pod is made of, short enough for a label.
pub(in crate::plan) fn mark(template: &str, version: &str) -> String {
    format!("{:016x}", names::fingerprint(&format!("{template} {version}")))
}
