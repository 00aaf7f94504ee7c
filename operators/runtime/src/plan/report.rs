//! What status to write after a pass, if any.

use api::{Contract, Status, condition_type};
use jiff::Timestamp;

use super::conditions::{self, Summary};
use super::meta::Meta;
use crate::Error;

/// The status to write: `planned` if all went well (`None` leaves it alone), else the failure; `None` if that would
/// change nothing but times. What is ordinary is not told.
pub fn report<S: Status>(
    planned: Option<S>,
    acted: &Result<(), Error>,
    before: &S,
    meta: &Meta,
    manager: &str,
    failures: u32,
    now: Timestamp,
) -> Option<S> {
    let mut status = match (planned, acted) {
        (None, Ok(())) => return None,
        (planned, _) => planned.unwrap_or_else(|| before.clone()),
    };
    if let Err(error) = acted {
        if error.is_ordinary(failures) {
            return None;
        }
        status.fall_short();
        fail(status.contract_mut(), error, now);
    }
    conditions::merge(status.contract_mut(), before.contract(), meta.generation, manager);
    (!same(&status, before)).then_some(status)
}

/// Replaces the summary by the failure.
fn fail(contract: &mut Contract, error: &Error, now: Timestamp) {
    let summary = if error.stalled() { Summary::Stalled } else { Summary::Reconciling };
    let ours = [condition_type::READY, condition_type::RECONCILING, condition_type::STALLED];
    contract.conditions.retain(|c| !ours.contains(&&*c.type_));
    contract.conditions.extend(summary.conditions(error.reason(), error.to_string(), now));
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

    fn told(
        planned: Option<SampleStatus>,
        acted: &Result<(), Error>,
        before: &SampleStatus,
        failures: u32,
    ) -> Option<SampleStatus> {
        let meta = Meta {
            key: Key::new("n", "a"),
            uid: "u".into(),
            version: 1,
            generation: 3,
            deleting: false,
            controller: None,
            finalizers: Box::default(),
        };
        report(planned, acted, before, &meta, "ns/lease", failures, Timestamp::UNIX_EPOCH)
    }

    fn ready() -> SampleStatus {
        let conditions = Summary::Ready.conditions("Kept", "held", Timestamp::UNIX_EPOCH);
        SampleStatus { contract: Contract { conditions, ..Contract::default() } }
    }

    #[test]
    fn the_same_status_is_written_once() {
        let first = told(Some(ready()), &Ok(()), &SampleStatus::default(), 0).unwrap();
        assert_eq!((first.contract.observed_generation, first.contract.managed_by.as_deref()), (3, Some("ns/lease")));
        assert_eq!(told(Some(ready()), &Ok(()), &first, 0), None);
        assert_eq!(told(None, &Ok(()), &first, 0), None);
    }

    #[test]
    fn a_failure_overrides_what_was_planned() {
        let refused = Err(Error::Invalid { reason: "Rejected".into(), message: "no".into() });
        let told = told(Some(ready()), &refused, &SampleStatus::default(), 0).unwrap();
        assert!(!told.contract.is_true("Ready") && told.contract.is_true("Stalled"));
    }

    #[test]
    fn the_first_conflict_is_kept_quiet() {
        let conflict = Err(Error::transient("Conflict", "changed meanwhile"));
        assert_eq!(told(Some(ready()), &conflict, &SampleStatus::default(), 0), None);
        assert!(told(Some(ready()), &conflict, &SampleStatus::default(), 1).is_some());
        let leaving = Err(Error::blocked(Error::OWNER_LEAVING, "this Sample is being deleted"));
        assert_eq!(told(Some(ready()), &leaving, &SampleStatus::default(), 1), None);
    }
}
