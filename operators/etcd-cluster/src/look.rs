//! Live looks at the API server, for what no cache holds: each only while a step depends on it.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod as CorePod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::core::{DynamicObject, ObjectList, PartialObjectMeta};
use kube::{Api, Client};
use runtime::Error;
use runtime::cache::View;
use runtime::plan::meta::{MANAGED_BY, MANAGER, selector_text};
use runtime::plan::{Apply, Create, DryRun, Key, Kind};
use runtime::pods;
use runtime::views::Pod;
use serde::Deserialize;

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

/// What a member has been seen to run with, as its claim tells; none if that cannot be read now.
pub async fn proven(client: &Client, claim: &Key) -> Option<Proven> {
    let api: Api<PartialObjectMeta<PersistentVolumeClaim>> = Api::namespaced(client.clone(), &claim.namespace);
    match api.get(&claim.name).await {
        Ok(found) => serde_json::from_str(found.metadata.annotations?.get(objects::PROVEN_SPEC)?).ok(),
        Err(error) => {
            tracing::debug!(%error, %claim, "the claim cannot be read");
            None
        }
    }
}

/// Why the API server would not take a pod like that: it is asked to make one, and to forget it. What goes away by itself is
/// no reason.
pub async fn refused(client: &Client, trial: &Create) -> Option<String> {
    match pods::dry_run(client, trial).await {
        DryRun::Rejected(why) => Some(why),
        DryRun::Accepted | DryRun::Unknown(_) => None,
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
            return Err(Error::transient("Conflict", format!("{} {key} is still there", kind.kind)));
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
            return Err(Error::transient("Conflict", format!("the pod {key} is going")));
        }
    }
    Ok(())
}

/// The object under that key, if it is there.
async fn found(client: &Client, kind: Kind, key: &Key) -> Result<Option<DynamicObject>, Error> {
    let path = format!("{}?fieldSelector=metadata.name%3D{}&limit=1", kind.path(&key.namespace), key.name);
    let request =
        http::Request::get(path).body(Vec::new()).map_err(|error| Error::transient("Unsendable", error.to_string()))?;
    let found: ObjectList<DynamicObject> = client.request(request).await?;
    Ok(found.items.into_iter().next())
}
