//! What a bundle is made of: what this commit's code says, and what kustomize makes of what people wrote.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::documents::documents;
use crate::{crds, rbac};

/// Where people write their half.
pub(super) const SOURCE: &str = "config/manifests";

/// What a bundle is made of, besides what people wrote.
pub(super) struct Ingredients {
    /// What kustomize makes of the manifests.
    pub(super) documents: Vec<Value>,
    /// By the names of their files.
    pub(super) crds: Vec<(String, Value)>,
    /// Rights in each watched namespace.
    pub(super) namespaced: Vec<PolicyRule>,
    /// Rights on the cluster.
    pub(super) cluster: Vec<PolicyRule>,
}

/// What this commit's code and manifests say.
pub(super) fn here(root: &Path) -> Result<Ingredients, String> {
    let crds = api::crds();
    let crds = crds.iter().map(|crd| Ok((crds::file_name(crd), serde_json::to_value(crd)?)));
    let crds = crds.collect::<Result<_, serde_json::Error>>().map_err(|error| error.to_string())?;
    let documents = kustomized(root, Path::new(SOURCE))?;
    Ok(Ingredients { documents, crds, namespaced: rbac::namespaced(), cluster: rbac::cluster() })
}

/// What kustomize makes of a folder, by the pinned kustomize, lest another one's order or defaults get in.
pub(super) fn kustomized(root: &Path, folder: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(root.join("scripts/kustomize"))
        .arg("build")
        .arg(folder)
        .current_dir(root)
        .output()
        .map_err(|error| format!("scripts/kustomize: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scripts/kustomize build {}: {}", folder.display(), said.trim()));
    }
    documents(&String::from_utf8_lossy(&output.stdout))
}
