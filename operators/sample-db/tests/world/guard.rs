//! What must never happen.

use std::collections::BTreeMap;

use api::sample_db::{DeletionPolicy, OnSnapshotFailure, SKIP_FINAL_SNAPSHOT, UNSAVED_DATA};
use api::sample_db_snapshot::{SnapshotReason, VerificationPhase};
use runtime::cache::Projection as _;
use runtime::plan::{Effect, Key};
use runtime::projections::{Claim, Job, Pod};
use runtime::testing::World;
use sample_db::database::{DbAct, DbPlan, Observed};
use sample_db::operand::names;
use sample_db::{SampleDB, Snapshot};
use serde_json::Value;

use crate::bench::Bench;
use crate::data::Rows;
use crate::site::{Site, claim_uid, is_going, is_held, path_of, text};

const INSTANCE: &str = "app.kubernetes.io/instance";

/// The label of a claim with its database's uid.
pub const OWNER_UID: &str = "multi-operator.example.com/owner-uid";

impl Bench {
    /// Notes what a deletion of that database leaves on purpose.
    pub fn note_retained(&mut self, db: &Value) {
        if db["spec"]["deletion"]["policy"] == "Retain" {
            let name = text(&db["metadata"]["name"]);
            let claim = text(&db["status"]["storage"]["claim"]);
            let previous = text(&db["status"]["storage"]["previousClaim"]);
            // What status has lost, labels still tell.
            let lost = db["status"]["storage"]["claim"].is_null();
            let own = |claim: &Value| lost && claim["metadata"]["labels"][OWNER_UID] == db["metadata"]["uid"];
            let of_data = |key: &Key| key.name.starts_with("data-");
            let own = self.world.all(Claim::KIND).filter(|(key, claim)| of_data(key) && own(claim));
            let own: Vec<String> = own.map(|(key, _)| key.name.to_string()).collect();
            self.guard.kept.extend([claim, previous, format!("{name}-app"), format!("{name}-system")]);
            self.guard.kept.extend(own);
        }
    }
}

/// Watches over a world.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Claims before the pass, by uid, and whether they were going.
    claims: BTreeMap<String, (Value, bool)>,
    /// What is kept on purpose, by name: nobody is to miss it, and nobody is to clear it away.
    pub kept: std::collections::BTreeSet<String>,
    /// Snapshots before the pass, by name.
    snapshots: BTreeMap<String, Value>,
}

impl Guard {
    /// Remembers how things were, if anything is to be deleted.
    pub fn see<X>(&mut self, world: &World, effects: &[Effect<X>]) {
        (self.claims, self.snapshots) = Default::default();
        if !effects.iter().any(|effect| matches!(effect, Effect::Delete(_))) {
            return;
        }
        let claims = world
            .all(Claim::KIND)
            .map(|(_, claim)| (text(&claim["metadata"]["uid"]), (claim.clone(), is_going(claim))));
        self.claims = claims.collect();
        self.snapshots = world.all(Snapshot::KIND).map(|(key, of)| (key.name.to_string(), of.clone())).collect();
    }

    /// Notes pods with a user of ours where the namespace dictates users, and pods without one where it does not.
    pub fn users<X>(site: &mut Site, effects: &[Effect<X>]) {
        for effect in effects {
            let body = match effect {
                Effect::Apply(apply) => &apply.body,
                Effect::Create(create) => &create.body,
                Effect::Delete(_) | Effect::Act(_) => continue,
            };
            let pod = &body["spec"]["template"]["spec"];
            if pod.is_object() && pod["securityContext"]["runAsUser"].is_number() == site.assigns_uids {
                site.violation(format!("a pod runs as {}", pod["securityContext"]));
            }
        }
    }

    /// Remembers how things were, and judges a plan by itself.
    pub fn before(&mut self, world: &World, observed: &Observed, plan: &DbPlan) {
        self.see(world, &plan.effects);
        let disruptive = |effect: &&Effect<DbAct>| match effect {
            Effect::Delete(_) => true,
            Effect::Act(act) => matches!(act, DbAct::LetIn | DbAct::DropSecret(_)),
            _ => false,
        };
        assert!(plan.effects.iter().filter(disruptive).count() <= 1, "one step at a time: {:?}", plan.effects);
        let rests = observed.db.spec.paused && observed.db.status.upgrade.step.is_none() && !observed.db.meta.deleting;
        assert!(!rests || plan.effects.is_empty() && plan.independent.is_empty(), "paused: {:?}", plan.effects);
        // Clients get in as soon as it is configured.
        let init = names::init_job(&observed.db);
        let configures = |effect: &Effect<DbAct>| matches!(effect, Effect::Create(create) if *create.key.name == *init);
        let claim = observed.db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
        let held = claim.is_some_and(|claim| claim.meta.is_held_by(UNSAVED_DATA));
        assert!(held || !plan.effects.iter().any(configures), "nothing keeps the volume yet: {:?}", plan.effects);
    }

    /// Judges what a pass did.
    pub fn after(&mut self, world: &World, site: &mut Site) {
        for (uid, (claim, was_going)) in &self.claims {
            let now = world.all(Claim::KIND).find(|(_, live)| live["metadata"]["uid"] == **uid);
            let goes = now.is_none_or(|(_, live)| is_going(live));
            if goes && !was_going {
                judge_loss(world, site, uid, claim);
            }
        }
        for (name, before) in &self.snapshots {
            let now = world.all(Snapshot::KIND).find(|(key, _)| *key.name == **name);
            if now.is_none_or(|(_, live)| is_going(live)) && !is_going(before) && is_proved(before) {
                judge_retention(world, site, name, before);
            }
        }
    }

