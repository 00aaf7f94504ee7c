//! Pure: the status of an object that does not decode.

use api::{Contract, ReconcileReason, condition_type};
use jiff::Timestamp;

use super::conditions::{self, Summary};

/// The common part of its status, in addition to everything else in it, which is still true about its volumes. `None` if the
/// status contains it already.
#[must_use]
pub fn undecodable(before: &Contract, error: &str, generation: i64, manager: &str, now: Timestamp) -> Option<Contract> {
    let message = format!("this object is not reconciled, since it does not decode: {error}");
    let mut contract = Contract {
        conditions: Summary::Stalled.conditions(ReconcileReason::Undecodable, message, now),
        ..Contract::default()
    };
    conditions::merge(&mut contract, before, generation, manager);
    // Other conditions stay, with their generation.
    let replaced =
        [condition_type::READY, condition_type::RECONCILING, condition_type::STALLED, condition_type::CONFLICT];
    let kept = before.conditions.iter().filter(|condition| !replaced.contains(&&*condition.type_));
    contract.conditions.extend(kept.cloned());
    contract.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    (!is_same(&contract, before)).then_some(contract)
}

fn is_same(contract: &Contract, before: &Contract) -> bool {
    let mut before = before.clone();
    before.conditions.retain(|condition| condition.type_ != condition_type::CONFLICT);
    before.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    *contract == before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::conditions::condition;
    use api::ConditionStatus;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn it_is_reported_once_and_other_conditions_stay() {
        let mut before = Contract {
            conditions: Summary::Ready.conditions(api::Reason::reported("Running"), "it serves", at(1)),
            ..Contract::default()
        };
        let mut healthy =
            condition("BackupHealthy", ConditionStatus::True, api::Reason::reported("Verified"), "", at(1));
        healthy.observed_generation = Some(3);
        before.conditions.push(healthy);
        let reported = undecodable(&before, "invalid value", 4, "ns/lease", at(2)).expect("Ready=True is no longer so");
        assert!(reported.is_true(condition_type::STALLED) && !reported.is_true(condition_type::READY));
        assert_eq!(reported.condition("BackupHealthy").unwrap().observed_generation, Some(3));
        assert_eq!(undecodable(&reported, "invalid value", 4, "ns/lease", at(9)), None);
        assert!(undecodable(&reported, "another", 5, "ns/lease", at(9)).is_some());
    }
}
