//! What the invariants compare before and after a reconcile.

use std::collections::{BTreeMap, BTreeSet};

use runtime::cache::Projection;
use runtime::projections::Pvc;
use runtime::testing::FakeCluster;
use serde_json::Value;

use crate::bench::is_held;
use crate::kubelet::seen;

/// The compared part of a world.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// By uid: name, image, whether the pod is terminating.
    pub pods: BTreeMap<String, (String, String, bool)>,
    /// By uid.
    pub claims: BTreeMap<String, ClaimSeen>,
    /// Whether all PVCs are to be retained.
    pub retain: bool,
    pub size: usize,
    /// Whether the cluster is terminating.
    pub terminating: bool,
    pub listed: BTreeSet<String>,
}

/// The compared part of a PVC.
#[derive(Clone, Debug)]
pub struct ClaimSeen {
    pub name: String,
    pub deleting: bool,
    pub retired: bool,
    /// Whether it ever had a volume, and a member that votes.
    pub filled: bool,
    /// Whether it has the operator's finalizer.
    pub held: bool,
}

impl Snapshot {
    /// Reads a world.
    pub fn of(world: &FakeCluster) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pods = seen(world).into_iter().map(|pod| (pod.uid, (pod.name, pod.image, pod.deleting))).collect();
        let claims = world.all(Pvc::KIND).map(|(key, claim)| {
            let meta = &claim["metadata"];
            let retired = meta["labels"]["multi-operator.example.com/retired"].is_string();
            // A member that never voted has no data that the others lack.
            let joining = meta["labels"]["multi-operator.example.com/joining"].is_string();
            let filled = claim["status"]["phase"].is_string() && !joining;
            let deleting = !meta["deletionTimestamp"].is_null();
            let seen = ClaimSeen { name: key.name.to_string(), deleting, retired, filled, held: is_held(claim) };
            (text(&meta["uid"]), seen)
        });
        Self { pods, claims: claims.collect(), ..Self::default() }
    }
}
