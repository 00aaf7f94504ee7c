//! Pure: the status to write after a reconcile, if any.

use api::{ConditionStatus, Contract, ObjectStatus, condition_type};
use jiff::Timestamp;

use super::conditions::{self, Summary, condition};
use crate::Error;
use crate::plan::meta::Meta;

/// The outcome of a reconcile.
#[derive(Clone, Copy, Debug)]
pub enum ReconcileOutcome<'a> {
    /// All effects and independent applies succeeded.
    Done,
    /// An effect failed, and those after it were not performed.
    Failed(&'a Error),
    /// All effects succeeded, and an independent apply failed.
    FailedIndependently(&'a Error),
}

impl<'a> ReconcileOutcome<'a> {
    /// The failure.
    #[must_use]
    pub fn error(self) -> Option<&'a Error> {
        match self {
            Self::Done => None,
            Self::Failed(error) | Self::FailedIndependently(error) => Some(error),
        }
    }
}

/// The status to write: `planned` after a success (`None` keeps the present status), and otherwise the failure; `None` if only
/// times would change. Expected failures are not reported. Without a plan, the conditions before stay, with their generation.
pub fn next_status<S: ObjectStatus>(
    planned: Option<S>,
    outcome: ReconcileOutcome<'_>,
    before: &S,
    meta: &Meta,
    manager: &str,
    failures: u32,
    now: Timestamp,
) -> Option<S> {
    let is_planned = planned.is_some();
    let mut status = match (planned, outcome) {
        (None, ReconcileOutcome::Done) => return None,
        (planned, _) => planned.unwrap_or_else(|| before.clone()),
    };
    match outcome {
        ReconcileOutcome::Done => {}
        ReconcileOutcome::Failed(error) | ReconcileOutcome::FailedIndependently(error)
            if error.is_expected(failures) =>
        {
            return None;
        }
        ReconcileOutcome::FailedIndependently(error) if status.contract().is_true(condition_type::READY) => {
            add_failure(status.contract_mut(), error, now);
        }
        ReconcileOutcome::Failed(error) | ReconcileOutcome::FailedIndependently(error) => {
            status.mark_failed();
            set_failure(status.contract_mut(), error, now);
        }
    }
    conditions::merge(status.contract_mut(), before.contract(), meta.generation, manager);
    if !is_planned {
        keep_generations(status.contract_mut(), before.contract());
    }
    (!is_same(&status, before)).then_some(status)
}

/// The conditions of the summary.
const SUMMARY: [&str; 3] = [condition_type::READY, condition_type::RECONCILING, condition_type::STALLED];

/// Replaces the summary with the failure.
fn set_failure(contract: &mut Contract, error: &Error, now: Timestamp) {
    let summary = if error.stalled() { Summary::Stalled } else { Summary::Reconciling };
    contract.conditions.retain(|c| !SUMMARY.contains(&&*c.type_));
    contract.conditions.extend(summary.conditions(error.reason(), error.to_string(), now));
}

/// Restores the generation of conditions that were not evaluated again.
fn keep_generations(contract: &mut Contract, before: &Contract) {
    for kept in contract.conditions.iter_mut().filter(|c| !SUMMARY.contains(&&*c.type_)) {
        kept.observed_generation = before.condition(&kept.type_).and_then(|before| before.observed_generation);
    }
}

/// Reports a failure in addition to Ready=True.
fn add_failure(contract: &mut Contract, error: &Error, now: Timestamp) {
    let (type_, other) = match error.stalled() {
        true => (condition_type::STALLED, condition_type::RECONCILING),
        false => (condition_type::RECONCILING, condition_type::STALLED),
    };
    contract.conditions.retain(|c| ![type_, other].contains(&&*c.type_));
    let why = format!("; {error}");
    // The planned status may be the one before.
    for ready in
        contract.conditions.iter_mut().filter(|c| c.type_ == condition_type::READY && !c.message.ends_with(&why))
    {
        ready.message.push_str(&why);
    }
    contract.conditions.push(condition(type_, ConditionStatus::True, error.reason(), error.to_string(), now));
}

