//! Sample: the smallest complete kind, and the template for new ones.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::reason::reasons;
use crate::{Contract, ObjectStatus};

/// A Sample keeps a ConfigMap with its own name that holds `testString`.
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
    doc = "A Sample keeps a ConfigMap with its own name that holds testString."
)]
#[serde(rename_all = "camelCase")]
pub struct SampleFields {
    /// String to keep, at most 1024 characters. Default: empty.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub test_string: String,
}

/// Observed state of a Sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleStatus {
    /// The part that all kinds share.
    #[serde(flatten)]
    pub contract: Contract,
}

impl ObjectStatus for SampleStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}

reasons! {
    /// Reasons of a Sample's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason).
    SampleReason {
        /// The ConfigMap holds the string.
        Kept,
    }
}
