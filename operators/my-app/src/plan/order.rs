//! Pure: what waits for the Deployment, and what does not.
//!
//! The operator applies a Service with target ports that the pods do not have only after the Deployment, and a route only after its
//! Service: otherwise requests would reach no pod. Both also wait while the API server rejects the Deployment. The ports of the Service
//! wait until the pods with the new ports have replaced the others; until then, a route leads to the current port of the Service. The
//! operator applies any other change of the Service, and a deleted or edited PodDisruptionBudget, meanwhile.

use runtime::cache::Projection;
use runtime::plan::{Apply, Effect};
use runtime::projections::{Autoscaler, ContainerPort, Deployment, DisruptionBudget, Ingress, Service};

use super::{Observed, objects};

mod handover;

/// The effects in the order in which each waits for the previous one, and the independent applies. With `deployment_on_hold`, neither the
/// Deployment is applied nor what waits for it.
pub(super) fn of(
    observed: &Observed,
    deployment_on_hold: bool,
    steps: Vec<Effect>,
    applies: Vec<Apply>,
) -> (Vec<Effect>, Vec<Apply>) {
    let changes = steps.iter().any(|step| matches!(step, Effect::Apply(apply) if apply.kind == Deployment::KIND));
    let Some(live) = observed.deployment.owned() else { return (steps, applies) };
    let (mut effects, mut independent, mut route_apply) = (Vec::new(), Vec::new(), RouteApply::Independent);
    for step in steps {
        let (step, waits) = match step {
            Effect::Apply(apply) if apply.kind == Service::KIND => {
                let elsewhere = (changes || deployment_on_hold) && leads_elsewhere(live, &apply);
                let meanwhile = || RouteApply::Meanwhile(handover::route_port(observed));
                let (apply, next) = match handover::of(observed, live, &apply, elsewhere) {
                    Some(kept) => (observed.service.apply_if_drifted(kept), meanwhile()),
                    None if elsewhere && deployment_on_hold => (None, meanwhile()),
                    None if elsewhere => (Some(apply), RouteApply::AfterService),
                    None => (Some(apply), RouteApply::Independent),
                };
                route_apply = next;
                let Some(apply) = apply else { continue };
                (Effect::Apply(apply), matches!(route_apply, RouteApply::AfterService))
            }
            other => (other, false),
        };
        match step {
            Effect::Apply(apply) if changes && !waits && is_independent(&apply) => independent.push(apply),
            other => effects.push(other),
        }
    }
    for apply in applies {
        match route_apply {
            RouteApply::Meanwhile(port) if apply.kind != Autoscaler::KIND => {
                independent.extend(port.and_then(|port| to_port(observed, apply, port)));
            }
            RouteApply::AfterService if apply.kind != Autoscaler::KIND => effects.push(Effect::Apply(apply)),
            _ => independent.push(apply),
        }
    }
    (effects, independent)
}

/// When an Ingress or HTTPRoute is applied.
enum RouteApply {
    /// Independently of the other effects.
    Independent,
    /// Once its Service has been.
    AfterService,
    /// With that port of its Service, which keeps its ports for now; without one, in a later reconcile.
    Meanwhile(Option<i32>),
}

/// The apply after which the Ingress or HTTPRoute leads to that port; `None` if it already does.
fn to_port(observed: &Observed, apply: Apply, port: i32) -> Option<Apply> {
    let apply = objects::to_port(apply.for_new_child(), port);
    if apply.kind == Ingress::KIND {
        observed.ingress.apply_if_drifted(apply)
    } else {
        observed.http_route.seen()?.apply_if_drifted(apply)
    }
}

/// Whether the apply changes an existing Service so that it leads to a port that the pods of that Deployment do not have. A new Service has
/// no requests yet that could fail.
fn leads_elsewhere(live: &Deployment, service: &Apply) -> bool {
    let mut ports = service.body["spec"]["ports"].as_array().into_iter().flatten().filter(|_| service.seen.is_some());
    ports.any(|port| {
        let is_it = |own: &ContainerPort| port["targetPort"] == own.number && port["protocol"] == *own.protocol;
        !live.template.ports.iter().any(is_it)
    })
}

/// Whether the apply is independent of the change of the Deployment. A change of a PodDisruptionBudget is not: it may be about the new
/// number of pods.
fn is_independent(apply: &Apply) -> bool {
    let restores = || apply.seen.is_none() || apply.repairs || apply.live.is_some();
    apply.kind == Service::KIND || apply.kind == DisruptionBudget::KIND && restores()
}
