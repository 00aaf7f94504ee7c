//! Pure: whether the children that the pods do not depend on match the spec, and what the status has reported of that.

use api::my_app::SCALING_ACTIVE;
use api::{Condition, ConditionStatus};
use runtime::apply::drift::Fingerprint;
use runtime::cache::Projection;
use runtime::plan::{Apply, Kind};
use runtime::projections::{Autoscaler, Ingress};

use crate::plan::Observed;
use crate::plan::name_taken::target_is_owned;

/// The condition that the status has reported for the current spec.
pub(super) fn told<'a>(observed: &'a Observed, type_: &str) -> Option<&'a Condition> {
    let (app, said) = (&observed.app, &observed.app.status.contract);
    let is_current = |of: i64| of == app.meta.generation;
    let told = said.condition(type_).filter(|_| is_current(said.observed_generation));
    told.filter(|told| told.observed_generation.is_none_or(is_current))
}

/// Whether a child of that kind differs from the spec: it is applied, or would be without the pause.
pub(super) fn differs(independent: &[Apply], kind: Kind) -> bool {
    independent.iter().any(|apply| apply.kind == kind)
}

/// Whether the spec of a child of that kind is the desired one, whatever else of it differs: its controller reports on no more than that.
pub(super) fn matches_spec(independent: &[Apply], kind: Kind, spec: Fingerprint) -> bool {
    independent.iter().filter(|apply| apply.kind == kind).all(|apply| apply.spec() == spec)
}

/// Whether a child differs because it was edited, and is restored in this reconcile: what was reported for this very spec stays true.
pub(super) fn is_restored(observed: &Observed, type_: &str) -> bool {
    let is_known = |told: &Condition| told.status != ConditionStatus::Unknown;
    let kind = if type_ == SCALING_ACTIVE { Autoscaler::KIND } else { Ingress::KIND };
    !observed.app.spec.paused && target_is_owned(observed, &kind) && told(observed, type_).is_some_and(is_known)
}
