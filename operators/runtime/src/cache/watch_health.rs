//! Pure: what the manager cannot see, in words: for conditions, `/readyz?verbose`, the log and the manager's own Pod.

use api::ReconcileReason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::plan::meta::Kind;

/// Why a kind is not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A right is missing.
    Forbidden {
        /// Which: list, or watch.
        verb: &'static str,
        /// Whose, as the API server calls the manager; empty if it does not say.
        user: Box<str>,
    },
    /// Anything else, as a sentence.
    Fault(String),
}

/// A kind that is not seen in a namespace, or in all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwatchedKind {
    /// The kind.
    pub kind: Kind,
    /// The namespace; none for all.
    pub namespace: Option<Arc<str>>,
    /// Why.
    pub why: Why,
}

/// Whether all is seen that is to be watched, as a condition says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchHealth {
    /// Whether it is.
    pub whole: bool,
    /// In one CamelCase word.
    pub reason: ReconcileReason,
    /// In words.
    pub message: String,
}

impl WatchHealth {
    /// As it is, but for what is not seen, and CRDs with which something is wrong, in words.
    #[must_use]
    pub fn without(unseen: &[UnwatchedKind], crds: &[String]) -> Self {
        let forbidden = |unseen: &UnwatchedKind| matches!(unseen.why, Why::Forbidden { .. });
        let reason = match unseen {
            [] if !crds.is_empty() => ReconcileReason::CRDMismatch,
            [] => {
                return Self {
                    whole: true,
                    reason: ReconcileReason::Watching,
                    message: "all that is to be watched is seen".to_owned(),
                };
            }
            unseen if unseen.iter().any(forbidden) => ReconcileReason::MissingRight,
            _ => ReconcileReason::WatchFailing,
        };
        let parts = [sentence(unseen)].into_iter().filter(|part| !part.is_empty()).chain(crds.iter().cloned());
        Self { whole: false, reason, message: parts.collect::<Vec<_>>().join("; ") }
    }
}

/// Everything that is not seen, in an order that does not depend on the order in which it is given. Rights that are missing
/// together are named together.
#[must_use]
pub fn sentence(unseen: &[UnwatchedKind]) -> String {
    let mut kinds: BTreeMap<(&str, &str, Option<&str>), BTreeSet<String>> = BTreeMap::new();
    let mut faults = BTreeSet::new();
    for UnwatchedKind { kind, namespace, why } in unseen {
        match why {
            Why::Forbidden { verb, user } => {
                kinds.entry((&**user, *verb, namespace.as_deref())).or_default().insert(resource(kind));
            }
            Why::Fault(words) => drop(faults.insert(words.clone())),
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

/// What is missing, and what to do.
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

/// The manager, as who binds Roles calls it.
fn who(user: &str) -> String {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    match (user, account) {
        ("", _) => "the manager's service account".to_owned(),
        (_, Some((namespace, name))) => format!("the service account {name} of namespace {namespace}"),
        (user, None) => user.to_owned(),
    }
}

/// A kind as RBAC's own messages call it.
fn resource(kind: &Kind) -> String {
    if kind.group.is_empty() { kind.plural.to_owned() } else { format!("{}.{}", kind.plural, kind.group) }
}

fn and<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Whose request it was, by the API server's words: `myapps.example.com is forbidden: User "system:..." cannot list ...`.
#[must_use]
pub fn user_of(refusal: &str) -> &str {
    let named = refusal.split_once("User \"").and_then(|(_, rest)| rest.split_once('"'));
    named.map_or("", |(user, _)| user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPS: Kind = Kind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };
    const PODS: Kind = Kind { group: "", version: "v1", kind: "Pod", plural: "pods" };
    const USER: &str = "system:serviceaccount:ops:manager";

    fn forbidden(kind: Kind, namespace: Option<&str>) -> UnwatchedKind {
        let why = Why::Forbidden { verb: "list", user: USER.into() };
        UnwatchedKind { kind, namespace: namespace.map(Arc::from), why }
    }

    #[test]
    fn a_missing_right_is_named_with_what_to_do() {
        let refusal =
            "myapps.example.com is forbidden: User \"system:serviceaccount:ops:manager\" cannot list resource";
        assert_eq!((user_of(refusal), user_of("no")), (USER, ""));
        assert_eq!(
            sentence(&[forbidden(APPS, Some("team-b"))]),
            "list myapps.example.com in namespace team-b is forbidden: bind the Role multi-operator-manager \
             (config/rbac/manager_role.yaml) there to the service account manager of namespace ops"
        );
        let everywhere = sentence(&[forbidden(PODS, None)]);
        assert!(
            everywhere.starts_with("list pods in all namespaces is forbidden: bind the ClusterRole"),
            "{everywhere}"
        );
    }

    #[test]
    fn rights_that_are_missing_together_are_named_together_in_any_order() {
        let mut unseen = vec![
            forbidden(PODS, Some("team-c")),
            forbidden(APPS, Some("team-b")),
            forbidden(PODS, Some("team-b")),
            forbidden(APPS, Some("team-c")),
            UnwatchedKind { kind: APPS, namespace: Some("team-a".into()), why: Why::Fault("it is away".to_owned()) },
        ];
        let told = sentence(&unseen);
        assert!(
            told.starts_with("list myapps.example.com and pods in namespaces team-b and team-c is forbidden: "),
            "{told}"
        );
        assert!(told.ends_with("; it is away"), "{told}");
        unseen.reverse();
        assert_eq!(sentence(&unseen), told);
    }

    #[test]
    fn a_condition_tells_a_missing_right_from_other_faults() {
        let fault = UnwatchedKind { kind: APPS, namespace: None, why: Why::Fault("it is away".to_owned()) };
        let of = |unseen: &[UnwatchedKind]| {
            (WatchHealth::without(unseen, &[]).whole, WatchHealth::without(unseen, &[]).reason)
        };
        assert_eq!(of(&[]), (true, ReconcileReason::Watching));
        assert_eq!(of(std::slice::from_ref(&fault)), (false, ReconcileReason::WatchFailing));
        assert_eq!(of(&[fault, forbidden(PODS, None)]), (false, ReconcileReason::MissingRight));
    }

    #[test]
    fn a_condition_tells_of_a_crd_too() {
        let (crds, fault) = (["the CRD lacks".to_owned()], Why::Fault("it is away".to_owned()));
        let lacking = WatchHealth::without(&[], &crds);
        assert_eq!(
            (lacking.whole, lacking.reason, &*lacking.message),
            (false, ReconcileReason::CRDMismatch, "the CRD lacks")
        );
        let both = WatchHealth::without(&[UnwatchedKind { kind: APPS, namespace: None, why: fault }], &crds);
        assert_eq!((both.reason, &*both.message), (ReconcileReason::WatchFailing, "it is away; the CRD lacks"));
    }
}
