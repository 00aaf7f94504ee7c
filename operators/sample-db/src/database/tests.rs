//! Decisions, said one by one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::ConditionStatus;
use api::sample_db::{DeletionStep, FINAL_SNAPSHOT, Phase, SampleDBReason, SampleDBStatus};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, ChildState, DryRun, Effect, Plan, Requeue};
use runtime::projections::{Claim, Pod, StatefulSet};
use serde_json::{Value, json};

use super::answer::Asked;
use super::effects::{DbAct, DbPlan, STEP};
use super::login::Login;
use super::observed::{Contact, InitSources, Observed, Placement, SecretSeen};
use super::pinned::Pinned;
use super::plan::trial;
use super::step::NextStep;
use super::{init, objects, record, restore, steps};
use crate::operand::kinds::{self, SampleDB, Snapshot};
use crate::operand::{agent_job, labels, scheduling};

mod adoption;
mod backups;
mod beside;
mod deletion;
mod earlier;
mod failing;
mod held;
mod mounts;
mod overdue;
mod parameters;
mod placement;
mod records;
mod replacement;
mod retention;
mod server;
mod storage;
mod terminating;
mod unlabeled;
mod unreadable;
mod unwatched;
mod upgrades;
mod volumes;

const NOW: i64 = 1_800_000_000;

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

/// The plan, but for what claims are marked with: [`records`] and [`held`] are about that.
fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let mut plan = super::plan::plan(observed, now);
    plan.effects.retain(|effect| !matches!(effect, Effect::Apply(apply) if apply.hand_over == Some(record::MANAGER)));
    plan
}

/// A database of that spec and status, of which nothing else is there.
fn observed(spec: &Value, status: &Value) -> Observed {
    with(&json!({ "finalizers": [FINAL_SNAPSHOT] }), spec, status)
}

fn with(meta: &Value, spec: &Value, status: &Value) -> Observed {
    let mut metadata = json!({ "namespace": "n", "name": "shop", "uid": "u-1", "generation": 1 });
    for (key, value) in meta.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    let db = json!({ "metadata": metadata, "spec": spec, "status": status });
    Observed {
        db: Arc::new(SampleDB::decode(&db.to_string()).unwrap()),
        catalog: Ok(Arc::default()),
        server: ChildState::Absent,
        successor: ChildState::Absent,
        servers: Vec::new(),
        peers: ChildState::Absent,
        read_write: ChildState::Absent,
        connection: ChildState::Absent,
        configuration: ChildState::Absent,
        claims: Vec::new(),
        pods: Vec::new(),
        taken: BTreeSet::new(),
        saving: Vec::new(),
        jobs: Vec::new(),
        snapshots: Vec::new(),
        sources: Vec::new(),
        system: SecretSeen::Usable,
        app: SecretSeen::Usable,
        system_remade: None,
        init_sources: InitSources::Digest(String::new()),
        failed: None,
        replacement: DryRun::Accepted,
        placement: Placement::Proven,
        silent_for: None,
        copied: None,
        began: None,
        asked: Asked::Nothing,
        external: Vec::new(),
        existing_claim: None,
        snapshots_on_data: false,
        namespace_going: false,
        namespace_assigns_uids: false,
        agent_image: "agent:1".into(),
    }
}

/// A status in which the engine is latched.
fn latched() -> Value {
    json!({ "engine": { "version": "17.12", "image": "docker.io/library/postgres:17.12" } })
}

/// A status of a database that has data.
fn initialised() -> Value {
    let mut status = latched();
    status["systemIdentifier"] = json!("7");
    status["storage"] = json!({ "claim": "data-shop-0", "claimUID": "c-1" });
    status["initialization"] =
        json!({ "dataCreatedAt": "2026-01-01T00:00:00Z", "completedAt": "2026-01-01T00:00:10Z" });
    status
}

/// The labels of a claim that was made for an object of that uid.
fn labels_of(owner: &str) -> Value {
    let mut labels = json!(labels::labels(&observed(&json!({}), &json!({})).db));
    labels["multi-operator.example.com/owner-uid"] = json!(owner);
    labels
}

