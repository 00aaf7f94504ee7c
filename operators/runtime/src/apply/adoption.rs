//! Pure: decides who owns an object that has the name of a child which the operator is about to create.
//!
//! Caches hold only labeled children, and an apply would silently merge into a foreign object. So the decision is made from a
//! live read before the first apply: after a creation was rejected because of the name, or, for kinds that are not created with a
//! POST, before any other request.

use std::collections::BTreeMap;

use api::{Condition, ConditionStatus, Contract, ReconcileReason, condition_type};

use crate::Error;

use crate::plan::meta::{INSTANCE, MANAGED_BY, MANAGER, Meta, NAME, ResourceKind, instance};

/// Who owns the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptionVerdict {
    /// This owner, or no controller while the object has all of our labels: apply to it.
    Owned,
    /// The object is being deleted, or an earlier owner of the same name controls it: wait until it is deleted.
    Terminating,
    /// Another owner: never write to it.
    Foreign,
}

/// Judges the object `live`, which has these labels, for the object `owner` of that kind.
#[must_use]
pub fn judge(live: &Meta, labels: &BTreeMap<String, String>, kind: &ResourceKind, owner: &Meta) -> AdoptionVerdict {
    let label = |key| labels.get(key).map(String::as_str);
    let ours = live.controlled_by(&owner.uid);
    let predecessor = live
        .controller
        .as_ref()
        .is_some_and(|c| *c.owner.kind == kind.qualified() && c.owner.name == owner.key.name && c.uid != owner.uid);
    let orphan = live.controller.is_none()
        && label(MANAGED_BY) == Some(MANAGER)
        && label(NAME) == Some(&kind.kind.to_lowercase())
        && label(INSTANCE) == Some(&*instance(&owner.key.name));
    match (ours || orphan, live.deleting, predecessor) {
        (true, false, _) => AdoptionVerdict::Owned,
        (true, true, _) | (_, _, true) => AdoptionVerdict::Terminating,
        (false, _, false) => AdoptionVerdict::Foreign,
    }
}

/// The error of an owner of `kind` when a foreign object has the name of its child.
#[must_use]
pub fn name_taken(child: &str, name: &str, kind: &ResourceKind) -> Error {
    let message = format!(
        "{child} {name} exists and does not belong to this {}: delete or rename it, or rename this {}; it is left untouched",
        kind.kind, kind.kind
    );
    Error::Transient { reason: ReconcileReason::NameTaken.into(), message, stalled: true }
}

/// Adds the failure of an independent apply to `error`, if a foreign object has the name of that child: the plan reads this from
/// the status, and removes what routes to that name.
#[must_use]
pub fn with_name_taken(error: &Error, independent: &Error) -> Option<Error> {
    if independent.reason() != ReconcileReason::NameTaken {
        return None;
    }
    let mut both = error.clone();
    let (Error::Invalid { message, .. } | Error::Blocked { message, .. } | Error::Transient { message, .. }) =
        &mut both;
    *message = format!("{message}; {independent}");
    Some(both)
}

