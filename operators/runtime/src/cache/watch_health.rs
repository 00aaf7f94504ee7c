//! Pure: messages about failing watches, for conditions, `/readyz?verbose`, the log and the manager's Pod.

use api::ReconcileReason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::plan::meta::ResourceKind;

/// Why a kind is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFailure {
    /// A permission is missing.
    Forbidden {
        /// The missing verb: list or watch.
        verb: &'static str,
        /// The manager's user name, from the API server's message; empty if that does not contain it.
        user: Box<str>,
    },
    /// Anything else, as a message.
    Fault(String),
}

/// A kind that is not watched in a namespace, or in all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwatchedKind {
    /// The kind.
    pub kind: ResourceKind,
    /// The namespace; none for all.
    pub namespace: Option<Arc<str>>,
    /// The reason.
    pub why: WatchFailure,
}

/// Whether all kinds are watched, as a condition reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchHealth {
    /// Whether all kinds are watched, and all CRDs match.
    pub complete: bool,
    /// The reason of the condition.
    pub reason: ReconcileReason,
    /// The message of the condition.
    pub message: String,
}

impl WatchHealth {
    /// The health with these kinds unwatched, and these messages about mismatched CRDs.
    #[must_use]
    pub fn of(unwatched: &[UnwatchedKind], crds: &[String]) -> Self {
        let forbidden = |unwatched: &UnwatchedKind| matches!(unwatched.why, WatchFailure::Forbidden { .. });
        let reason = match unwatched {
            [] if !crds.is_empty() => ReconcileReason::CRDMismatch,
            [] => {
                return Self {
                    complete: true,
                    reason: ReconcileReason::Watching,
                    message: "all watched kinds are synced".to_owned(),
                };
            }
            unwatched if unwatched.iter().any(forbidden) => ReconcileReason::MissingRight,
            _ => ReconcileReason::WatchFailing,
        };
        let parts = [message(unwatched)].into_iter().filter(|part| !part.is_empty()).chain(crds.iter().cloned());
        Self { complete: false, reason, message: parts.collect::<Vec<_>>().join("; ") }
    }
}

/// A message about all unwatched kinds, independent of their order. Permissions that are missing together are named together.
#[must_use]
pub fn message(unwatched: &[UnwatchedKind]) -> String {
    let mut kinds: BTreeMap<(&str, &str, Option<&str>), BTreeSet<String>> = BTreeMap::new();
    let mut faults = BTreeSet::new();
    for UnwatchedKind { kind, namespace, why } in unwatched {
        match why {
            WatchFailure::Forbidden { verb, user } => {
                kinds.entry((&**user, *verb, namespace.as_deref())).or_default().insert(resource(kind));
            }
            WatchFailure::Fault(message) => drop(faults.insert(message.clone())),
        }
    }
    let mut places: BTreeMap<(&str, &str, Vec<String>), Vec<&str>> = BTreeMap::new();
    for ((user, verb, namespace), kinds) in kinds {
        let places = places.entry((user, verb, kinds.into_iter().collect())).or_default();
        places.extend(namespace);
    }
    let missing = places.into_iter().map(|((user, verb, kinds), places)| missing(verb, &and(&kinds), &places, user));
    missing.chain(faults).collect::<Vec<_>>().join("; ")
}

/// The missing permission, and how to grant it.
fn missing(verb: &str, kinds: &str, namespaces: &[&str], user: &str) -> String {
    let who = who(user);
    let role = "multi-operator-manager (config/rbac/manager_role.yaml)";
    match namespaces {
        [] => format!(
            "{verb} {kinds} in all namespaces is forbidden: bind the ClusterRole multi-operator-manager \
             (config/rbac/manager_cluster_role.yaml) to {who}, or name the namespaces to watch in WATCH_NAMESPACE"
        ),
        [one] => format!("{verb} {kinds} in namespace {one} is forbidden: bind the Role {role} there to {who}"),
        all => format!("{verb} {kinds} in namespaces {} is forbidden: bind the Role {role} in each to {who}", and(all)),
    }
}

/// The manager, as a subject of a RoleBinding.
fn who(user: &str) -> String {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    match (user, account) {
        ("", _) => "the manager's service account".to_owned(),
        (_, Some((namespace, name))) => format!("the service account {name} of namespace {namespace}"),
        (user, None) => user.to_owned(),
    }
}

