//! Pure: the configuration with which a member has been seen to run, as its PVC records it. Pure data.

use std::collections::BTreeMap;

use api::etcd_cluster::{PodPolicy, TlsPolicy};
use serde::{Deserialize, Serialize};

use crate::plan::names;

/// Everything in a spec that determines a member's pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownGoodConfig {
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
    #[serde(default, rename = "TLS", skip_serializing_if = "Option::is_none")]
    pub(super) tls: Option<TlsPolicy>,
}

impl KnownGoodConfig {
    /// Its fingerprint.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.template, &self.version)
    }
}

/// A fingerprint of the configuration of a pod, short enough for a label.
pub(in crate::plan) fn fingerprint(template: &str, version: &str) -> String {
    format!("{:016x}", names::fingerprint(&format!("{template} {version}")))
}
