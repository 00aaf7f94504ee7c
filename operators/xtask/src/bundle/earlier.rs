//! The inputs of a bundle from another commit's manifests, for the bundle of the previous release: they include what that commit
//! generated.

use std::path::Path;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::inputs::{BundleInputs, kustomized};

/// Reads a directory `config`, with the directory `manifests` of a bundle in it.
///
/// # Errors
/// If a file is missing, or cannot be read.
pub(super) fn parts(root: &Path, config: &Path) -> Result<BundleInputs, String> {
    let rules = |files: &[&str]| -> Result<Vec<PolicyRule>, String> {
        let each = files.iter().map(|file| rules(&config.join("rbac").join(file)));
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    };
    Ok(BundleInputs {
        documents: kustomized(root, &config.join("manifests"))?,
        crds: crds(&config.join("crd/bases"))?,
        namespaced: rules(&["manager_role.yaml", "leader_election_role.yaml"])?,
        cluster: rules(&["metrics_auth_cluster_role.yaml"])?,
    })
}

fn read(path: &Path) -> Result<Value, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    serde_yaml_ng::from_str(&text).map_err(|error| failed(&error))
}

/// The rules of a Role or ClusterRole.
fn rules(path: &Path) -> Result<Vec<PolicyRule>, String> {
    let mut role = read(path)?;
    let rules = role.get_mut("rules").map(Value::take).ok_or_else(|| format!("{} has no rules", path.display()))?;
    serde_json::from_value(rules).map_err(|error| format!("{}: {error}", path.display()))
}

/// Every file of a directory, in the order of their names.
fn crds(directory: &Path) -> Result<Vec<(String, Value)>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(|path| Ok((name(path), read(path)?))).collect()
}