/// A kind as messages of RBAC name it.
fn resource(kind: &ResourceKind) -> String {
    if kind.group.is_empty() { kind.plural.to_owned() } else { format!("{}.{}", kind.plural, kind.group) }
}

fn and<S: AsRef<str>>(message: &[S]) -> String {
    let message: Vec<&str> = message.iter().map(AsRef::as_ref).collect();
    match message.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => message.concat(),
    }
}

/// The user in a message of the API server: `myapps.example.com is forbidden: User "system:..." cannot list ...`.
#[must_use]
pub fn user_of(refusal: &str) -> &str {
    let named = refusal.split_once("User \"").and_then(|(_, rest)| rest.split_once('"'));
    named.map_or("", |(user, _)| user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPS: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };
    const PODS: ResourceKind = ResourceKind { group: "", version: "v1", kind: "Pod", plural: "pods" };
    const USER: &str = "system:serviceaccount:ops:manager";

    fn forbidden(kind: ResourceKind, namespace: Option<&str>) -> UnwatchedKind {
        let why = WatchFailure::Forbidden { verb: "list", user: USER.into() };
        UnwatchedKind { kind, namespace: namespace.map(Arc::from), why }
    }

    #[test]
    fn a_missing_permission_is_named_with_the_fix() {
        let refusal =
            "myapps.example.com is forbidden: User \"system:serviceaccount:ops:manager\" cannot list resource";
        assert_eq!((user_of(refusal), user_of("no")), (USER, ""));
        assert_eq!(
            message(&[forbidden(APPS, Some("team-b"))]),
            "list myapps.example.com in namespace team-b is forbidden: bind the Role multi-operator-manager \
             (config/rbac/manager_role.yaml) there to the service account manager of namespace ops"
        );
        let everywhere = message(&[forbidden(PODS, None)]);
        assert!(
            everywhere.starts_with("list pods in all namespaces is forbidden: bind the ClusterRole"),
            "{everywhere}"
        );
    }

    #[test]
    fn permissions_that_are_missing_together_are_named_together() {
        let mut unwatched = vec![
            forbidden(PODS, Some("team-c")),
            forbidden(APPS, Some("team-b")),
            forbidden(PODS, Some("team-b")),
            forbidden(APPS, Some("team-c")),
            UnwatchedKind {
                kind: APPS,
                namespace: Some("team-a".into()),
                why: WatchFailure::Fault("it is away".to_owned()),
            },
        ];
        let reported = message(&unwatched);
        assert!(
            reported.starts_with("list myapps.example.com and pods in namespaces team-b and team-c is forbidden: "),
            "{reported}"
        );
        assert!(reported.ends_with("; it is away"), "{reported}");
        unwatched.reverse();
        assert_eq!(message(&unwatched), reported);
    }

    #[test]
    fn a_missing_permission_has_a_reason_of_its_own() {
        let fault = UnwatchedKind { kind: APPS, namespace: None, why: WatchFailure::Fault("it is away".to_owned()) };
        let of = |unwatched: &[UnwatchedKind]| {
            (WatchHealth::of(unwatched, &[]).complete, WatchHealth::of(unwatched, &[]).reason)
        };
        assert_eq!(of(&[]), (true, ReconcileReason::Watching));
        assert_eq!(of(std::slice::from_ref(&fault)), (false, ReconcileReason::WatchFailing));
        assert_eq!(of(&[fault, forbidden(PODS, None)]), (false, ReconcileReason::MissingRight));
    }

    #[test]
    fn mismatched_crds_are_reported_too() {
        let (crds, fault) = (["the CRD lacks".to_owned()], WatchFailure::Fault("it is away".to_owned()));
        let lacking = WatchHealth::of(&[], &crds);
        assert_eq!(
            (lacking.complete, lacking.reason, &*lacking.message),
            (false, ReconcileReason::CRDMismatch, "the CRD lacks")
        );
        let both = WatchHealth::of(&[UnwatchedKind { kind: APPS, namespace: None, why: fault }], &crds);
        assert_eq!((both.reason, &*both.message), (ReconcileReason::WatchFailing, "it is away; the CRD lacks"));
    }
}
