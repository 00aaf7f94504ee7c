//! The Job whose pod tries the placement of the server's, beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::sample_db::Scheduling;
use k8s_openapi::api::core::v1::{Affinity, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::plan::{Create, quantity};
use runtime::views::Pod;
use serde_json::json;

use super::job::{JobOf, job};
use super::pod::{self, Place};
use super::server::fingerprint;
use crate::plan::placement::Present;
use crate::plan::wish::Wish;
use crate::plan::{Observed, names};

/// Annotation of the server's pods with where the spec had them run, and as what; and label of a trial's, with a fingerprint of it.
pub(in crate::plan) const PLACEMENT: &str = "multi-operator.example.com/placement";
/// After how many seconds a trial is begun anew: one that waits for a node goes on by itself until then.
const DEADLINE: i64 = 24 * 3600;
/// For how many seconds one that has failed keeps another from being made.
const LINGER: i32 = 600;

/// Where the server's pod is to run, and as what, in one line.
#[must_use]
pub(in crate::plan) fn placement(scheduling: &Scheduling) -> String {
    json!(scheduling).to_string()
}

/// Where a pod of the server's was to run, and as what; nothing of those that earlier managers have made.
#[must_use]
pub(crate) fn placed(pod: &Pod) -> Option<Scheduling> {
    serde_json::from_str(pod.running.as_deref()?.annotations.get(PLACEMENT)?).ok()
}

/// A placement as the value of a label.
#[must_use]
pub(in crate::plan) fn mark(placement: &str) -> String {
    format!("{:016x}", fingerprint(placement))
}

/// The Job. What the present pod has is free once that is gone, so the trial's asks for what the spec asks for beyond it, and may run on
/// its node. It names the claim of the data, since a volume may be bound to a node, and mounts it nowhere: no kubelet waits for
/// a volume that is attached elsewhere.
pub(in crate::plan) fn trial(observed: &Observed, wish: &Wish, present: &Present) -> Create {
    let db = &*observed.db;
    let scheduling = Cow::Owned(beside(&db.spec.scheduling));
    let asks = json!(beyond(&pod::resources(&scheduling), &present.requests));
    let place = Place { scheduling, ..observed.place(&wish.image) };
    let mut arguments = vec!["pg-version".to_owned(), "--start-in=/tmp".to_owned()];
    arguments.extend(present.user.map(|user| format!("--as-user={user}")));
    let [first, whole] = &names::trial_jobs(db);
    let name = if present.whole { whole } else { first };
    let mut of = JobOf::of_database(db, name, arguments, DEADLINE);
    of.labels.extend([
        (PLACEMENT.to_owned(), mark(&placement(&db.spec.scheduling))),
        (pod::ISOLATED.to_owned(), "true".to_owned()),
    ]);
    let mut create = job(JobOf { env_from: None, linger: Some(LINGER), retries: 2, ..of }, &place);
    let spec = &mut create.body["spec"]["template"]["spec"];
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(json!(pod::of_claim("data", &wish.claim)));
    }
    for containers in ["initContainers", "containers"] {
        let all = spec[containers].as_array_mut();
        all.into_iter().flatten().for_each(|container| container["resources"] = asks.clone());
    }
    create
}

/// What of a placement another pod can have beside the present one.
fn beside(of: &Scheduling) -> Scheduling {
    let apart = |affinity: &Affinity| Affinity { pod_anti_affinity: None, ..affinity.clone() };
    Scheduling { affinity: of.affinity.as_ref().map(apart), topology_spread_constraints: Vec::new(), ..of.clone() }
}

/// What `wanted` asks for beyond what the present pod does.
fn beyond(wanted: &ResourceRequirements, present: &BTreeMap<String, Quantity>) -> ResourceRequirements {
    let empty = BTreeMap::new();
    let (requests, limits) = (wanted.requests.as_ref().unwrap_or(&empty), wanted.limits.as_ref().unwrap_or(&empty));
    let (mut more, mut most) = (BTreeMap::new(), limits.clone());
    // What has a limit and no request asks for its limit.
    for (name, asked) in limits.iter().chain(requests) {
        let amount = |quantity: &Quantity| quantity::thousandths(&quantity.0);
        let has = present.get(name).and_then(amount).unwrap_or(0);
        let Some(beyond) = amount(asked).map(|asked| asked.saturating_sub(has).max(0)) else { continue };
        let beyond = Quantity(format!("{beyond}m"));
        if !OVERCOMMITTED.contains(&name.as_str()) {
            most.insert(name.clone(), beyond.clone());
        }
        more.insert(name.clone(), beyond);
    }
    ResourceRequirements { requests: Some(more), limits: Some(most), claims: None }
}

/// The resources of which a container may use more than it asks for; of all others it is to ask for as much as its limit.
/// Source: <https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources>
const OVERCOMMITTED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

#[cfg(test)]
mod tests {
    use super::*;

    fn quantities(all: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
        all.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect()
    }

    #[test]
    fn a_trial_asks_for_what_the_present_pod_does_not_have() {
        let wanted = ResourceRequirements {
            requests: Some(quantities(&[("memory", "1Gi")])),
            limits: Some(quantities(&[("cpu", "2"), ("memory", "2Gi"), ("hugepages-2Mi", "8Mi")])),
            claims: None,
        };
        let trial = beyond(&wanted, &quantities(&[("cpu", "500m"), ("memory", "4Gi"), ("hugepages-2Mi", "2Mi")]));
        let huge = ("hugepages-2Mi", "6291456000m");
        assert_eq!(trial.requests, Some(quantities(&[("cpu", "1500m"), ("memory", "0m"), huge])));
        assert_eq!(trial.limits, Some(quantities(&[("cpu", "2"), ("memory", "2Gi"), huge])));
    }
}
