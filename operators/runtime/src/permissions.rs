//! The permissions of a controller, declared next to the code that needs them; `cargo xtask generate` generates RBAC from them.

/// A rule of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Plural, with a subresource if any: `deployments`, `myapps/status`.
    pub resources: &'static [&'static str],
    /// For example `get`, `list`, `watch`, `patch`.
    pub verbs: &'static [&'static str],
}

/// What the runtime needs in every watched namespace, whichever controllers run.
pub const NAMESPACED: &[Permission] =
    &[Permission { group: "events.k8s.io", resources: &["events"], verbs: &["create", "patch"] }];

/// What the runtime needs in the namespace of its Lease.
pub const LEASE: &[Permission] = &[Permission {
    group: "coordination.k8s.io",
    resources: &["leases"],
    verbs: &["get", "watch", "create", "update"],
}];

/// What the runtime needs in the namespace of the manager's Pod: to report on it which kinds it cannot watch.
pub const MANAGER_POD: &[Permission] = &[
    Permission { group: "", resources: &["pods/status"], verbs: &["patch"] },
    Permission { group: "events.k8s.io", resources: &["events"], verbs: &["create", "patch"] },
];

/// What the runtime needs in the cluster: to authorize readers of metrics, and to read the Leases of other managers.
pub const CLUSTER: &[Permission] = &[
    Permission { group: "authentication.k8s.io", resources: &["tokenreviews"], verbs: &["create"] },
    Permission { group: "authorization.k8s.io", resources: &["subjectaccessreviews"], verbs: &["create"] },
    Permission { group: "coordination.k8s.io", resources: &["leases"], verbs: &["get"] },
];
