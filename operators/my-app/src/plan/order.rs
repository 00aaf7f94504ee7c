//! What waits for the Deployment, and what does not. Pure.
//!
//! The API server may refuse a change of the Deployment until a person has changed something. Meanwhile a Service or a
//! PodDisruptionBudget that somebody has deleted or edited is to be whole all the same; one that the spec changes is not: it would
//! lead to ports that the pods have yet to get, and ways in would lead to ports that the Service has yet to get.

use runtime::cache::View;
use runtime::plan::{Apply, Effect, Kind};
use runtime::views::{Autoscaler, Deployment, Service};

use super::Observed;

/// The effects, and what stands beside them, in the order in which one waits for the other. With `left`, the Deployment stays as it is
/// for now, whatever is asked for.
pub(super) fn of(observed: &Observed, left: bool, steps: Vec<Effect>, aside: Vec<Apply>) -> (Vec<Effect>, Vec<Apply>) {
    let changes = steps.iter().any(|step| applies(step, Deployment::KIND));
    if observed.deployment.ours().is_none() || !changes && !left {
        return (steps, aside);
    }
    let leads_elsewhere = steps.iter().any(|step| applies(step, Service::KIND) && !is_put_back(step));
    let (mut effects, mut apart) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Effect::Apply(apply) if changes && apply.kind != Deployment::KIND && restores(&apply) => apart.push(apply),
            Effect::Apply(apply) if left && !restores(&apply) => {}
            other => effects.push(other),
        }
    }
    for apply in aside {
        match leads_elsewhere && apply.kind != Autoscaler::KIND {
            true if left => {}
            true => effects.push(Effect::Apply(apply)),
            false => apart.push(apply),
        }
    }
    (effects, apart)
}

fn applies(step: &Effect, kind: Kind) -> bool {
    matches!(step, Effect::Apply(apply) if apply.kind == kind)
}

fn is_put_back(step: &Effect) -> bool {
    matches!(step, Effect::Apply(apply) if restores(apply))
}

/// Whether an apply makes what is missing, or takes back what others have done, as far as that is known.
fn restores(apply: &Apply) -> bool {
    apply.seen.is_none() || apply.repairs || apply.live.is_some()
}
