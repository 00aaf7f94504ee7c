//! The inputs of a bundle: from this commit's code, and from the output of kustomize for the hand-written manifests.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::documents::documents;
use crate::{crds, rbac};

/// The directory of the hand-written manifests.
pub(super) const SOURCE: &str = "config/manifests";

/// The inputs of a bundle, in addition to the hand-written CSV.
pub(super) struct BundleInputs {
    /// The output of kustomize for the manifests.
    pub(super) documents: Vec<Value>,
    /// CRDs, with the names of their files.
    pub(super) crds: Vec<(String, Value)>,
    /// Permissions in each watched namespace.
    pub(super) namespaced: Vec<PolicyRule>,
    /// Cluster-wide permissions.
    pub(super) cluster: Vec<PolicyRule>,
}

/// The inputs from this commit's code and manifests.
pub(super) fn here(root: &Path) -> Result<BundleInputs, String> {
    let crds = api::crds();
    let crds = crds.iter().map(|crd| Ok((crds::file_name(crd), serde_json::to_value(crd)?)));
    let crds = crds.collect::<Result<_, serde_json::Error>>().map_err(|error| error.to_string())?;
    let documents = kustomized(root, Path::new(SOURCE))?;
    Ok(BundleInputs { documents, crds, namespaced: rbac::namespaced(), cluster: rbac::cluster() })
}

/// The output of kustomize for a directory, by the pinned version, as order and defaults differ between versions.
pub(super) fn kustomized(root: &Path, directory: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(root.join("scripts/kustomize"))
        .arg("build")
        .arg(directory)
        .current_dir(root)
        .output()
        .map_err(|error| format!("scripts/kustomize: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scripts/kustomize build {}: {}", directory.display(), stderr.trim()));
    }
    documents(&String::from_utf8_lossy(&output.stdout))
}
