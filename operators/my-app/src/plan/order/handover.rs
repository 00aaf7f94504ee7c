//! Pure: the ports of a Service while pods with other ports replace the current ones.
//!
//! A pod refuses requests to a port that it does not have. If the Service led to the new ports at once, all requests would fail until the
//! first new pod is ready, or permanently if none becomes ready, although the earlier pods serve.

use api::condition_type;
use runtime::plan::Apply;
use runtime::projections::Deployment;
use serde_json::Value;

use crate::plan::Observed;

/// The port of the current Service that a route leads to meanwhile: the first one, as for every route. Another port, even one with the
/// specified number, may not be meant for clients outside of the cluster.
pub(super) fn route_port(observed: &Observed) -> Option<i32> {
    let first = ports(observed)?.into_iter().find(|port| port["protocol"] == "TCP")?;
    i32::try_from(first["port"].as_i64()?).ok()
}

/// The ports of the current Service.
fn ports(observed: &Observed) -> Option<Vec<Value>> {
    serde_json::from_str(observed.service.owned()?.ports.as_deref()?).ok()
}

/// The desired Service, but with its current ports, if the pods that serve do not have the new ports. With `leads_elsewhere`, no pod has
/// them yet. Ports that other clients have changed are restored.
pub(super) fn of(observed: &Observed, live: &Deployment, desired: &Apply, leads_elsewhere: bool) -> Option<Apply> {
    let ports = ports(observed)?;
    let new_ports = desired.body["spec"]["ports"].as_array()?;
    let has = |target: &Value, protocol: &Value| {
        ports.iter().any(|port| port["targetPort"] == *target && port["protocol"] == *protocol)
    };
    let has_all = new_ports.iter().all(|port| has(&port["targetPort"], &port["protocol"]));
    if has_all || was_ready(observed) || !earlier_pods_serve(live, leads_elsewhere) {
        return None;
    }
    let mut service = desired.clone().for_new_child();
    service.body["spec"]["ports"] = ports.into();
    Some(service)
}

/// Whether pods have served with the current spec, so that another client must have edited a Service that differs.
fn was_ready(observed: &Observed) -> bool {
    let (meta, status) = (&observed.app.meta, &observed.app.status.contract);
    status.observed_generation == meta.generation && status.is_true(condition_type::READY)
}

/// Whether pods of an earlier template serve, and possibly as many of them as of the current template. Only the ready pods beyond the
/// number of earlier pods are certainly new.
fn earlier_pods_serve(live: &Deployment, template_is_to_change: bool) -> bool {
    let rollout = &live.rollout;
    if template_is_to_change || rollout.observed_generation < live.meta.generation {
        return rollout.ready_replicas > 0;
    }
    let earlier = rollout.replicas - rollout.updated_replicas;
    (1..=2 * earlier).contains(&rollout.ready_replicas)
}
