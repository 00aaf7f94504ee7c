//! The documents of kustomize, sorted by where they go: into the CSV, into files of their own, or nowhere, because OLM creates
//! them.

use std::path::Path;

use serde_json::Value;

use crate::generated::{Generated, document};

/// The documents of the manager's manifests and the samples.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// The manager's Deployment.
    pub deployment: Value,
    /// Custom resources, by API version and kind.
    pub examples: Vec<Value>,
    /// Documents with files of their own, next to the CSV.
    pub others: Vec<Value>,
}

/// Text of a field, by its JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Documents {
    /// Sorts them.
    ///
    /// # Errors
    /// If a document must not be in a bundle.
    pub fn sort(all: Vec<Value>, package: &str) -> Result<Self, String> {
        let account = account(&all)?;
        let bound = bound(&all, &account);
        let mut sorted = Self::default();
        for mut document in all {
            let kind = text(&document, "/kind").to_owned();
            let name = text(&document, "/metadata/name").to_owned();
            match kind.as_str() {
                _ if is_ours(text(&document, "/apiVersion")) => sorted.examples.push(document),
                "Deployment" if sorted.deployment.is_null() => sorted.deployment = document,
                // OLM creates the namespace and the account, and binds the account to the CSV's permissions.
                "Namespace" | "ServiceAccount" | "RoleBinding" | "ClusterRoleBinding" => {}
                "Role" | "ClusterRole" if bound.contains(&(kind.clone(), name.clone())) => {}
                "ClusterRole" | "ConfigMap" | "Service" if name.starts_with(package) => {
                    without_namespace(&mut document);
                    sorted.others.push(document);
                }
                "ClusterRole" | "ConfigMap" | "Service" => {
                    return Err(format!(
                        "{kind} {name} may conflict with other packages: its name must start with {package}"
                    ));
                }
                _ => return Err(format!("{kind} {name} has no place in a bundle, or is there twice")),
            }
        }
        let key = |example: &Value| (text(example, "/apiVersion").to_owned(), text(example, "/kind").to_owned());
        sorted.examples.sort_by_key(key);
        Ok(sorted)
    }

    /// The account that the manager runs as.
    pub fn account(&self) -> &str {
        text(&self.deployment, "/spec/template/spec/serviceAccountName")
    }

    /// The files next to the CSV, named as operator-sdk names them.
    pub fn files(&self) -> impl Iterator<Item = Generated> {
        self.others.iter().map(|value| {
            let (api, kind) = (text(value, "/apiVersion"), text(value, "/kind").to_lowercase());
            let name = format!("{}_{}_{kind}.yaml", text(value, "/metadata/name"), api.replace('/', "_"));
            (Path::new("manifests").join(name), document(value))
        })
    }
}

/// Whether an object is a custom resource of this project, by the groups of the CRDs.
fn is_ours(api_version: &str) -> bool {
    let group = api_version.split_once('/').map(|(group, _)| group);
    group.is_some_and(|group| [api::GROUP, api::ETCD_GROUP].contains(&group))
}

/// The account of the one Deployment.
fn account(all: &[Value]) -> Result<String, String> {
    let deployment = all.iter().find(|document| text(document, "/kind") == "Deployment");
    let deployment = deployment.ok_or("there is no Deployment in it")?;
    Ok(text(deployment, "/spec/template/spec/serviceAccountName").to_owned())
}

/// The roles, by kind and name, that bindings give to the account.
fn bound(all: &[Value], account: &str) -> Vec<(String, String)> {
    let bindings = all.iter().filter(|document| text(document, "/kind").ends_with("RoleBinding"));
    bindings
        .filter(|binding| text(binding, "/subjects/0/name") == account)
        .map(|binding| (text(binding, "/roleRef/kind").to_owned(), text(binding, "/roleRef/name").to_owned()))
        .collect()
}

/// Removes the namespace, which OLM decides.
fn without_namespace(document: &mut Value) {
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
}

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let read = serde_yaml_ng::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize);
    let all: Vec<Value> = read.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manager() -> Vec<Value> {
        vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "p-system"}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "p-manager"},
                   "spec": {"template": {"spec": {"serviceAccountName": "p"}}}}),
            json!({"kind": "ClusterRole", "metadata": {"name": "p-manager"}}),
            json!({"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "p-reader"}}),
            json!({"kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole", "name": "p-manager"},
                   "subjects": [{"kind": "ServiceAccount", "name": "p"}]}),
            json!({"apiVersion": "example.com/v1", "kind": "MyApp", "metadata": {"name": "app"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p-map", "namespace": "p-system"}}),
        ]
    }

    #[test]
    fn each_goes_where_it_belongs() {
        let sorted = Documents::sort(manager(), "p").unwrap();
        assert_eq!(sorted.account(), "p");
        assert_eq!(sorted.examples.len(), 1);
        let files: Vec<Generated> = sorted.files().collect();
        let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        assert_eq!(
            names,
            ["manifests/p-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml", "manifests/p-map_v1_configmap.yaml"]
        );
        assert!(!files[1].1.contains("namespace"), "OLM decides the namespace: {}", files[1].1);
    }

    #[test]
    fn what_has_no_place_is_told() {
        let with = |more: Value| {
            let mut all = manager();
            all.push(more);
            Documents::sort(all, "p").unwrap_err()
        };
        assert!(with(json!({"kind": "NetworkPolicy", "metadata": {"name": "p-net"}})).contains("NetworkPolicy p-net"));
        assert!(with(json!({"kind": "Deployment", "metadata": {"name": "two"}})).contains("twice"));
        assert!(with(json!({"kind": "Service", "metadata": {"name": "metrics"}})).contains("must start with p"));
        assert!(Documents::sort(Vec::new(), "p").unwrap_err().contains("no Deployment"));
    }
}
