//! Pure: what status to write after a pass, if any.

use api::{ConditionStatus, Contract, Status, condition_type};
use jiff::Timestamp;

use super::conditions::{self, Summary, condition};
use crate::Error;
use crate::plan::meta::Meta;

/// What a pass came to.
#[derive(Clone, Copy, Debug)]
pub enum ReconcileOutcome<'a> {
    /// All that was planned was done.
    Done,
    /// An effect failed, and those after it were left.
    Failed(&'a Error),
    /// All effects were done, and something that stands beside them failed.
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

/// The status to write: `planned` if all went well (`None` leaves it alone), else the failure; `None` if that would
/// change nothing but times. What is ordinary is not told. Where nothing was planned, what was judged before stays, with the
/// generation that it was judged at.
pub fn next_status<S: Status>(
    planned: Option<S>,
    came: ReconcileOutcome<'_>,
    before: &S,
    meta: &Meta,
    manager: &str,
    failures: u32,
    now: Timestamp,
) -> Option<S> {
    let judged = planned.is_some();
    let mut status = match (planned, came) {
        (None, ReconcileOutcome::Done) => return None,
        (planned, _) => planned.unwrap_or_else(|| before.clone()),
    };
    match came {
        ReconcileOutcome::Done => {}
        ReconcileOutcome::Failed(error) | ReconcileOutcome::FailedIndependently(error)
            if error.is_expected(failures) =>
        {
            return None;
        }
        ReconcileOutcome::FailedIndependently(error) if status.contract().is_true(condition_type::READY) => {
            fall_behind(status.contract_mut(), error, now);
        }
        ReconcileOutcome::Failed(error) | ReconcileOutcome::FailedIndependently(error) => {
            status.fall_short();
            fail(status.contract_mut(), error, now);
        }
    }
    conditions::merge(status.contract_mut(), before.contract(), meta.generation, manager);
    if !judged {
        keep_generations(status.contract_mut(), before.contract());
    }
    (!same(&status, before)).then_some(status)
}

/// What of conditions is the summary.
const SUMMARY: [&str; 3] = [condition_type::READY, condition_type::RECONCILING, condition_type::STALLED];

/// Replaces the summary by the failure.
fn fail(contract: &mut Contract, error: &Error, now: Timestamp) {
    let summary = if error.stalled() { Summary::Stalled } else { Summary::Reconciling };
    contract.conditions.retain(|c| !SUMMARY.contains(&&*c.type_));
    contract.conditions.extend(summary.conditions(error.reason(), error.to_string(), now));
}

/// Conditions that nobody has judged anew are of the generation that they were of.
fn keep_generations(contract: &mut Contract, before: &Contract) {
    for kept in contract.conditions.iter_mut().filter(|c| !SUMMARY.contains(&&*c.type_)) {
        kept.observed_generation = before.condition(&kept.type_).and_then(|before| before.observed_generation);
    }
}

/// It is Ready all the same; beside that it says what of it cannot be had.
fn fall_behind(contract: &mut Contract, error: &Error, now: Timestamp) {
    let (type_, other) = match error.stalled() {
        true => (condition_type::STALLED, condition_type::RECONCILING),
        false => (condition_type::RECONCILING, condition_type::STALLED),
    };
    contract.conditions.retain(|c| ![type_, other].contains(&&*c.type_));
    let why = format!("; {error}");
    // What is planned may be what was told before.
    for ready in
        contract.conditions.iter_mut().filter(|c| c.type_ == condition_type::READY && !c.message.ends_with(&why))
    {
        ready.message.push_str(&why);
    }
    contract.conditions.push(condition(type_, ConditionStatus::True, error.reason(), error.to_string(), now));
}

/// Whether nothing that we write differs.
fn same<S: Status>(status: &S, before: &S) -> bool {
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
            version: 1,
            generation,
            deleting: false,
            controller: None,
            finalizers: Box::default(),
        }
    }

    fn told(
        planned: Option<SampleStatus>,
        came: ReconcileOutcome<'_>,
        before: &SampleStatus,
        failures: u32,
    ) -> Option<SampleStatus> {
        next_status(planned, came, before, &meta(3), "ns/lease", failures, Timestamp::UNIX_EPOCH)
    }

    fn ready() -> SampleStatus {
        let conditions = Summary::Ready.conditions(api::Reason::reported("Kept"), "held", Timestamp::UNIX_EPOCH);
        SampleStatus { contract: Contract { conditions, ..Contract::default() } }
    }

    #[test]
    fn the_same_status_is_written_once() {
        let first = told(Some(ready()), ReconcileOutcome::Done, &SampleStatus::default(), 0).unwrap();
        assert_eq!((first.contract.observed_generation, first.contract.managed_by.as_deref()), (3, Some("ns/lease")));
        assert_eq!(told(Some(ready()), ReconcileOutcome::Done, &first, 0), None);
        assert_eq!(told(None, ReconcileOutcome::Done, &first, 0), None);
    }

    #[test]
    fn a_failure_overrides_what_was_planned() {
        let refused = Error::Invalid { reason: api::ReconcileReason::Rejected.into(), message: "no".into() };
        let told = told(Some(ready()), ReconcileOutcome::Failed(&refused), &SampleStatus::default(), 0).unwrap();
        assert!(!told.contract.is_true("Ready") && told.contract.is_true("Stalled"));
    }

    #[test]
    fn what_was_judged_of_another_generation_stays_so_where_nothing_could_be_judged() {
        let mut before = ready();
        before.contract.conditions.push(condition(
            "RouteAccepted",
            ConditionStatus::True,
            api::Reason::reported("Accepted"),
            "",
            Timestamp::UNIX_EPOCH,
        ));
        let before = told(Some(before), ReconcileOutcome::Done, &SampleStatus::default(), 0).unwrap();
        let blind = Error::Transient {
            reason: api::ReconcileReason::WatchFailing.into(),
            message: "no".to_owned(),
            stalled: true,
        };
        let edited = next_status(
            None,
            ReconcileOutcome::Failed(&blind),
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
    fn what_serves_is_ready_though_something_beside_it_fails() {
        let refused = Error::Invalid { reason: api::ReconcileReason::Rejected.into(), message: "no".into() };
        let beside = ReconcileOutcome::FailedIndependently(&refused);
        let first = told(Some(ready()), beside, &SampleStatus::default(), 0).unwrap();
        assert!(first.contract.is_true("Ready") && first.contract.is_true("Stalled"));
        let message = first.contract.condition("Ready").map(|c| c.message.as_str());
        assert_eq!(message, Some(&*format!("held; {refused}")));
        assert_eq!(told(Some(ready()), beside, &first, 0), None, "told once");
        assert_eq!(told(Some(first.clone()), beside, &first, 0), None, "where what was told is told again, too");
        let again = told(Some(ready()), ReconcileOutcome::Done, &first, 0).unwrap();
        assert!(again.contract.is_true("Ready") && !again.contract.is_true("Stalled"));
        let conditions =
            Summary::Reconciling.conditions(api::Reason::reported("Making"), "not yet", Timestamp::UNIX_EPOCH);
        let unready = SampleStatus { contract: Contract { conditions, ..Contract::default() } };
        let told = told(Some(unready), beside, &SampleStatus::default(), 0).unwrap();
        assert!(!told.contract.is_true("Ready") && told.contract.is_true("Stalled"));
    }

    #[test]
    fn the_first_conflict_is_kept_quiet() {
        let conflict = Error::transient(api::ReconcileReason::Conflict, "changed meanwhile");
        let conflict = ReconcileOutcome::Failed(&conflict);
        assert_eq!(told(Some(ready()), conflict, &SampleStatus::default(), 0), None);
        assert!(told(Some(ready()), conflict, &SampleStatus::default(), 1).is_some());
        let leaving = Error::blocked(api::ReconcileReason::OwnerLeaving, "this Sample is being deleted");
        assert_eq!(told(Some(ready()), ReconcileOutcome::Failed(&leaving), &SampleStatus::default(), 1), None);
    }
}
