//! Reads of objects, each a single request: tests poll them, and a kubectl for each would be a large part of what keeps a machine
//! with two processors busy.

use std::collections::BTreeMap;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use super::{Environment, NAMESPACE, text, variable};

impl Environment {
    /// An object, if it is there: `kind/name` in a namespace.
    ///
    /// # Panics
    /// If it cannot be read.
    pub async fn get(self, object: &str, namespace: &str) -> Option<Value> {
        let kubeconfig = variable(&format!("GITOPS_{}", self.name().to_uppercase()));
        let kubeconfig = Kubeconfig::read_from(&kubeconfig).unwrap_or_else(|error| panic!("{kubeconfig}: {error}"));
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = config
            .map_err(|error| error.to_string())
            .and_then(|config| Client::try_from(config).map_err(|error| error.to_string()));
        found(&client.unwrap_or_else(|error| panic!("{self:?}: {error}")), &path(object, namespace)).await
    }

    /// One of its custom resources or of what belongs to them.
    ///
    /// # Panics
    /// If it is not there.
    pub async fn instance(self, object: &str) -> Value {
        self.get(object, self.name()).await.unwrap_or_else(|| panic!("there is no {object} in {}", self.name()))
    }
}

/// An Application.
///
/// # Panics
/// If it is not there.
pub async fn application(name: &str) -> Value {
    read("application", name).await.unwrap_or_else(|| panic!("there is no Application {name}"))
}

/// One of Argo CD's objects, if it is there.
pub async fn read(kind: &str, name: &str) -> Option<Value> {
    Environment::Dev.get(&format!("{kind}/{name}"), NAMESPACE).await
}

/// All Applications: name, and what they are.
///
/// # Panics
/// If they cannot be read.
pub async fn applications() -> BTreeMap<String, Value> {
    let mut list = Environment::Dev.get("application/", NAMESPACE).await.expect("Argo CD is installed");
    let items = list["items"].as_array_mut().map(std::mem::take).expect("a list has items");
    items.into_iter().map(|item| (text(&item["metadata"]["name"]), item)).collect()
}

/// What the API server has at that path; `None` if there is nothing.
async fn found(client: &Client, path: &str) -> Option<Value> {
    let request = http::Request::get(path).body(Vec::new()).expect("a path");
    match client.request(request).await {
        Ok(object) => Some(object),
        Err(kube::Error::Api(answer)) if answer.code == 404 => None,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// The path of `kind/name`; without a name, that of the list.
fn path(object: &str, namespace: &str) -> String {
    let (kind, name) = object.split_once('/').unwrap_or((object, ""));
    let group = match kind {
        "application" | "applicationset" | "appproject" => "apis/argoproj.io/v1alpha1",
        "configmap" | "namespace" | "persistentvolumeclaim" | "service" => "api/v1",
        "clusterrole" => "apis/rbac.authorization.k8s.io/v1",
        "customresourcedefinition" => "apis/apiextensions.k8s.io/v1",
        "deployment" | "statefulset" => "apis/apps/v1",
        "etcdcluster" => "apis/etcd.database.coreos.com/v1beta2",
        "myapp" => "apis/example.com/v1",
        "sample" | "sampledb" | "sampledbsnapshot" => "apis/example.com/v1alpha1",
        _ => panic!("{object}: add the kind's group here"),
    };
    let is_namespaced = !matches!(kind, "namespace" | "clusterrole" | "customresourcedefinition");
    let namespace = if is_namespaced { format!("namespaces/{namespace}/") } else { String::new() };
    format!("/{group}/{namespace}{kind}s/{name}").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        assert_eq!(path("application/a", "argocd"), "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/a");
        assert_eq!(path("application/", "argocd"), "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications");
        assert_eq!(path("namespace/dev", ""), "/api/v1/namespaces/dev");
        assert_eq!(path("sampledb/orders", "dev"), "/apis/example.com/v1alpha1/namespaces/dev/sampledbs/orders");
    }
}
