//! EtcdClusters: members as pods with PVCs, two Services and a PodDisruptionBudget, and an etcd whose members they are.

use api::etcd_cluster::{EtcdClusterEvent, EtcdClusterReason};
use serde_json::{Value, json};

use super::definition::{Scenario, reasons};
use crate::api_server::request::Propagation;
use crate::api_server::state::StoredState;
use crate::call_faults::CallRates;
use crate::happening::Happening;
use crate::objects::{has_ready, objects};
use crate::random::Random;
use crate::user::{Deed, UserAct};

/// An EtcdCluster that is resized and upgraded, whose pods and children are deleted and edited by hand, and whose status is lost.
/// No volume is lost, and no one deletes it: its data has to be there at the end.
pub const SCENARIO: Scenario = Scenario {
    name: "etcd-cluster",
    controllers: "etcd-cluster",
    roots: &["etcdclusters"],
    children: &["services", "poddisruptionbudgets"],
    kept: &["services", "poddisruptionbudgets"],
    // Names of members, and what etcd derives from them.
    volatile: &["clusterID", "dbSize", "leader", "memberStatuses", "members", OWNER_UID],
    most_writes: 2000,
    reasons: || reasons!(EtcdClusterReason, EtcdClusterEvent),
    permissions: ::etcd_cluster::PERMISSIONS,
    operand_fault: Some(operand_fault),
    children_differ,
    act,
    wanted,
};

const NAME: &str = "data";
const CLIENTS: &str = "data-client";
const SIZES: [u64; 3] = [1, 3, 5];
const VERSIONS: [&str; 3] = ["3.4.40", "3.5.35", "3.6.16"];
const OWNER_UID: &str = "multi-operator.example.com/owner-uid";
/// Once status has it, whatever a user does to pods and status can be undone: before, nothing records which data is whose.
const CLUSTER_ID: &str = "clusterID";

fn act(random: &mut Random) -> UserAct {
    let (plural, name, what) = match random.below(100) {
        0..45 => {
            let version = random.pick(&VERSIONS).copied().unwrap_or_default();
            ("etcdclusters", NAME, put(version, random).maybe_paused(random))
        }
        45..65 => ("etcdclusters", NAME, Deed::DeletePod { which: random.below(5), unless_lacks: CLUSTER_ID }),
        65..73 => ("etcdclusters", NAME, Deed::EraseStatusWith(CLUSTER_ID)),
        73..79 => ("services", NAME, Deed::Delete(Propagation::Background)),
        79..85 => ("services", CLIENTS, Deed::Delete(Propagation::Background)),
        85..91 => ("services", CLIENTS, Deed::Edit(json!({ "spec": { "selector": { "app": "other" } } }))),
        91..96 => ("services", NAME, Deed::Edit(json!({ "metadata": { "labels": null } }))),
        _ => ("poddisruptionbudgets", NAME, Deed::Delete(Propagation::Background)),
    };
    UserAct { plural, name: name.to_owned(), what }
}

/// Upgrades go by one minor version at a time, and never back: the version in between is reached, or has been left for good.
fn wanted(random: &mut Random) -> Vec<UserAct> {
    let refused = Deed::Await(&["UpgradeRefused"]);
    let deeds = [put("3.5.35", random), refused, put("3.6.16", random)];
    deeds.map(|what| UserAct { plural: "etcdclusters", name: NAME.to_owned(), what }).into()
}

fn put(version: &str, random: &mut Random) -> Deed {
    Deed::Put(json!({ "spec": { "size": random.pick(&SIZES), "version": version } }))
}

fn operand_fault(random: &mut Random) -> Happening {
    if random.chance(500) {
        return Happening::KillOperand(random.below(5));
    }
    let time = std::time::Duration::from_millis(random.between(2_000, 60_000));
    Happening::OperandStorm(CallRates::draw(random), time)
}

fn children_differ(state: &StoredState, name: &str, cluster: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let pods: Vec<(&str, &Value)> = objects(state, "pods").collect();
    if Some(u64::try_from(pods.len()).unwrap_or_default()) != cluster["spec"]["size"].as_u64() {
        let names: Vec<&str> = pods.iter().map(|(pod, _)| *pod).collect();
        found.push(format!("at the end, the pods of {name} are {names:?}"));
    }
    let tag = format!(":v{}", cluster["spec"]["version"].as_str().unwrap_or_default());
    for (pod, object) in &pods {
        if !object["status"]["containerStatuses"][0]["image"].as_str().is_some_and(|image| image.ends_with(&tag)) {
            found.push(format!("at the end, the pod {pod} does not run the version of {name}"));
        }
        if !has_ready(object) {
            found.push(format!("at the end, the pod {pod} is not ready"));
        }
        let claim = objects(state, "persistentvolumeclaims").find(|(claim, _)| claim == pod);
        if claim.is_none_or(|(_, claim)| claim["status"]["phase"] != "Bound") {
            found.push(format!("at the end, the pod {pod} has no bound PVC"));
        }
    }
    for service in [NAME, CLIENTS] {
        let found_service = objects(state, "services").find(|(of, _)| *of == service);
        let selector = found_service.and_then(|(_, service)| service["spec"]["selector"].as_object().cloned());
        let selects = |pod: &Value| {
            selector
                .as_ref()
                .is_some_and(|all| all.iter().all(|(label, value)| pod["metadata"]["labels"][label] == *value))
        };
        if !pods.iter().all(|(_, pod)| selects(pod)) {
            found.push(format!("at the end, the Service {service} does not select all members"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_version_is_reached_step_by_step() {
        let mut random = Random::new(3);
        for _ in 0..20 {
            let acts = wanted(&mut random);
            let versions: Vec<Option<&str>> = acts
                .iter()
                .map(|act| match &act.what {
                    Deed::Put(content) => content["spec"]["version"].as_str(),
                    _ => None,
                })
                .collect();
            assert_eq!(versions, [Some("3.5.35"), None, Some("3.6.16")]);
        }
    }
}