fn claim(owner: &str, uid: &str) -> Arc<Claim> {
    claim_with(owner, uid, &[])
}

/// One that our finalizer keeps.
fn held_claim(owner: &str, uid: &str) -> Arc<Claim> {
    claim_with(owner, uid, &[api::sample_db::UNSAVED_DATA])
}

fn claim_with(owner: &str, uid: &str, finalizers: &[&str]) -> Arc<Claim> {
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": uid, "labels": labels_of(owner),
        "finalizers": finalizers }, "status": { "phase": "Bound" } });
    Arc::new(Claim::decode(&claim.to_string()).unwrap())
}

/// The claim of the snapshots.
fn snapshots_claim() -> Arc<Claim> {
    let claim = json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": "s-1" } });
    Arc::new(Claim::decode(&claim.to_string()).unwrap())
}

fn snapshot(name: &str, reason: &str, status: &Value) -> Arc<Snapshot> {
    let snapshot = json!({ "metadata": { "namespace": "n", "name": name, "uid": name },
        "spec": { "sampleDB": "shop", "reason": reason }, "status": status });
    Arc::new(Snapshot::decode(&snapshot.to_string()).unwrap())
}

/// What a plan does, in words.
fn done(plan: &DbPlan) -> Vec<String> {
    let word = |effect: &Effect<DbAct>| match effect {
        Effect::Apply(apply) => format!("apply {} {}", apply.kind.kind, apply.key.name),
        Effect::Create(create) => format!("create {} {}", create.kind.kind, create.key.name),
        Effect::Delete(delete) => format!("delete {} {}", delete.kind.kind, delete.key.name),
        Effect::Act(act) => format!("{act:?}"),
    };
    plan.effects.iter().map(word).collect()
}

fn reason(status: &SampleDBStatus, type_: &str) -> (ConditionStatus, String) {
    let condition = status.contract.condition(type_).unwrap_or_else(|| panic!("there is no condition {type_}"));
    (condition.status, condition.reason.to_string())
}

#[test]
fn it_is_held_before_anything_is_made() {
    let held = plan(&with(&json!({}), &json!({}), &json!({})), now());
    assert_eq!(done(&held), ["apply SampleDB shop"]);
    assert!(held.status.is_none() && held.independent.is_empty());
}

#[test]
fn the_engine_is_written_down_before_anything_relies_on_it() {
    let first = plan(&observed(&json!({}), &json!({})), now());
    assert!(first.effects.is_empty() && first.independent.is_empty());
    let engine = first.status.unwrap().engine;
    assert_eq!(engine.image.as_deref(), Some("docker.io/library/postgres:17.12"));
}

