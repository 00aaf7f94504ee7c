//! Pure: creates conditions, merges them with those before, and finds the transitions that deserve an Event.

use api::{Condition, ConditionStatus, Contract, Reason, condition_type};
use jiff::{Timestamp, Unit};

use crate::plan::EventDraft;

/// A condition with the transition time `now`; [`merge`] restores an older time if the status has not changed.
#[must_use]
pub fn condition(
    type_: &'static str,
    status: ConditionStatus,
    reason: impl Into<Reason>,
    message: impl Into<String>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: type_.into(),
        status,
        observed_generation: None,
        last_update_time: None,
        last_transition_time: now.round(Unit::Second).unwrap_or(now),
        reason: reason.into(),
        message: message.into(),
    }
}

/// The three states of the summary, as kstatus and Argo CD read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summary {
    /// All is as desired: Ready=True.
    Ready,
    /// Work is under way: Ready=False, Reconciling=True.
    Reconciling,
    /// It needs attention: Ready=False, Stalled=True.
    Stalled,
}

impl Summary {
    /// The conditions of that state.
    #[must_use]
    pub fn conditions(&self, reason: impl Into<Reason>, message: impl Into<String>, now: Timestamp) -> Vec<Condition> {
        use ConditionStatus::{False, True};
        let (reason, message) = (reason.into(), message.into());
        let second = match self {
            Self::Ready => return vec![condition(condition_type::READY, True, reason, message, now)],
            Self::Reconciling => condition_type::RECONCILING,
            Self::Stalled => condition_type::STALLED,
        };
        vec![
            condition(condition_type::READY, False, reason.clone(), message.clone(), now),
            condition(second, True, reason, message, now),
        ]
    }
}

/// Completes `planned` with what is the same for every kind: the generations, the manager, and the transition time of each
/// condition whose status has not changed.
pub fn merge(planned: &mut Contract, before: &Contract, generation: i64, manager: &str) {
    planned.observed_generation = generation;
    planned.managed_by = Some(manager.to_owned());
    planned.conditions.retain(|c| c.type_ != condition_type::CONFLICT);
    for condition in &mut planned.conditions {
        condition.observed_generation = Some(generation);
        if let Some(old) = before.condition(&condition.type_)
            && old.status == condition.status
        {
            condition.last_transition_time = old.last_transition_time;
        }
        condition.last_update_time = condition.last_update_time.map(|_| condition.last_transition_time);
    }
    planned.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
}

/// The Events when conditions change from `before` to `after`: one per transition, and none for an object that is Ready at its
/// first reconcile.
#[must_use]
pub fn transitions(before: &Contract, after: &Contract) -> Vec<EventDraft> {
    let mut transitions = Vec::new();
    let ready = after.is_true(condition_type::READY);
    if ready && before.observed_generation >= 0 && !before.is_true(condition_type::READY) {
        transitions.extend(event(after, condition_type::READY, false));
    }
    let stalled =
        |contract: &Contract| contract.condition(condition_type::STALLED).map(|c| (c.status, c.reason.clone()));
    if stalled(after).is_some() && stalled(before) != stalled(after) {
        transitions.extend(event(after, condition_type::STALLED, true));
    }
    transitions
}

fn event(contract: &Contract, type_: &str, warning: bool) -> Option<EventDraft> {
    let condition = contract.condition(type_)?;
    Some(EventDraft { warning, reason: condition.reason.clone(), message: condition.message.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn contract(summary: &Summary, reason: &'static str, second: i64) -> Contract {
        Contract {
            observed_generation: 1,
            managed_by: None,
            conditions: summary.conditions(api::Reason::reported(reason), "why", at(second)),
        }
    }

    #[test]
    fn keeps_the_time_of_a_condition_whose_status_stays() {
        let before = contract(&Summary::Reconciling, "Starting", 1);
        let mut after = contract(&Summary::Reconciling, "Pulling", 2);
        merge(&mut after, &before, 7, "ns/lease");
        let ready = after.condition(condition_type::READY).unwrap();
        assert_eq!((ready.last_transition_time, &*ready.reason), (at(1), "Pulling"));
        assert_eq!((after.observed_generation, ready.observed_generation), (7, Some(7)));
    }

    #[test]
    fn leaves_conflict_to_the_manager_that_wrote_it() {
        let mut planned = contract(&Summary::Ready, "Ready", 1);
        planned.conditions.push(condition(
            condition_type::CONFLICT,
            ConditionStatus::True,
            api::Reason::reported("Held"),
            "",
            at(1),
        ));
        merge(&mut planned, &Contract::default(), 1, "ns/lease");
        assert!(planned.condition(condition_type::CONFLICT).is_none());
    }

    #[test]
    fn each_transition_has_one_event() {
        let (untouched, working) = (Contract::default(), contract(&Summary::Reconciling, "Starting", 1));
        let (ready, stalled) = (contract(&Summary::Ready, "Ready", 2), contract(&Summary::Stalled, "BadImage", 3));
        assert_eq!(transitions(&untouched, &ready), []);
        assert_eq!(transitions(&working, &ready).len(), 1);
        assert_eq!(transitions(&ready, &ready), []);
        assert!(transitions(&ready, &stalled)[0].warning);
        assert_eq!(transitions(&stalled, &stalled), []);
    }
}
