//! What another commit's manifests say, for the bundle of the release before: what that commit's code would have said is
//! generated into them.

use std::path::Path;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::ingredients::{Ingredients, kustomized};

/// Reads a folder `config`, with the folder `manifests` of a bundle in it.
///
/// # Errors
/// What is missing or cannot be read.
pub(super) fn parts(root: &Path, config: &Path) -> Result<Ingredients, String> {
    let rules = |files: &[&str]| -> Result<Vec<PolicyRule>, String> {
        let each = files.iter().map(|file| rules(&config.join("rbac").join(file)));
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    };
    Ok(Ingredients {
        documents: kustomized(root, &config.join("manifests"))?,
        crds: crds(&config.join("crd/bases"))?,
        namespaced: rules(&["manager_role.yaml", "leader_election_role.yaml"])?,
        cluster: rules(&["metrics_auth_cluster_role.yaml"])?,
    })
}

fn read(path: &Path) -> Result<Value, String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| said(&error))?;
    serde_yaml_ng::from_str(&text).map_err(|error| said(&error))
}

/// The rules of a Role or ClusterRole.
fn rules(path: &Path) -> Result<Vec<PolicyRule>, String> {
    let mut role = read(path)?;
    let rules = role.get_mut("rules").map(Value::take).ok_or_else(|| format!("{} has no rules", path.display()))?;
    serde_json::from_value(rules).map_err(|error| format!("{}: {error}", path.display()))
}

/// Every file of a folder, in the order of their names.
fn crds(folder: &Path) -> Result<Vec<(String, Value)>, String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(said)? {
        paths.push(entry.map_err(said)?.path());
    }
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(|path| Ok((name(path), read(path)?))).collect()
}
