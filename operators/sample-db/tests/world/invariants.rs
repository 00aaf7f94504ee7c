//! The invariants: what must never happen.

use std::collections::BTreeMap;

use api::sample_db::{DeletionPolicy, OnSnapshotFailure, SKIP_FINAL_SNAPSHOT, UNSAVED_DATA};
use api::sample_db_snapshot::{SnapshotReason, VerificationPhase};
use runtime::cache::Projection as _;
use runtime::plan::{Effect, Key};
use runtime::projections::{Job, Pod, Pvc};
use runtime::testing::FakeCluster;
use sample_db::database::{DbAct, DbPlan, Observed};
use sample_db::operand::names;
use sample_db::{SampleDB, Snapshot};
use serde_json::Value;

use crate::data::Rows;
use crate::infrastructure::{Infrastructure, claim_uid, has_finalizers, is_terminating, path_of, text};
use crate::simulation::Simulation;

const INSTANCE: &str = "app.kubernetes.io/instance";

/// The label of a PVC with its database's UID.
pub const OWNER_UID: &str = "multi-operator.example.com/owner-uid";

impl Simulation {
    /// Records what a deletion of that database retains on purpose.
    pub fn note_retained(&mut self, db: &Value) {
        if db["spec"]["deletion"]["policy"] == "Retain" {
            let name = text(&db["metadata"]["name"]);
            let claim = text(&db["status"]["storage"]["claim"]);
            let previous = text(&db["status"]["storage"]["previousClaim"]);
            // Labels still show what status has lost.
            let lost = db["status"]["storage"]["claim"].is_null();
            let own = |claim: &Value| lost && claim["metadata"]["labels"][OWNER_UID] == db["metadata"]["uid"];
            let of_data = |key: &Key| key.name.starts_with("data-");
            let own = self.cluster.all(Pvc::KIND).filter(|(key, claim)| of_data(key) && own(claim));
            let own: Vec<String> = own.map(|(key, _)| key.name.to_string()).collect();
            self.invariants.retained.extend([claim, previous, format!("{name}-app"), format!("{name}-system")]);
            self.invariants.retained.extend(own);
        }
    }
}

/// Checks the invariants of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Invariants {
    /// PVCs before the reconcile, by UID, and whether they were terminating.
    claims: BTreeMap<String, (Value, bool)>,
    /// What is retained on purpose, by name: it is neither missing nor a leftover.
    pub retained: std::collections::BTreeSet<String>,
    /// Snapshots before the reconcile, by name.
    snapshots: BTreeMap<String, Value>,
}

impl Invariants {
    /// Remembers the present state, if anything is about to be deleted.
    pub fn remember<X>(&mut self, cluster: &FakeCluster, effects: &[Effect<X>]) {
        (self.claims, self.snapshots) = Default::default();
        if !effects.iter().any(|effect| matches!(effect, Effect::Delete(_))) {
            return;
        }
        let claims = cluster
            .all(Pvc::KIND)
            .map(|(_, claim)| (text(&claim["metadata"]["uid"]), (claim.clone(), is_terminating(claim))));
        self.claims = claims.collect();
        self.snapshots = cluster.all(Snapshot::KIND).map(|(key, of)| (key.name.to_string(), of.clone())).collect();
    }

    /// Records pods that set a user where the namespace assigns one, and pods that do not where it does not.
    pub fn check_users<X>(infra: &mut Infrastructure, effects: &[Effect<X>]) {
        for effect in effects {
            let body = match effect {
                Effect::Apply(apply) => &apply.body,
                Effect::Create(create) => &create.body,
                Effect::Delete(_) | Effect::Act(_) => continue,
            };
            let pod = &body["spec"]["template"]["spec"];
            if pod.is_object() && pod["securityContext"]["runAsUser"].is_number() == infra.assigns_uids {
                infra.violation(format!("a pod runs as {}", pod["securityContext"]));
            }
        }
    }

    /// Remembers the present state, and checks the plan itself.
    pub fn before(&mut self, cluster: &FakeCluster, observed: &Observed, plan: &DbPlan) {
        self.remember(cluster, &plan.effects);
        let disruptive = |effect: &&Effect<DbAct>| match effect {
            Effect::Delete(_) => true,
            Effect::Act(act) => matches!(act, DbAct::AllowConnections | DbAct::DeleteSecret(_)),
            _ => false,
        };
        assert!(plan.effects.iter().filter(disruptive).count() <= 1, "one step at a time: {:?}", plan.effects);
        let rests = observed.db.spec.paused && observed.db.status.upgrade.step.is_none() && !observed.db.meta.deleting;
        assert!(!rests || plan.effects.is_empty() && plan.independent.is_empty(), "paused: {:?}", plan.effects);
        // Clients can connect as soon as it is configured.
        let init = names::init_job(&observed.db);
        let configures = |effect: &Effect<DbAct>| matches!(effect, Effect::Create(create) if *create.key.name == *init);
        let claim = observed.db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
        let held = claim.is_some_and(|claim| claim.meta.has_finalizer(UNSAVED_DATA));
        assert!(held || !plan.effects.iter().any(configures), "nothing keeps the volume yet: {:?}", plan.effects);
    }

    /// Checks what a reconcile did.
    pub fn after(&mut self, cluster: &FakeCluster, infra: &mut Infrastructure) {
        for (uid, (claim, was_terminating)) in &self.claims {
            let now = cluster.all(Pvc::KIND).find(|(_, live)| live["metadata"]["uid"] == **uid);
            let terminates = now.is_none_or(|(_, live)| is_terminating(live));
            if terminates && !was_terminating {
                check_data_loss(cluster, infra, uid, claim);
            }
        }
        for (name, before) in &self.snapshots {
            let now = cluster.all(Snapshot::KIND).find(|(key, _)| *key.name == **name);
            if now.is_none_or(|(_, live)| is_terminating(live)) && !is_terminating(before) && is_verified(before) {
                check_retention(cluster, infra, name, before);
            }
        }
    }

