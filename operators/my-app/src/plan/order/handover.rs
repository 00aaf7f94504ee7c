//! Pure: the ports of a Service while pods with other ones take over.
//!
//! A pod refuses requests to a port that it does not have. With a Service that leads to the new ports at once, that would be all
//! requests until the first new pod is ready, and for good if none ever is, although the earlier pods serve.

use api::condition_type;
use runtime::plan::Apply;
use runtime::projections::Deployment;
use serde_json::Value;

use crate::plan::Observed;

/// The port of the Service as it is that a route leads to for now: the first, to which routes lead. Another one, even of the number that
/// is specified, may be one that should not be reachable from outside.
pub(super) fn route_port(observed: &Observed) -> Option<i32> {
    let first = ports(observed)?.into_iter().find(|port| port["protocol"] == "TCP")?;
    i32::try_from(first["port"].as_i64()?).ok()
}

/// The ports of the Service as it is.
fn ports(observed: &Observed) -> Option<Vec<Value>> {
    serde_json::from_str(observed.service.owned()?.ports.as_deref()?).ok()
}

/// The Service with the ports that it has, and all else as `wanted`, if the pods that serve are those without the new ports. With
/// `leads_elsewhere`, no pod has them yet. Ports that others have changed are not kept.
pub(super) fn of(observed: &Observed, live: &Deployment, wanted: &Apply, leads_elsewhere: bool) -> Option<Apply> {
    let ports = ports(observed)?;
    let asked = wanted.body["spec"]["ports"].as_array()?;
    let has = |target: &Value, protocol: &Value| {
        ports.iter().any(|there| there["targetPort"] == *target && there["protocol"] == *protocol)
    };
    let has_all = asked.iter().all(|port| has(&port["targetPort"], &port["protocol"]));
    if has_all || was_ready(observed) || !earlier_pods_serve(live, leads_elsewhere) {
        return None;
    }
    let mut kept = wanted.clone().anew();
    kept.body["spec"]["ports"] = ports.into();
    Some(kept)
}

/// Whether pods have served by this very spec, so that a Service that differs has been edited.
fn was_ready(observed: &Observed) -> bool {
    let (meta, said) = (&observed.app.meta, &observed.app.status.contract);
    said.observed_generation == meta.generation && said.is_true(condition_type::READY)
}

/// Whether pods of an earlier template serve, and may be no fewer than those of the present one: of the ready pods, all but as many as
/// there are earlier ones are new for certain.
fn earlier_pods_serve(live: &Deployment, template_is_to_change: bool) -> bool {
    let rollout = &live.rollout;
    if template_is_to_change || rollout.observed_generation < live.meta.generation {
        return rollout.ready_replicas > 0;
    }
    let earlier = rollout.replicas - rollout.updated_replicas;
    (1..=2 * earlier).contains(&rollout.ready_replicas)
}
