//! Sample: the smallest complete kind, and the template for new ones.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::reason::reasons;
use crate::{Contract, Status};

/// A Sample keeps a ConfigMap of its own name that holds `testString`.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1alpha1",
    kind = "Sample",
    plural = "samples",
    namespaced,
    no_spec,
    status = "SampleStatus",
    printcolumn(name = "Test String", type_ = "string", json_path = ".testString"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A Sample keeps a ConfigMap of its own name that holds testString."
)]
#[serde(rename_all = "camelCase")]
pub struct SampleFields {
    /// The string to keep; empty by default, at most 1024 characters.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub test_string: String,
}

/// What is known of a Sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleStatus {
    /// The part that every kind shares.
    #[serde(flatten)]
    pub contract: Contract,
}

impl Status for SampleStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}

reasons! {
    /// Reasons of a Sample's conditions, beside [`ReconcileReason`](crate::ReconcileReason).
    SampleReason {
        /// The ConfigMap holds the string.
        Kept,
    }
}
