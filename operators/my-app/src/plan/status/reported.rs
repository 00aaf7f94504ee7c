//! Pure: whether the children that the pods do not depend on match the spec, and what the status has reported about them.

use api::my_app::SCALING_ACTIVE;
use api::{Condition, ConditionStatus};
use runtime::apply::drift::Fingerprint;
use runtime::cache::Projection;
use runtime::plan::{Apply, ResourceKind};
use runtime::projections::{Autoscaler, Ingress};

use crate::plan::Observed;
use crate::plan::name_taken::target_is_owned;

/// The condition that the status has reported for the current spec.
pub(super) fn reported<'a>(observed: &'a Observed, type_: &str) -> Option<&'a Condition> {
    let (app, status) = (&observed.app, &observed.app.status.contract);
    let is_current = |of: i64| of == app.meta.generation;
    let condition = status.condition(type_).filter(|_| is_current(status.observed_generation));
    condition.filter(|condition| condition.observed_generation.is_none_or(is_current))
}

/// Whether a child of that kind differs from the spec: the operator applies it, or would without the pause.
pub(super) fn differs(independent: &[Apply], kind: ResourceKind) -> bool {
    independent.iter().any(|apply| apply.kind == kind)
}

/// Whether the spec of a child of that kind is the desired one. Its metadata may differ: its controller reports only on the spec.
pub(super) fn matches_spec(independent: &[Apply], kind: ResourceKind, spec: Fingerprint) -> bool {
    independent.iter().filter(|apply| apply.kind == kind).all(|apply| apply.spec() == spec)
}

/// Whether a child differs because another client edited it, and this reconcile restores it. The condition that was reported for the
/// current spec then stays true.
pub(super) fn is_restored(observed: &Observed, type_: &str) -> bool {
    let is_known = |condition: &Condition| condition.status != ConditionStatus::Unknown;
    let kind = if type_ == SCALING_ACTIVE { Autoscaler::KIND } else { Ingress::KIND };
    !observed.app.spec.paused && target_is_owned(observed, &kind) && reported(observed, type_).is_some_and(is_known)
}
