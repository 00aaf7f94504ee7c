//! RBAC from PERMISSIONS: one ClusterRole for a manager of all namespaces, one Role for each watched namespace of a namespaced
//! install, and the permissions that both need.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::permissions::{CLUSTER, LEASE, MANAGER_POD, NAMESPACED, Permission};

use crate::generated::{Generated, document};

/// Each operator's own permissions.
const OPERATORS: [&[Permission]; 4] =
    [my_app::PERMISSIONS, sample::PERMISSIONS, sample_db::PERMISSIONS, etcd_cluster::PERMISSIONS];

pub(crate) fn files() -> Vec<Generated> {
    let work = rules(work());
    let cluster_role = |name: &str, rules: &[PolicyRule]| {
        document(&ClusterRole { metadata: named(name), rules: Some(rules.to_vec()), ..ClusterRole::default() })
    };
    let role = |name: &str, rules: Vec<PolicyRule>| document(&Role { metadata: named(name), rules: Some(rules) });
    vec![
        ("config/rbac/manager_cluster_role.yaml".into(), cluster_role("manager", &work)),
        ("config/rbac/manager_role.yaml".into(), role("manager", work.clone())),
        // The same with the name that overlays give it: kustomize reads no file outside of its directory.
        ("kustomize/watched-namespace/role.yaml".into(), role("multi-operator-manager", work)),
        ("config/rbac/metrics_auth_cluster_role.yaml".into(), cluster_role("metrics-auth", &cluster())),
        ("config/rbac/leader_election_role.yaml".into(), role("leader-election", rules(own_namespace()))),
    ]
}

/// The permissions of an install in each watched namespace, including its own, with its Lease and catalog: one list, since OLM
/// grants `permissions` in all of them.
pub(crate) fn namespaced() -> Vec<PolicyRule> {
    rules(work().chain(own_namespace()))
}

/// The cluster-wide permissions of an install.
pub(crate) fn cluster() -> Vec<PolicyRule> {
    rules(CLUSTER)
}

/// The permissions of an install in its own namespace, whether or not it watches that.
fn own_namespace() -> impl Iterator<Item = &'static Permission> {
    [LEASE, MANAGER_POD, sample_db::OWN_NAMESPACE].into_iter().flatten()
}

fn work() -> impl Iterator<Item = &'static Permission> {
    OPERATORS.into_iter().chain([NAMESPACED]).flatten()
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// One rule for each resource, with the verbs of all permissions that name it.
fn rules<'a>(permissions: impl IntoIterator<Item = &'a Permission>) -> Vec<PolicyRule> {
    let mut verbs: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for permission in permissions {
        for resource in permission.resources {
            verbs.entry((permission.group, resource)).or_default().extend(permission.verbs);
        }
    }
    verbs
        .into_iter()
        .map(|((group, resource), mut verbs)| {
            verbs.sort_unstable();
            verbs.dedup();
            PolicyRule {
                api_groups: Some(vec![group.to_owned()]),
                resources: Some(vec![resource.to_owned()]),
                verbs: verbs.into_iter().map(str::to_owned).collect(),
                ..PolicyRule::default()
            }
        })
        .collect()
}
