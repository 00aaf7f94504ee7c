//! Whether what stands beside the pods is as asked, and what was told of that. Pure.

use api::my_app::SCALING_ACTIVE;
use api::{Condition, ConditionStatus};
use runtime::cache::View;
use runtime::plan::drift::Fingerprint;
use runtime::plan::{Apply, Kind};
use runtime::views::{Autoscaler, Ingress};

use crate::plan::Observed;
use crate::plan::taken::names_ours;

/// What was told of the spec as it is now.
pub(super) fn told<'a>(observed: &'a Observed, type_: &str) -> Option<&'a Condition> {
    let (app, said) = (&observed.app, &observed.app.status.contract);
    let is_current = |of: i64| of == app.meta.generation;
    let told = said.condition(type_).filter(|_| is_current(said.observed_generation));
    told.filter(|told| told.observed_generation.is_none_or(is_current))
}

/// Whether a child of that kind is not as asked: it is applied, or would be but for a pause.
pub(super) fn differs(aside: &[Apply], kind: Kind) -> bool {
    aside.iter().any(|apply| apply.kind == kind)
}

/// Whether the spec of a child of that kind is the one that is asked for, whatever else of it differs: its controller speaks of no
/// more than that.
pub(super) fn is_asked(aside: &[Apply], kind: Kind, spec: Fingerprint) -> bool {
    aside.iter().filter(|apply| apply.kind == kind).all(|apply| apply.spec() == spec)
}

/// Whether a child that is not as asked is so by somebody's hand, and is put back in this pass: of what was told of it for this very
/// spec, no more is to come of that.
pub(super) fn is_put_back(observed: &Observed, type_: &str) -> bool {
    let is_known = |told: &Condition| told.status != ConditionStatus::Unknown;
    let kind = if type_ == SCALING_ACTIVE { Autoscaler::KIND } else { Ingress::KIND };
    !observed.app.spec.paused && names_ours(observed, &kind) && told(observed, type_).is_some_and(is_known)
}
