//! Pure: whose is an object that already bears the name of a child we are about to make? Caches see only labelled children,
//! and an apply would merge into a stranger silently, so this is judged from a live look before the first apply: where a
//! creation has been refused because of the name, or before anything else of kinds that are not created.

use std::collections::BTreeMap;

use api::{Condition, ConditionStatus, Contract, ReconcileReason, condition_type};

use crate::Error;

use crate::plan::meta::{INSTANCE, Kind, MANAGED_BY, MANAGER, Meta, NAME, instance};

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ours already, or without a controller but with all our labels: apply to it.
    Ours,
    /// It is going, or belongs to an earlier object of the same name: wait until it is gone.
    Leaving,
    /// Somebody else's: never touch it.
    Stranger,
}

/// Judges `live` with its `labels` for the object `owner` of that `kind`.
#[must_use]
pub fn judge(live: &Meta, labels: &BTreeMap<String, String>, kind: &Kind, owner: &Meta) -> Verdict {
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
        (true, false, _) => Verdict::Ours,
        (true, true, _) | (_, _, true) => Verdict::Leaving,
        (false, _, false) => Verdict::Stranger,
    }
}

/// That the name of a child of that kind is somebody else's, for an owner of `kind`.
#[must_use]
pub fn name_taken(child: &str, name: &str, kind: &Kind) -> Error {
    let message = format!(
        "{child} {name} exists and does not belong to this {}: delete or rename it, or rename this {}; it is left untouched",
        kind.kind, kind.kind
    );
    Error::Transient { reason: ReconcileReason::NameTaken.into(), message, stalled: true }
}

/// `error`, which also tells of what failed beside it, if that is a name that is taken: what leads to that name goes by what is told.
#[must_use]
pub fn with_taken(error: &Error, beside: &Error) -> Option<Error> {
    if beside.reason() != ReconcileReason::NameTaken {
        return None;
    }
    let mut both = error.clone();
    let (Error::Invalid { message, .. } | Error::Blocked { message, .. } | Error::Transient { message, .. }) =
        &mut both;
    *message = format!("{message}; {beside}");
    Some(both)
}

/// Whether the status of `owner` reports, for the current generation, that the name of the child of kind `child` is taken. Looks into the
/// message, which is the only place that names the child, and may tell of another failure first ([`with_taken`]): after a change of its
/// text the next reconcile writes the new one.
#[must_use]
pub fn reports_name_taken(said: &Contract, kind: &Kind, owner: &Meta, child: &Kind) -> bool {
    let is_it = |told: &Condition| {
        told.status == ConditionStatus::True
            && told.message.contains(&name_taken(child.kind, &owner.key.name, kind).to_string())
    };
    said.observed_generation == owner.generation && said.condition(condition_type::STALLED).is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::meta::{Controller, Key, Owner, labels};

    const KIND: Kind = Kind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };

    fn meta(uid: &str, controller: Option<(&str, &str)>) -> Meta {
        let controller = controller
            .map(|(kind, uid)| Controller { owner: Owner { kind: kind.into(), name: "a".into() }, uid: uid.into() });
        Meta {
            key: Key::new("n", "a"),
            uid: uid.into(),
            version: 1,
            generation: 1,
            deleting: false,
            controller,
            finalizers: Box::default(),
        }
    }

    #[test]
    fn ours_and_orphans_with_all_our_labels_are_ours() {
        let owner = meta("o", None);
        let ours = meta("d", Some(("MyApp.example.com", "o")));
        assert_eq!(judge(&ours, &BTreeMap::new(), &KIND, &owner), Verdict::Ours);
        assert_eq!(judge(&meta("d", None), &labels(&KIND, &owner), &KIND, &owner), Verdict::Ours);
        let mut fewer = labels(&KIND, &owner);
        fewer.remove(INSTANCE);
        assert_eq!(judge(&meta("d", None), &fewer, &KIND, &owner), Verdict::Stranger);
    }

    #[test]
    fn an_orphan_of_a_name_too_long_for_a_label_is_ours() {
        let long = "a.".repeat(100) + "a";
        let owner = Meta { key: Key::new("n", &long), ..meta("o", None) };
        let labels = labels(&KIND, &owner);
        assert!(labels.values().all(|value| value.len() <= 63), "{labels:?}");
        let orphan = Meta { key: Key::new("n", &long), ..meta("d", None) };
        assert_eq!(judge(&orphan, &labels, &KIND, &owner), Verdict::Ours);
    }

    #[test]
    fn what_leaves_is_waited_for() {
        let owner = meta("o", None);
        let previous = meta("d", Some(("MyApp.example.com", "old")));
        assert_eq!(judge(&previous, &labels(&KIND, &owner), &KIND, &owner), Verdict::Leaving);
        let going = Meta { deleting: true, ..meta("d", Some(("MyApp.example.com", "o"))) };
        assert_eq!(judge(&going, &BTreeMap::new(), &KIND, &owner), Verdict::Leaving);
    }

    #[test]
    fn all_else_is_a_strangers() {
        let owner = meta("o", None);
        let theirs = meta("d", Some(("Other.example.com", "x")));
        assert_eq!(judge(&theirs, &labels(&KIND, &owner), &KIND, &owner), Verdict::Stranger);
        assert_eq!(judge(&meta("d", None), &BTreeMap::new(), &KIND, &owner), Verdict::Stranger);
    }

    #[test]
    fn a_name_that_is_taken_is_known_by_what_was_told_of_this_very_spec() {
        use crate::status::conditions::Summary;
        let (owner, now) = (meta("o", None), jiff::Timestamp::UNIX_EPOCH);
        let kind = |kind| Kind { group: "", version: "v1", kind, plural: "" };
        let told = |generation: i64, error: &Error| Contract {
            observed_generation: generation,
            conditions: Summary::Stalled.conditions(error.reason(), error.to_string(), now),
            ..Contract::default()
        };
        let is_taken = |said: &Contract| reports_name_taken(said, &KIND, &owner, &kind("Service"));
        assert!(is_taken(&told(1, &name_taken("Service", "a", &KIND))));
        let rejected = Error::Invalid { reason: api::ReconcileReason::Rejected.into(), message: "no".into() };
        let both = with_taken(&rejected, &name_taken("Service", "a", &KIND)).unwrap();
        assert!(
            is_taken(&told(1, &both)) && both.reason() == ReconcileReason::Rejected && both.stalled(),
            "after what else failed"
        );
        assert_eq!(
            with_taken(&rejected, &Error::transient(api::ReconcileReason::Forbidden, "no")),
            None,
            "all else is tried again by itself"
        );
        assert!(!is_taken(&told(2, &name_taken("Service", "a", &KIND))), "of another spec");
        assert!(!is_taken(&told(1, &name_taken("Deployment", "a", &KIND))), "of another child");
        assert!(
            !is_taken(&told(1, &Error::blocked(ReconcileReason::NameTaken, "another owner waits"))),
            "for another reason"
        );
        assert!(!is_taken(&Contract { observed_generation: 1, ..Contract::default() }));
    }
}
