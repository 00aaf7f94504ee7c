//! Objects that do not decode, and names that foreign objects have: Stalled, because only a user can correct that.

use runtime::projections::{DisruptionBudget, Service};

use super::members::{NAMES, after, three};
use super::*;

/// Whether the cluster is Stalled, Ready's reason, and its message.
fn judged(seen: &Observed) -> (bool, String, String) {
    let status = after(seen, 60).status.unwrap();
    let ready = status.contract.condition("Ready").unwrap();
    (status.contract.is_true("Stalled"), ready.reason.to_string(), ready.message.clone())
}

#[test]
fn an_unreadable_child_is_stalled_and_does_not_keep_members_from_restarting() {
    let why = || "spec: no".to_owned();
    let spec = json!({ "size": 3 });
    let mut seen = three(&spec);
    assert!(!judged(&seen).0);
    seen.clients = ChildState::<Service>::Undecodable(why());
    let (stalled, reason, message) = judged(&seen);
    assert_eq!((stalled, &*reason), (true, "Unreadable"));
    assert!(message.starts_with("the client Service ") && message.contains("spec: no"), "{message}");
    let mut seen = Observed { budget: ChildState::<DisruptionBudget>::Undecodable(why()), ..three(&spec) };
    let (stalled, reason, message) = judged(&seen);
    assert_eq!((stalled, &*reason), (true, "Unreadable"));
    assert!(message.starts_with("the PodDisruptionBudget "), "{message}");
    seen.pods.remove(0);
    let plan = after(&seen, 60);
    assert!(plan.effects.iter().any(|effect| matches!(effect, Effect::Act(_) | Effect::Create(_))), "{plan:?}");
    assert!(plan.independent.iter().all(|apply| apply.kind != DisruptionBudget::KIND), "{plan:?}");
    assert_eq!(judged(&seen).1, "Unreadable", "what befalls the members is in the message");
}

#[test]
fn a_terminating_child_is_waited_for() {
    let seen =
        Observed { budget: ChildState::Terminating, clients: ChildState::Terminating, ..three(&json!({ "size": 3 })) };
    assert!(!judged(&seen).0);
}

#[test]
fn a_foreign_pod_or_claim_with_a_members_name_is_stalled() {
    let mut seen = super::claims::growing(&json!({ "size": 3 }));
    let removed = seen.pods.remove(0);
    seen.etcd.endpoints.remove(&removed.meta.key.name);
    assert!(!judged(&seen).0);
    seen.names_taken.insert(NAMES[0].into());
    let (stalled, reason, message) = judged(&seen);
    assert_eq!((stalled, &*reason), (true, "NameTaken"));
    assert!(message.starts_with(&format!("Pod {} exists", NAMES[0])), "{message}");
    seen.names_terminating = std::mem::take(&mut seen.names_taken);
    let (stalled, reason, message) = judged(&seen);
    assert_eq!((stalled, &*reason), (false, "WaitingForDeletion"), "{message}");
    seen.names_terminating.clear();
    seen.claims.remove(0);
    seen.claim_lookups.foreign.insert(NAMES[0].into());
    let (stalled, reason, message) = judged(&seen);
    assert_eq!((stalled, &*reason), (true, "NameTaken"));
    assert!(message.starts_with(&format!("PersistentVolumeClaim {} exists", NAMES[0])), "{message}");
}