    /// Judges how things stand.
    pub fn standing(&mut self, world: &World, site: &mut Site) {
        // At most one server is at a volume.
        let mut servers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (pod, life) in &site.lives {
            if let Some(server) = &life.server {
                servers.entry(server.claim.clone()).or_default().push(pod);
            }
        }
        let twice: Vec<String> =
            servers.into_iter().filter(|(_, pods)| pods.len() > 1).map(|(claim, _)| claim).collect();
        for claim in twice {
            site.violation(format!("two servers are at the volume of {claim}"));
        }
        let often: Vec<String> = site
            .disks
            .volumes
            .values()
            .filter_map(|volume| volume.data.as_ref())
            .filter(|data| data.ran > 1)
            .map(|data| data.id.clone())
            .collect();
        for id in often {
            site.violation(format!("the initial SQL ran twice in {id}"));
        }
        let orphans: Vec<String> = world
            .all(Pod::KIND)
            .chain(world.all(Job::KIND))
            .filter(|(_, object)| object["metadata"]["labels"][INSTANCE].is_null())
            .map(|(key, _)| key.name.to_string())
            .collect();
        for name in orphans {
            site.violation(format!("{name} is nobody's"));
        }
    }
}

/// Whether the rows of a volume that goes are elsewhere, or may be lost.
fn judge_loss(world: &World, site: &mut Site, uid: &str, claim: &Value) {
    let owner = text(&claim["metadata"]["labels"][INSTANCE]);
    if claim["metadata"]["name"] == format!("{owner}-snapshots") {
        let name = text(&claim["metadata"]["name"]);
        return site.violation(format!("the snapshots' volume {name} is deleted"));
    }
    let Some(data) = site.disks.data(uid).cloned() else { return };
    let Some((_, db)) = world.all(SampleDB::KIND).find(|(key, _)| *key.name == *owner) else {
        return site.violation(format!("the volume of {owner} is deleted, and there is no such database"));
    };
    let acked = site.acked.get(&owner).cloned().unwrap_or_default();
    let held: Rows = acked.intersection(&data.rows).copied().collect();
    if held.is_empty() {
        return;
    }
    let others = world.all(Claim::KIND).filter(|(_, other)| {
        // What a finalizer keeps stays until it is saved.
        let stays = !is_going(other) || is_held(other);
        other["metadata"]["uid"] != *uid && stays && other["metadata"]["labels"][INSTANCE] == *owner
    });
    let elsewhere = others
        .filter_map(|(_, other)| site.disks.data(other["metadata"]["uid"].as_str()?))
        .any(|data| data.rows.is_superset(&acked));
    let policy = &db["spec"]["deletion"];
    let wished = is_going(db)
        && (policy["policy"] == serde_json::json!(DeletionPolicy::Delete)
            || db["metadata"]["annotations"][SKIP_FINAL_SNAPSHOT] == *owner
            || policy["onSnapshotFailure"] == serde_json::json!(OnSnapshotFailure::Proceed));
    let saved = is_going(db)
        && world.all(Snapshot::KIND).any(|(key, snapshot)| {
            let claim = claim_uid(world, &key.sibling(&text(&snapshot["status"]["location"]["claim"])));
            let file = claim.and_then(|claim| site.disks.volumes.get(&claim)?.files.get(&path_of(snapshot)));
            let reason = snapshot["spec"]["reason"] == serde_json::json!(SnapshotReason::Final);
            reason && is_proved(snapshot) && file.is_some_and(|file| file.intact && file.data.rows.is_superset(&acked))
        });
    if !elsewhere && !wished && !saved {
        site.violation(format!("the volume {uid} of {owner} is deleted, and its rows are nowhere else"));
    }
}

/// Judges the end of a claim that somebody has deleted: whoever that was, its data are saved or given up.
pub fn judge_end(world: &World, site: &mut Site, claim: &Value) {
    let (uid, name) = (text(&claim["metadata"]["uid"]), text(&claim["metadata"]["name"]));
    let owner = text(&claim["metadata"]["labels"][INSTANCE]);
    let known = world.all(SampleDB::KIND).any(|(key, _)| *key.name == *owner);
    if name.starts_with("data-") && known && !site.going {
        judge_loss(world, site, &uid, claim);
    }
}

/// Whether another proof is left that is newer.
fn judge_retention(world: &World, site: &mut Site, name: &str, before: &Value) {
    if site.going || before["spec"]["reason"] != serde_json::json!(SnapshotReason::Scheduled) {
        return;
    }
    let began = text(&before["status"]["startedAt"]);
    let newer = world.all(Snapshot::KIND).any(|(key, of)| {
        *key.name != *name && is_proved(of) && !is_going(of) && text(&of["status"]["startedAt"]) >= began
    });
    if !newer {
        site.violation(format!("the newest proved snapshot {name} is deleted"));
    }
}

pub fn is_proved(snapshot: &Value) -> bool {
    let status = &snapshot["status"];
    status["phase"] == "Ready" && status["verification"]["phase"] == serde_json::json!(VerificationPhase::Passed)
}
