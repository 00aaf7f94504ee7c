//! Looks that both operators take.

use std::fmt::Debug;
use std::sync::Arc;

use api::ReconcileReason;
use api::sample_db::ServiceType;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Pod, PodStatus, Service};
use kube::{Api, Client, Resource};
use runtime::Error;
use runtime::cache::{Entry, View};
use runtime::plan::Key;
use runtime::views;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::SampleDB;
use crate::plan::names;

/// Those that decode.
pub(crate) fn decoded<V: View>(entries: Vec<Entry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(Entry::into_object).collect()
}

/// The object under that key as it is now, whatever its labels are, if there is one.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn live<K, V>(client: &Client, key: &Key) -> Result<Option<Arc<V>>, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Serialize,
    V: View,
{
    let api: Api<K> = Api::namespaced(client.clone(), &key.namespace);
    let Some(found) = api.get_opt(&key.name).await? else { return Ok(None) };
    match serde_json::to_string(&found).and_then(|json| V::decode(&json)) {
        Ok(view) => Ok(Some(Arc::new(view))),
        Err(error) => Err(unreadable(V::KIND.kind, &key.name, &error)),
    }
}

/// No later look reads what does not decode, so a person is needed at once.
fn unreadable(kind: &str, name: &str, error: &serde_json::Error) -> Error {
    let message = format!("{kind} {name}: {error}");
    Error::Transient { reason: ReconcileReason::Unreadable.into(), message, stalled: true }
}

/// Why a pod has failed for good, if it has: its node has evicted it, or has gone down in an orderly way, for instance. The
/// kubelet starts nothing of it again.
pub(crate) async fn failed(client: &Client, pod: &views::Pod) -> Option<String> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &pod.meta.key.namespace);
    match api.get_opt(&pod.meta.key.name).await {
        Ok(found) => {
            let same = found.filter(|found| found.metadata.uid.as_deref() == Some(&*pod.meta.uid));
            same.and_then(|found| end_of(&found.status?))
        }
        Err(error) => {
            tracing::debug!(%error, "the pod cannot be read");
            None
        }
    }
}

/// Why a pod of that status has failed, if it has.
fn end_of(status: &PodStatus) -> Option<String> {
    status.phase.as_deref().filter(|phase| *phase == "Failed")?;
    let told = [status.reason.as_deref(), status.message.as_deref()].into_iter().flatten().map(str::trim);
    let told: Vec<&str> = told.filter(|told| !told.is_empty()).collect();
    Some(if told.is_empty() { "its containers have ended".to_owned() } else { told.join(": ") })
}

/// Hosts and ports outside the cluster at which the Service is found, if it is published: a load balancer's, or
/// `:<port>` of any node.
pub(crate) async fn external(client: &Client, db: &SampleDB) -> Vec<String> {
    if db.spec.service.type_ == ServiceType::ClusterIP || db.meta.deleting {
        return Vec::new();
    }
    // An upgrade looks several times a second, and changes no address.
    if db.status.upgrade.step.is_some() {
        return db.status.endpoints.external.clone();
    }
    let api: Api<Service> = Api::namespaced(client.clone(), &db.meta.key.namespace);
    let Ok(Some(service)) = api.get_opt(&names::read_write(db)).await else {
        return db.status.endpoints.external.clone();
    };
    let balancers =
        service.status.and_then(|status| status.load_balancer).and_then(|of| of.ingress).unwrap_or_default();
    let hosts = balancers.into_iter().filter_map(|of| of.hostname.or(of.ip));
    let balanced = hosts.map(|host| format!("{host}:{}", db.spec.service.port()));
    let ports = service.spec.and_then(|spec| spec.ports).unwrap_or_default();
    let nodes = ports.into_iter().filter_map(|port| port.node_port).map(|port| format!(":{port}"));
    balanced.chain(nodes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_decode_is_for_a_person() {
        let error = unreadable("StatefulSet", "shop", &serde_json::from_str::<u8>("{}").unwrap_err());
        assert!(error.stalled() && error.reason() == ReconcileReason::Unreadable, "{error:?}");
    }

    #[test]
    fn a_pod_that_has_failed_says_why() {
        let status = |phase: &str, reason: Option<&str>, message: Option<&str>| PodStatus {
            phase: Some(phase.to_owned()),
            reason: reason.map(str::to_owned),
            message: message.map(str::to_owned),
            ..PodStatus::default()
        };
        let evicted = status("Failed", Some("Evicted"), Some("The node was low on resource: memory. "));
        assert_eq!(end_of(&evicted).as_deref(), Some("Evicted: The node was low on resource: memory."));
        assert_eq!(end_of(&status("Failed", None, None)).as_deref(), Some("its containers have ended"));
        for phase in ["Pending", "Running", "Unknown"] {
            assert_eq!(end_of(&status(phase, Some("NodeLost"), None)), None);
        }
    }
}
