//! Pure: a trial pod that runs next to a present one, to show whether such a pod starts. It must neither fail because of the
//! present one, nor harm it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::core::{Selector, SelectorExt};
use serde_json::Value;

use crate::quantity;

/// What a trial pod needs to know about the present pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PresentPod {
    /// The requests of its container by resource, which the trial pod need not repeat.
    pub requests: BTreeMap<String, Quantity>,
    /// Its user.
    pub user: Option<i64>,
    /// Its priority class. With a higher one, the trial pod might preempt it.
    pub priority_class: Option<String>,
    /// Its required anti-affinity.
    apart: Vec<PodAffinityTerm>,
}

impl PresentPod {
    /// Reads a pod with that main container; `None` if it has an unexpected shape.
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

    /// Whether its anti-affinity may keep a pod with those labels from its node. Namespaces are ignored, so it may repel too many
    /// pods.
    #[must_use]
    pub fn repels(&self, labels: &BTreeMap<String, String>) -> bool {
        let selects = |term: &PodAffinityTerm| match &term.label_selector {
            // Without a selector, no pod is selected.
            None => false,
            Some(selector) => Selector::try_from(selector.clone()).map_or(true, |selector| selector.matches(labels)),
        };
        self.apart.iter().any(selects)
    }

    /// The resources of the trial pod: what the `desired` ones exceed the requests of the present pod by. On its node, this is
    /// exact, since its resources are free there once it is deleted.
    #[must_use]
    pub fn excess(&self, desired: &ResourceRequirements) -> ResourceRequirements {
        let empty = BTreeMap::new();
        let (requests, limits) =
            (desired.requests.as_ref().unwrap_or(&empty), desired.limits.as_ref().unwrap_or(&empty));
        let (mut more, mut most) = (BTreeMap::new(), limits.clone());
        // A resource with a limit and no request requests its limit.
        for (name, asked) in limits.iter().chain(requests) {
            let amount = |quantity: &Quantity| quantity::milli_value(&quantity.0);
            let has = self.requests.get(name).and_then(amount).unwrap_or(0);
            let Some(excess) = amount(asked).map(|asked| asked.saturating_sub(has).max(0)) else { continue };
            let excess = Quantity(format!("{excess}m"));
            if !OVERCOMMITTED.contains(&name.as_str()) {
                most.insert(name.clone(), excess.clone());
            }
            more.insert(name.clone(), excess);
        }
        ResourceRequirements { requests: Some(more), limits: Some(most), claims: None }
    }
}

/// The part of an affinity that a trial pod can have: the anti-affinity may apply to the present pod.
#[must_use]
pub fn affinity(of: &Affinity) -> Affinity {
    Affinity { pod_anti_affinity: None, ..of.clone() }
}

/// The resources whose limit may exceed the request; for all others, both must be equal.
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
    fn a_trial_pod_requests_the_excess_only() {
        let desired = ResourceRequirements {
            requests: Some(quantities(&[("memory", "1Gi")])),
            limits: Some(quantities(&[("cpu", "2"), ("memory", "2Gi"), ("hugepages-2Mi", "8Mi")])),
            claims: None,
        };
        let requests = quantities(&[("cpu", "500m"), ("memory", "4Gi"), ("hugepages-2Mi", "2Mi")]);
        let trial = PresentPod { requests, ..PresentPod::default() }.excess(&desired);
        let huge = ("hugepages-2Mi", "6291456000m");
        assert_eq!(trial.requests, Some(quantities(&[("cpu", "1500m"), ("memory", "0m"), huge])));
        assert_eq!(trial.limits, Some(quantities(&[("cpu", "2"), ("memory", "2Gi"), huge])));
    }

    #[test]
    fn a_pod_repels_by_its_anti_affinity() {
        let repels = |term: Value| {
            let apart = json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] });
            let pod = json!({ "spec": { "containers": [], "affinity": { "podAntiAffinity": apart } } });
            let labels = BTreeMap::from([("app".to_owned(), "shop".to_owned())]);
            PresentPod::of(&pod, "etcd").unwrap().repels(&labels)
        };
        let by = |selector: Value| json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": selector });
        assert!(repels(by(json!({ "matchLabels": { "app": "shop" } }))));
        assert!(repels(by(json!({}))), "an empty selector selects all pods");
        assert!(!repels(by(json!({ "matchLabels": { "app": "other" } }))));
        assert!(!repels(by(json!({ "matchExpressions": [{ "key": "app", "operator": "DoesNotExist" }] }))));
        assert!(!repels(json!({ "topologyKey": "kubernetes.io/hostname" })), "no selector selects none");
    }

    #[test]
    fn a_pod_of_an_unexpected_shape_is_not_read() {
        assert_eq!(PresentPod::of(&json!({ "spec": { "containers": 1 } }), "etcd"), None);
    }
}