#[test]
fn the_secrets_come_first_then_the_volume_then_the_server() {
    let mut seen = observed(&json!({}), &latched());
    (seen.system, seen.app) = (SecretSeen::Absent, SecretSeen::Absent);
    assert_eq!(done(&plan(&seen, now())), ["MakeSecret(System)"]);
    seen.system = SecretSeen::Usable;
    assert_eq!(done(&plan(&seen, now())), ["MakeSecret(App)"]);
    seen.app = SecretSeen::Usable;
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim data-shop-0"]);
    seen.claims = vec![claim("u-1", "c-1")];
    let made = plan(&seen, now());
    assert_eq!(done(&made).last().map(String::as_str), Some("apply StatefulSet shop"));
    let Some(Effect::Apply(server)) = made.effects.last() else { panic!("{:?}", made.effects) };
    let spec = server.body["spec"].to_string();
    assert!(spec.contains("--initialise") && server.body["spec"]["volumeClaimTemplates"].is_null());
    let containers = &server.body["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers[0]["resources"]["requests"]["memory"], "128Mi", "what asks for nothing is evicted first");
    // What outlives it must have no owner.
    assert!(made.independent.iter().all(|apply| apply.body["metadata"]["ownerReferences"].is_null()));
}

#[test]
fn data_are_made_once_and_never_again() {
    let mut seen = observed(&json!({}), &initialised());
    seen.claims = vec![claim("u-1", "c-1")];
    let made = plan(&seen, now());
    let Some(Effect::Apply(server)) = made.effects.last() else { panic!("{:?}", made.effects) };
    let spec = server.body["spec"].to_string();
    assert!(!spec.contains("--initialise") && spec.contains("--system-identifier=7"));

    for claims in [Vec::new(), vec![claim("u-1", "c-2")]] {
        seen.claims = claims;
        let lost = plan(&seen, now());
        assert!(lost.effects.is_empty(), "{:?}", lost.effects);
        assert_eq!(reason(&lost.status.unwrap(), "Stalled"), (ConditionStatus::True, "DataMissing".to_owned()));
    }
}

#[test]
fn what_an_earlier_database_left_is_taken_over_when_told_so_only() {
    let mut seen = observed(&json!({}), &latched());
    seen.claims = vec![claim("u-0", "c-0")];
    // Its Secrets are there, too, and whoever is told to delete them could not get into the data any more.
    seen.system = SecretSeen::Foreign;
    let left = plan(&seen, now());
    assert!(left.effects.is_empty());
    assert_eq!(reason(&left.status.unwrap(), "Stalled").1, "VolumeLeft");
    // One that was made by an upgrade is looked for, too, before an empty one is made beside it.
    let upgraded = {
        let labels = json!({ "multi-operator.example.com/owner-uid": "u-0" });
        let claim =
            json!({ "metadata": { "namespace": "n", "name": "data-shop-17", "uid": "c-17", "labels": labels } });
        Arc::new(Claim::decode(&claim.to_string()).unwrap())
    };
    let mut seen = observed(&json!({}), &json!({}));
    seen.claims = vec![upgraded.clone()];
    let pinned = Pinned::of(&seen).unwrap();
    let Some(NextStep::Blocked(reason, why)) = steps::ground(&seen, &pinned, None) else { panic!("nothing stops it") };
    assert!(reason == SampleDBReason::VolumeLeft && why.contains("data-shop-17"), "{reason}: {why}");
    let meta = json!({ "finalizers": [FINAL_SNAPSHOT], "annotations": { api::sample_db::ADOPT: "u-0" } });
    let mut seen = with(&meta, &json!({}), &json!({}));
    seen.claims = vec![claim("u-0", "c-0"), upgraded];
    assert_eq!(Pinned::of(&seen).unwrap().claim, "data-shop-17", "the volume of before the upgrade is the older one");
    let mut seen = with(&meta, &json!({}), &latched());
    seen.claims = vec![claim("u-0", "c-0")];
    assert!(done(&plan(&seen, now())).contains(&"apply StatefulSet shop".to_owned()));
}

#[test]
fn a_secret_that_cannot_be_used_is_told_of() {
    let mut seen = observed(&json!({ "credentials": { "secretRef": { "name": "mine" } } }), &latched());
    for (secret, why) in [
        (SecretSeen::Absent, "SecretMissing"),
        (SecretSeen::Malformed("has no entry password".to_owned()), "SecretMalformed"),
        (SecretSeen::Foreign, "NameTaken"),
    ] {
        seen.app = secret;
        let told = plan(&seen, now());
        assert!(told.effects.is_empty());
        assert_eq!(reason(&told.status.unwrap(), "Stalled").1, why);
    }
    // A person's is not written to, whatever else is in it.
    seen.app = SecretSeen::Outdated;
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim data-shop-0"]);
}

#[test]
fn a_version_that_nobody_has_is_told_of_and_nothing_is_made() {
    let told = plan(&observed(&json!({ "engine": { "version": "12" } }), &json!({})), now());
    assert!(told.effects.is_empty() && told.independent.is_empty());
    assert_eq!(reason(&told.status.unwrap(), "Stalled").1, "VersionUnknown");
}

#[test]
fn paused_does_nothing() {
    let mut seen = observed(&json!({ "paused": true }), &initialised());
    seen.claims = vec![claim("u-1", "c-1")];
    let paused = plan(&seen, now());
    assert!(paused.effects.is_empty() && paused.independent.is_empty());
}
