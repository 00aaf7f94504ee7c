//! Live looks at the API server, for what no cache holds: each only while a step depends on it.

use api::ReconcileReason;
use k8s_openapi::api::core::v1::Pod as CorePod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::core::{DynamicObject, ObjectList, PartialObjectMeta};
use kube::{Api, Client};
use runtime::Error;
use runtime::cache::View;
use runtime::plan::meta::{MANAGED_BY, MANAGER, selector_text};
use runtime::plan::{Apply, Create, DryRun, Key, Kind, quota};
use runtime::pods;
use runtime::views::Pod;
use serde::Deserialize;
use serde_json::Value;

use crate::EtcdCluster;
use crate::plan::proven::Proven;
use crate::plan::{Stranger, objects};

/// Addresses that cluster DNS tells of for a headless Service; none if they cannot be read now.
pub async fn published(client: &Client, service: &Key) -> Vec<Box<str>> {
    #[derive(Clone, Debug, Deserialize)]
    struct Slices {
        items: Vec<Slice>,
    }
    #[derive(Clone, Debug, Deserialize)]
    struct Slice {
        #[serde(default)]
        endpoints: Option<Vec<Endpoint>>,
    }
    #[derive(Clone, Debug, Deserialize)]
    struct Endpoint {
        addresses: Vec<Box<str>>,
    }
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{}",
        service.namespace, service.name
    );
    let Ok(request) = http::Request::get(path).body(Vec::new()) else { return Vec::new() };
    match client.request::<Slices>(request).await {
        Ok(slices) => {
            let endpoints = slices.items.into_iter().filter_map(|slice| slice.endpoints).flatten();
            endpoints.flat_map(|endpoint| endpoint.addresses).collect()
        }
        Err(error) => {
            tracing::debug!(%error, "endpoint slices cannot be read");
            Vec::new()
        }
    }
}

/// Whether a claim that names no class would get one: the API server is asked to complete one, and to forget it.
///
/// # Errors
/// Why that cannot be told.
pub async fn default_class(client: &Client, probe: &Apply) -> Result<bool, String> {
    #[derive(Clone, Debug, Deserialize)]
    struct Completed {
        spec: Spec,
    }
    #[derive(Clone, Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        storage_class_name: Option<String>,
    }
    let path = format!("{}?dryRun=All", probe.kind.path(&probe.key.namespace));
    let body = serde_json::to_vec(&probe.body).map_err(|error| error.to_string())?;
    let request = http::Request::post(path).header("Content-Type", "application/json").body(body);
    let request = request.map_err(|error| error.to_string())?;
    let completed: Completed = client.request(request).await.map_err(|error| Error::from(error).to_string())?;
    Ok(completed.spec.storage_class_name.is_some_and(|class| !class.is_empty()))
}

/// What a member has been seen to run with, as its claim tells.
pub fn proven(claim: &Value) -> Option<Proven> {
    serde_json::from_str(claim["metadata"]["annotations"][objects::PROVEN_SPEC].as_str()?).ok()
}

/// Why the API server would not take a pod like that: it is asked to make one, and to forget it. What goes away by itself is
/// no reason; and a quota also counts the pod that is to be replaced, if there is one.
pub async fn refused(client: &Client, trial: &Create, replaced: Option<&Key>) -> Option<String> {
    let DryRun::Rejected(why) = pods::dry_run(client, trial).await else { return None };
    let Some(replaced) = replaced.filter(|_| quota::is_exceeded(&why)) else { return Some(why) };
    match pods::get(client, replaced).await {
        Ok(live) if quota::has_room_without(&why, live.as_ref()) => None,
        // A pod that cannot be read now is not deleted now.
        _ => Some(why),
    }
}

/// Pods that bear the labels of a cluster and are not its own; none if they cannot be read now.
pub async fn strangers(client: &Client, cluster: &EtcdCluster) -> Option<Vec<Stranger>> {
    let params = ListParams::default().labels(&selector_text(&objects::selector(cluster)));
    let api: Api<PartialObjectMeta<CorePod>> = Api::namespaced(client.clone(), &cluster.meta.key.namespace);
    let pods = match api.list_metadata(&params).await {
        Ok(pods) => pods,
        Err(error) => {
            tracing::debug!(%error, "pods cannot be read");
            return None;
        }
    };
    Some(pods.items.into_iter().filter_map(|pod| stranger(&pod.metadata, cluster)).collect())
}

