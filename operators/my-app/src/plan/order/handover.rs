//! The ports of a Service while pods with other ones take over. Pure.
//!
//! Whoever is sent to a port that a pod does not have is refused. With a Service that leads to the new ports at once, that would be all
//! requests until the first new pod is ready, and for good if none ever is, although the earlier pods serve.

use api::condition_type;
use runtime::plan::Apply;
use runtime::views::Deployment;
use serde_json::Value;

use crate::plan::{Observed, objects};

/// The Service as it is to be for now.
pub(super) struct Kept {
    /// What makes it so; nothing if it is.
    pub(super) apply: Option<Apply>,
    /// Whether the port that a route leads to is not there yet.
    pub(super) lacks_port: bool,
}

/// The Service with the ports that it has, and all else as `wanted`, if the pods that serve are those without the new ports. With
/// `leads_elsewhere`, no pod has them yet. Ports that others have changed are not kept.
pub(super) fn of(observed: &Observed, live: &Deployment, wanted: &Apply, leads_elsewhere: bool) -> Option<Kept> {
    let service = observed.service.ours()?;
    let ports: Vec<Value> = serde_json::from_str(service.ports.as_deref()?).ok()?;
    let asked = wanted.body["spec"]["ports"].as_array()?;
    let has = |target: &Value, protocol: &Value| {
        ports.iter().any(|there| there["targetPort"] == *target && there["protocol"] == *protocol)
    };
    let has_all = asked.iter().all(|port| has(&port["targetPort"], &port["protocol"]));
    if has_all || was_ready(observed) || !earlier_pods_serve(live, leads_elsewhere) {
        return None;
    }
    let leads_to = |port: i32| ports.iter().any(|there| there["port"] == port && there["protocol"] == "TCP");
    let lacks_port = objects::first_tcp_of_service(&observed.app.spec).is_some_and(|port| !leads_to(port));
    let mut kept = wanted.clone().anew();
    kept.body["spec"]["ports"] = ports.into();
    Some(Kept { apply: observed.service.kept(kept), lacks_port })
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