/// Whether nothing differs that this manager writes.
fn is_same<S: ObjectStatus>(status: &S, before: &S) -> bool {
    let mut before = before.clone();
    let conditions = &mut before.contract_mut().conditions;
    conditions.retain(|c| c.type_ != condition_type::CONFLICT);
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    *status == before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::meta::Key;
    use api::sample::SampleStatus;

    fn meta(generation: i64) -> Meta {
        Meta {
            key: Key::new("n", "a"),
            uid: "u".into(),
            resource_version: 1,
            generation,
            deleting: false,
            controller: None,
            finalizers: Box::default(),
        }
    }

    fn reported(
        planned: Option<SampleStatus>,
        outcome: ReconcileOutcome<'_>,
        before: &SampleStatus,
        failures: u32,
    ) -> Option<SampleStatus> {
        next_status(planned, outcome, before, &meta(3), "ns/lease", failures, Timestamp::UNIX_EPOCH)
    }

    fn ready() -> SampleStatus {
        let conditions = Summary::Ready.conditions(api::Reason::reported("Kept"), "held", Timestamp::UNIX_EPOCH);
        SampleStatus { contract: Contract { conditions, ..Contract::default() } }
    }

    #[test]
    fn the_same_status_is_written_once() {
        let first = reported(Some(ready()), ReconcileOutcome::Done, &SampleStatus::default(), 0).unwrap();
        assert_eq!((first.contract.observed_generation, first.contract.managed_by.as_deref()), (3, Some("ns/lease")));
        assert_eq!(reported(Some(ready()), ReconcileOutcome::Done, &first, 0), None);
        assert_eq!(reported(None, ReconcileOutcome::Done, &first, 0), None);
    }

    #[test]
    fn a_failure_overrides_what_was_planned() {
        let refused = Error::Invalid { reason: api::ReconcileReason::Rejected.into(), message: "no".into() };
        let reported =
            reported(Some(ready()), ReconcileOutcome::Failed(&refused), &SampleStatus::default(), 0).unwrap();
        assert!(!reported.contract.is_true("Ready") && reported.contract.is_true("Stalled"));
    }

    #[test]
    fn without_a_plan_conditions_keep_their_generation() {
        let mut before = ready();
        before.contract.conditions.push(condition(
            "RouteAccepted",
            ConditionStatus::True,
            api::Reason::reported("Accepted"),
            "",
            Timestamp::UNIX_EPOCH,
        ));
        let before = reported(Some(before), ReconcileOutcome::Done, &SampleStatus::default(), 0).unwrap();
        let stale = Error::Transient {
            reason: api::ReconcileReason::WatchFailing.into(),
            message: "no".to_owned(),
            stalled: true,
        };
        let edited = next_status(
            None,
            ReconcileOutcome::Failed(&stale),
            &before,
            &meta(4),
            "ns/lease",
            0,
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
        let of = |type_: &str| edited.contract.condition(type_).and_then(|condition| condition.observed_generation);
        assert_eq!((edited.contract.observed_generation, of("Ready"), of("Stalled")), (4, Some(4), Some(4)));
        assert_eq!(of("RouteAccepted"), Some(3));
    }

    #[test]
    fn a_ready_object_stays_ready_if_an_independent_apply_fails() {
        let refused = Error::Invalid { reason: api::ReconcileReason::Rejected.into(), message: "no".into() };
        let independent = ReconcileOutcome::FailedIndependently(&refused);
        let first = reported(Some(ready()), independent, &SampleStatus::default(), 0).unwrap();
        assert!(first.contract.is_true("Ready") && first.contract.is_true("Stalled"));
        let message = first.contract.condition("Ready").map(|c| c.message.as_str());
        assert_eq!(message, Some(&*format!("held; {refused}")));
        assert_eq!(reported(Some(ready()), independent, &first, 0), None, "reported once");
        assert_eq!(
            reported(Some(first.clone()), independent, &first, 0),
            None,
            "also if the planned status is the one before"
        );
        let again = reported(Some(ready()), ReconcileOutcome::Done, &first, 0).unwrap();
        assert!(again.contract.is_true("Ready") && !again.contract.is_true("Stalled"));
        let conditions =
            Summary::Reconciling.conditions(api::Reason::reported("Making"), "not yet", Timestamp::UNIX_EPOCH);
        let unready = SampleStatus { contract: Contract { conditions, ..Contract::default() } };
        let reported = reported(Some(unready), independent, &SampleStatus::default(), 0).unwrap();
        assert!(!reported.contract.is_true("Ready") && reported.contract.is_true("Stalled"));
    }

    #[test]
    fn the_first_conflict_is_not_reported() {
        let conflict = Error::transient(api::ReconcileReason::Conflict, "changed meanwhile");
        let conflict = ReconcileOutcome::Failed(&conflict);
        assert_eq!(reported(Some(ready()), conflict, &SampleStatus::default(), 0), None);
        assert!(reported(Some(ready()), conflict, &SampleStatus::default(), 1).is_some());
        let terminating = Error::blocked(api::ReconcileReason::OwnerLeaving, "this Sample is being deleted");
        assert_eq!(reported(Some(ready()), ReconcileOutcome::Failed(&terminating), &SampleStatus::default(), 1), None);
    }
}