fn stranger(pod: &ObjectMeta, cluster: &EtcdCluster) -> Option<Stranger> {
    let controller = pod.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let controlled = controller.is_some_and(|owner| owner.uid == *cluster.meta.uid);
    // Pods of the old operator have the same owner, and not our label.
    let ours = pod.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|by| by == MANAGER);
    let kind = EtcdCluster::KIND;
    let earlier = controller.is_some_and(|owner| owner.kind == kind.kind && owner.uid != *cluster.meta.uid);
    let leaving = pod.deletion_timestamp.is_some() || earlier;
    (!controlled || !ours).then(|| Stranger { name: pod.name.as_deref().unwrap_or_default().into(), leaving })
}

/// That none of these is there to stay.
///
/// # Errors
/// Transient, if one is or that cannot be told.
pub async fn must_be_absent(client: &Client, absent: &[(Kind, Key)]) -> Result<(), Error> {
    for (kind, key) in absent {
        let stays = |object: DynamicObject| kind.kind == Pod::KIND.kind || object.metadata.deletion_timestamp.is_none();
        if found(client, *kind, key).await?.is_some_and(stays) {
            return Err(Error::transient(ReconcileReason::Conflict, format!("{} {key} is still there", kind.kind)));
        }
    }
    Ok(())
}

/// That all of these pods are there to stay.
///
/// # Errors
/// Transient, if one is not or that cannot be told.
pub async fn must_stay(client: &Client, pods: &[Key]) -> Result<(), Error> {
    for key in pods {
        if found(client, Pod::KIND, key).await?.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some()) {
            return Err(Error::transient(ReconcileReason::Conflict, format!("the pod {key} is going")));
        }
    }
    Ok(())
}

/// The object under that key, if it is there.
async fn found(client: &Client, kind: Kind, key: &Key) -> Result<Option<DynamicObject>, Error> {
    let path = format!("{}?fieldSelector=metadata.name%3D{}&limit=1", kind.path(&key.namespace), key.name);
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| Error::transient(ReconcileReason::Unsendable, error.to_string()))?;
    let found: ObjectList<DynamicObject> = client.request(request).await?;
    Ok(found.items.into_iter().next())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// What is said of a pod that is to replace another one, where the API server answers its creation like that, and has that
    /// other one.
    async fn said(message: &str, present: Option<Value>) -> Option<String> {
        let message: Arc<str> = message.into();
        let service = tower::service_fn(move |request: Request<Body>| {
            let failure = |code: u16, message: &str| {
                (code, json!({ "kind": "Status", "status": "Failure", "code": code, "message": message }))
            };
            let (code, answer) = match (request.method(), &present) {
                (&http::Method::GET, Some(present)) => (200, present.clone()),
                (&http::Method::GET, None) => failure(500, "no"),
                _ => failure(403, &message),
            };
            std::future::ready(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())))
        });
        let key = Key::new("n", "c-aaaaaaaaaa");
        let trial = Create::new(Pod::KIND, key.sibling("c-probe"), &json!({ "metadata": {} }));
        refused(&Client::new(service, "n"), &trial, Some(&key)).await
    }

    #[tokio::test]
    async fn a_quota_that_the_next_pod_exceeds_even_without_the_present_one_refuses_it() {
        let present = || {
            let resources = json!({ "requests": { "cpu": "500m" } });
            Some(json!({ "spec": { "containers": [{ "resources": resources }] } }))
        };
        let full = |requested| format!("exceeded quota: q, requested: cpu={requested}, used: cpu=500m, limited: cpu=1");
        assert_eq!(said(&full("1"), present()).await, None, "the present one makes room");
        assert_eq!(said(&full("2"), present()).await, Some(full("2")));
        assert_eq!(said(&full("1"), None).await, Some(full("1")), "it cannot be read");
        assert_eq!(said("violates PodSecurity", present()).await.as_deref(), Some("violates PodSecurity"));
    }
}
