//! Pure: a pod beside a present one, which shows whether such a pod starts: it must neither fail because of the present one, nor
//! harm it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::core::{Selector, SelectorExt};
use serde_json::Value;

use crate::quantity;

/// What is to be known of the present pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Present {
    /// What its container asks for, by resource, so that the other one need not.
    pub requests: BTreeMap<String, Quantity>,
    /// Whom it runs as.
    pub user: Option<i64>,
    /// Its priority class. With a higher one, the other pod might preempt it.
    pub priority_class: Option<String>,
    /// The pods that it wants none of on its node.
    apart: Vec<PodAffinityTerm>,
}

impl Present {
    /// The pod as the API server has it, of which that container is the one that counts; nothing if it cannot be understood.
    #[must_use]
    pub fn of(pod: &Value, container: &str) -> Option<Self> {
        let spec: PodSpec = serde_json::from_value(pod["spec"].clone()).ok()?;
        let container = spec.containers.into_iter().find(|of| of.name == container);
        let requests = container.and_then(|container| container.resources).and_then(|resources| resources.requests);
        let apart = spec.affinity.and_then(|affinity| affinity.pod_anti_affinity);
        Some(Self {
            requests: requests.unwrap_or_default(),
            user: spec.security_context.and_then(|context| context.run_as_user),
            priority_class: spec.priority_class_name,
            apart: apart
                .and_then(|apart| apart.required_during_scheduling_ignored_during_execution)
                .unwrap_or_default(),
        })
    }

    /// Whether it may keep a pod with those labels from its node. Namespaces are left out of account: a pod of another one than a term
    /// means is taken for repelled.
    #[must_use]
    pub fn repels(&self, labels: &BTreeMap<String, String>) -> bool {
        let selects = |term: &PodAffinityTerm| match &term.label_selector {
            // No selector selects no pod.
            None => false,
            Some(selector) => Selector::try_from(selector.clone()).map_or(true, |selector| selector.matches(labels)),
        };
        self.apart.iter().any(selects)
    }

    /// What the other pod is to ask for, where `wanted` is what the spec does: what goes beyond the present pod's requests. On its node
    /// that is exact, since what it has is free there once it is gone.
    #[must_use]
    pub fn beyond(&self, wanted: &ResourceRequirements) -> ResourceRequirements {
        let empty = BTreeMap::new();
        let (requests, limits) = (wanted.requests.as_ref().unwrap_or(&empty), wanted.limits.as_ref().unwrap_or(&empty));
        let (mut more, mut most) = (BTreeMap::new(), limits.clone());
        // What has a limit and no request asks for its limit.
        for (name, asked) in limits.iter().chain(requests) {
            let amount = |quantity: &Quantity| quantity::thousandths(&quantity.0);
            let has = self.requests.get(name).and_then(amount).unwrap_or(0);
            let Some(beyond) = amount(asked).map(|asked| asked.saturating_sub(has).max(0)) else { continue };
            let beyond = Quantity(format!("{beyond}m"));
            if !OVERCOMMITTED.contains(&name.as_str()) {
                most.insert(name.clone(), beyond.clone());
            }
            more.insert(name.clone(), beyond);
        }
        ResourceRequirements { requests: Some(more), limits: Some(most), claims: None }
    }
}

/// What of an affinity a pod can have beside the present one, which it may be meant to be apart from.
#[must_use]
pub fn affinity(of: &Affinity) -> Affinity {
    Affinity { pod_anti_affinity: None, ..of.clone() }
}

/// The resources of which a container may use more than it asks for; of all others it is to ask for as much as its limit.
/// Source: <https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources>
const OVERCOMMITTED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn quantities(all: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        all.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect()
    }

    #[test]
    fn it_asks_for_what_the_present_pod_does_not_have() {
        let wanted = ResourceRequirements {
            requests: Some(quantities(&[("memory", "1Gi")])),
            limits: Some(quantities(&[("cpu", "2"), ("memory", "2Gi"), ("hugepages-2Mi", "8Mi")])),
            claims: None,
        };
        let requests = quantities(&[("cpu", "500m"), ("memory", "4Gi"), ("hugepages-2Mi", "2Mi")]);
        let trial = Present { requests, ..Present::default() }.beyond(&wanted);
        let huge = ("hugepages-2Mi", "6291456000m");
        assert_eq!(trial.requests, Some(quantities(&[("cpu", "1500m"), ("memory", "0m"), huge])));
        assert_eq!(trial.limits, Some(quantities(&[("cpu", "2"), ("memory", "2Gi"), huge])));
    }

    #[test]
    fn the_present_pod_repels_whom_it_wants_to_be_apart_from() {
        let repels = |term: Value| {
            let apart = json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] });
            let pod = json!({ "spec": { "containers": [], "affinity": { "podAntiAffinity": apart } } });
            let labels = BTreeMap::from([("app".to_owned(), "shop".to_owned())]);
            Present::of(&pod, "etcd").unwrap().repels(&labels)
        };
        let by = |selector: Value| json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": selector });
        assert!(repels(by(json!({ "matchLabels": { "app": "shop" } }))));
        assert!(repels(by(json!({}))), "everybody");
        assert!(!repels(by(json!({ "matchLabels": { "app": "other" } }))));
        assert!(!repels(by(json!({ "matchExpressions": [{ "key": "app", "operator": "DoesNotExist" }] }))));
        assert!(!repels(json!({ "topologyKey": "kubernetes.io/hostname" })), "nobody");
    }

    #[test]
    fn a_pod_that_cannot_be_understood_is_not_known() {
        assert_eq!(Present::of(&json!({ "spec": { "containers": 1 } }), "etcd"), None);
    }
}