/// Whether the status of `owner` reports, for the current generation, that a foreign object has the name of its child of the kind
/// `child`.
///
/// Only the message names the child, possibly after another failure ([`with_name_taken`]), so this searches the message. After a
/// change of its text, the next reconcile writes the new one.
#[must_use]
pub fn reports_name_taken(status: &Contract, kind: &ResourceKind, owner: &Meta, child: &ResourceKind) -> bool {
    let is_it = |reported: &Condition| {
        reported.status == ConditionStatus::True
            && reported.message.contains(&name_taken(child.kind, &owner.key.name, kind).to_string())
    };
    status.observed_generation == owner.generation && status.condition(condition_type::STALLED).is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::meta::{ControllerRef, Key, Owner, labels};

    const KIND: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };

    fn meta(uid: &str, controller: Option<(&str, &str)>) -> Meta {
        let controller = controller
            .map(|(kind, uid)| ControllerRef { owner: Owner { kind: kind.into(), name: "a".into() }, uid: uid.into() });
        Meta {
            key: Key::new("n", "a"),
            uid: uid.into(),
            resource_version: 1,
            generation: 1,
            deleting: false,
            controller,
            finalizers: Box::default(),
        }
    }

    #[test]
    fn children_and_orphans_with_all_our_labels_are_owned() {
        let owner = meta("o", None);
        let ours = meta("d", Some(("MyApp.example.com", "o")));
        assert_eq!(judge(&ours, &BTreeMap::new(), &KIND, &owner), AdoptionVerdict::Owned);
        assert_eq!(judge(&meta("d", None), &labels(&KIND, &owner), &KIND, &owner), AdoptionVerdict::Owned);
        let mut fewer = labels(&KIND, &owner);
        fewer.remove(INSTANCE);
        assert_eq!(judge(&meta("d", None), &fewer, &KIND, &owner), AdoptionVerdict::Foreign);
    }

    #[test]
    fn an_orphan_with_a_name_too_long_for_a_label_is_owned() {
        let long = "a.".repeat(100) + "a";
        let owner = Meta { key: Key::new("n", &long), ..meta("o", None) };
        let labels = labels(&KIND, &owner);
        assert!(labels.values().all(|value| value.len() <= 63), "{labels:?}");
        let orphan = Meta { key: Key::new("n", &long), ..meta("d", None) };
        assert_eq!(judge(&orphan, &labels, &KIND, &owner), AdoptionVerdict::Owned);
    }

    #[test]
    fn a_terminating_object_is_waited_for() {
        let owner = meta("o", None);
        let previous = meta("d", Some(("MyApp.example.com", "old")));
        assert_eq!(judge(&previous, &labels(&KIND, &owner), &KIND, &owner), AdoptionVerdict::Terminating);
        let going = Meta { deleting: true, ..meta("d", Some(("MyApp.example.com", "o"))) };
        assert_eq!(judge(&going, &BTreeMap::new(), &KIND, &owner), AdoptionVerdict::Terminating);
    }

    #[test]
    fn every_other_object_is_foreign() {
        let owner = meta("o", None);
        let theirs = meta("d", Some(("Other.example.com", "x")));
        assert_eq!(judge(&theirs, &labels(&KIND, &owner), &KIND, &owner), AdoptionVerdict::Foreign);
        assert_eq!(judge(&meta("d", None), &BTreeMap::new(), &KIND, &owner), AdoptionVerdict::Foreign);
    }

    #[test]
    fn a_taken_name_is_read_from_the_status_of_the_current_generation() {
        use crate::status::conditions::Summary;
        let (owner, now) = (meta("o", None), jiff::Timestamp::UNIX_EPOCH);
        let kind = |kind| ResourceKind { group: "", version: "v1", kind, plural: "" };
        let reported = |generation: i64, error: &Error| Contract {
            observed_generation: generation,
            conditions: Summary::Stalled.conditions(error.reason(), error.to_string(), now),
            ..Contract::default()
        };
        let is_taken = |status: &Contract| reports_name_taken(status, &KIND, &owner, &kind("Service"));
        assert!(is_taken(&reported(1, &name_taken("Service", "a", &KIND))));
        let rejected = Error::Invalid { reason: api::ReconcileReason::Rejected.into(), message: "no".into() };
        let both = with_name_taken(&rejected, &name_taken("Service", "a", &KIND)).unwrap();
        assert!(
            is_taken(&reported(1, &both)) && both.reason() == ReconcileReason::Rejected && both.stalled(),
            "after what else failed"
        );
        assert_eq!(
            with_name_taken(&rejected, &Error::transient(api::ReconcileReason::Forbidden, "no")),
            None,
            "other failures are retried on their own"
        );
        assert!(!is_taken(&reported(2, &name_taken("Service", "a", &KIND))), "of another spec");
        assert!(!is_taken(&reported(1, &name_taken("Deployment", "a", &KIND))), "of another child");
        assert!(
            !is_taken(&reported(1, &Error::blocked(ReconcileReason::NameTaken, "another owner waits"))),
            "for another reason"
        );
        assert!(!is_taken(&Contract { observed_generation: 1, ..Contract::default() }));
    }
}
