//! Pure: what waits for the Deployment, and what does not.
//!
//! A Service with target ports that the pods do not have is applied only after the Deployment, and a route only after its Service:
//! otherwise requests would reach no pod. Both also wait while the API server rejects the Deployment, and the ports of the Service until
//! the pods with the new ones have taken over from those without; until then, a route leads to the port that the Service has. Any other
//! change of the Service, and a PodDisruptionBudget that was deleted or edited, is applied meanwhile.

use runtime::cache::Projection;
use runtime::plan::{Apply, Effect};
use runtime::projections::{Autoscaler, Deployment, DisruptionBudget, Ingress, Port, Service};

use super::{Observed, objects};

mod handover;

/// The effects in the order in which one waits for the other, and the independent applies. With `deployment_on_hold`, the Deployment is
/// not applied for now, and what waits for it is not either.
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
                    Some(kept) => (observed.service.kept(kept), meanwhile()),
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

/// The apply that makes an Ingress or HTTPRoute lead to that port, unless it does already.
fn to_port(observed: &Observed, apply: Apply, port: i32) -> Option<Apply> {
    let apply = objects::to_port(apply.anew(), port);
    if apply.kind == Ingress::KIND { observed.ingress.kept(apply) } else { observed.http_route.seen()?.kept(apply) }
}

/// Whether an existing Service would lead to a port that the pods of that Deployment do not have. Without a Service there are no requests
/// to lose.
fn leads_elsewhere(live: &Deployment, service: &Apply) -> bool {
    let mut ports = service.body["spec"]["ports"].as_array().into_iter().flatten().filter(|_| service.seen.is_some());
    ports.any(|port| {
        let is_it = |own: &Port| port["targetPort"] == own.number && port["protocol"] == *own.protocol;
        !live.template.ports.iter().any(is_it)
    })
}

/// Whether what is applied has nothing to do with the change of the Deployment. A budget of another number of pods has.
fn is_independent(apply: &Apply) -> bool {
    let restores = || apply.seen.is_none() || apply.repairs || apply.live.is_some();
    apply.kind == Service::KIND || apply.kind == DisruptionBudget::KIND && restores()
}
