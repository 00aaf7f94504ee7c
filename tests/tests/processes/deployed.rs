//! The manager that is deployed in the cluster is scaled to 0 for these tests, and back afterward.

use std::time::Duration;

use e2e::audit::Audit;
use e2e::process::{self, install};
use e2e::wait::try_wait;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::stage::{Failure, client};

const SELECTOR: &str = "app.kubernetes.io/name=multi-operator,app.kubernetes.io/component=manager";

/// What was found.
pub struct Before {
    /// Deployments that were scaled to 0: namespace, name, replicas.
    scaled: Vec<(String, String, i32)>,
    /// The audit log of all tests' users since the beginning.
    pub audit: Option<Audit>,
}

/// Builds the manager, applies the CRDs, and scales every deployed manager to 0.
pub async fn make_way() -> Result<Before, Failure> {
    tokio::task::spawn_blocking(process::build).await??;
    let client = client().await?;
    serve_our_kinds(&client).await?;
    let deployments: Api<Deployment> = Api::all(client.clone());
    let mut scaled = Vec::new();
    for deployment in deployments.list(&ListParams::default().labels(SELECTOR)).await? {
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        if replicas > 0 {
            let (namespace, name) = (deployment.namespace().unwrap_or_default(), deployment.name_any());
            scale(&client, &namespace, &name, 0).await?;
            scaled.push((namespace, name, replicas));
        }
    }
    let pods: Api<Pod> = Api::all(client);
    try_wait(Duration::from_secs(30), || async {
        let left = pods.list(&ListParams::default().labels(SELECTOR)).await.map_err(|error| error.to_string())?;
        if left.items.is_empty() { Ok(()) } else { Err("a deployed manager still runs".to_owned()) }
    })
    .await?;
    Ok(Before { scaled, audit: Audit::from_now("system:serviceaccount:processes-") })
}

/// Scales the deployed managers back up, and deletes what was created outside of namespaces.
pub async fn make_good(before: &Before) -> Result<(), Failure> {
    let client = client().await?;
    for (namespace, name, replicas) in &before.scaled {
        scale(&client, namespace, name, *replicas).await?;
    }
    let (which, how) = (ListParams::default().labels(install::LABEL), DeleteParams::default());
    Api::<ClusterRoleBinding>::all(client.clone()).delete_collection(&how, &which).await?;
    Api::<ClusterRole>::all(client).delete_collection(&how, &which).await?;
    Ok(())
}

async fn scale(client: &Client, namespace: &str, name: &str, replicas: i32) -> Result<(), Failure> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    deployments.patch_scale(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn serve_our_kinds(client: &Client) -> Result<(), Failure> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in api::crds() {
        let name = definition.name_any();
        definitions.patch(&name, &PatchParams::apply("e2e").force(), &Patch::Apply(&definition)).await?;
        try_wait(Duration::from_secs(20), || async {
            let live = definitions.get(&name).await.map_err(|error| error.to_string())?;
            let conditions = live.status.and_then(|status| status.conditions).unwrap_or_default();
            let served = conditions.iter().any(|c| c.type_ == "Established" && c.status == "True");
            if served { Ok(()) } else { Err(format!("{name} is not established")) }
        })
        .await?;
    }
    Ok(())
}