    /// Checks the present state.
    pub fn check_state(&mut self, cluster: &FakeCluster, infra: &mut Infrastructure) {
        // At most one server uses a volume.
        let mut servers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (pod, state) in &infra.pod_states {
            if let Some(server) = &state.server {
                servers.entry(server.claim.clone()).or_default().push(pod);
            }
        }
        let twice: Vec<String> =
            servers.into_iter().filter(|(_, pods)| pods.len() > 1).map(|(claim, _)| claim).collect();
        for claim in twice {
            infra.violation(format!("two servers use the volume of {claim}"));
        }
        let often: Vec<String> = infra
            .disks
            .volumes
            .values()
            .filter_map(|volume| volume.data.as_ref())
            .filter(|data| data.init_sql_runs > 1)
            .map(|data| data.id.clone())
            .collect();
        for id in often {
            infra.violation(format!("the initial SQL ran twice in {id}"));
        }
        let orphans: Vec<String> = cluster
            .all(Pod::KIND)
            .chain(cluster.all(Job::KIND))
            .filter(|(_, object)| object["metadata"]["labels"][INSTANCE].is_null())
            .map(|(key, _)| key.name.to_string())
            .collect();
        for name in orphans {
            infra.violation(format!("{name} has no owner"));
        }
    }
}

/// Checks that the rows of a deleted volume exist elsewhere, or may be lost.
fn check_data_loss(cluster: &FakeCluster, infra: &mut Infrastructure, uid: &str, claim: &Value) {
    let owner = text(&claim["metadata"]["labels"][INSTANCE]);
    if claim["metadata"]["name"] == format!("{owner}-snapshots") {
        let name = text(&claim["metadata"]["name"]);
        return infra.violation(format!("the snapshots' volume {name} is deleted"));
    }
    let Some(data) = infra.disks.data(uid).cloned() else { return };
    let Some((_, db)) = cluster.all(SampleDB::KIND).find(|(key, _)| *key.name == *owner) else {
        return infra.violation(format!("the volume of {owner} is deleted, and there is no such database"));
    };
    let acked = infra.acked.get(&owner).cloned().unwrap_or_default();
    let held: Rows = acked.intersection(&data.rows).copied().collect();
    if held.is_empty() {
        return;
    }
    let others = cluster.all(Pvc::KIND).filter(|(_, other)| {
        // A PVC with a finalizer stays until its data is saved.
        let stays = !is_terminating(other) || has_finalizers(other);
        other["metadata"]["uid"] != *uid && stays && other["metadata"]["labels"][INSTANCE] == *owner
    });
    let elsewhere = others
        .filter_map(|(_, other)| infra.disks.data(other["metadata"]["uid"].as_str()?))
        .any(|data| data.rows.is_superset(&acked));
    let policy = &db["spec"]["deletion"];
    let requested = is_terminating(db)
        && (policy["policy"] == serde_json::json!(DeletionPolicy::Delete)
            || db["metadata"]["annotations"][SKIP_FINAL_SNAPSHOT] == *owner
            || policy["onSnapshotFailure"] == serde_json::json!(OnSnapshotFailure::Proceed));
    let saved = is_terminating(db)
        && cluster.all(Snapshot::KIND).any(|(key, snapshot)| {
            let claim = claim_uid(cluster, &key.sibling(&text(&snapshot["status"]["location"]["claim"])));
            let file = claim.and_then(|claim| infra.disks.volumes.get(&claim)?.files.get(&path_of(snapshot)));
            let reason = snapshot["spec"]["reason"] == serde_json::json!(SnapshotReason::Final);
            reason
                && is_verified(snapshot)
                && file.is_some_and(|file| file.intact && file.data.rows.is_superset(&acked))
        });
    if !elsewhere && !requested && !saved {
        infra.violation(format!("the volume {uid} of {owner} is deleted, and its rows are nowhere else"));
    }
}

/// Checks a PVC that is finally deleted: its data is saved or was given up, no matter which client deleted it.
pub fn check_pvc_deletion(cluster: &FakeCluster, infra: &mut Infrastructure, claim: &Value) {
    let (uid, name) = (text(&claim["metadata"]["uid"]), text(&claim["metadata"]["name"]));
    let owner = text(&claim["metadata"]["labels"][INSTANCE]);
    let known = cluster.all(SampleDB::KIND).any(|(key, _)| *key.name == *owner);
    if name.starts_with("data-") && known && !infra.namespace_terminating {
        check_data_loss(cluster, infra, &uid, claim);
    }
}

/// Checks that a newer verified snapshot is left.
fn check_retention(cluster: &FakeCluster, infra: &mut Infrastructure, name: &str, before: &Value) {
    if infra.namespace_terminating || before["spec"]["reason"] != serde_json::json!(SnapshotReason::Scheduled) {
        return;
    }
    let started = text(&before["status"]["startedAt"]);
    let newer = cluster.all(Snapshot::KIND).any(|(key, of)| {
        *key.name != *name && is_verified(of) && !is_terminating(of) && text(&of["status"]["startedAt"]) >= started
    });
    if !newer {
        infra.violation(format!("the newest verified snapshot {name} is deleted"));
    }
}

pub fn is_verified(snapshot: &Value) -> bool {
    let status = &snapshot["status"];
    status["phase"] == "Ready" && status["verification"]["phase"] == serde_json::json!(VerificationPhase::Passed)
}
