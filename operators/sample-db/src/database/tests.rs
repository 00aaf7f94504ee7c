//! Tests of single decisions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::ConditionStatus;
use api::sample_db::{DeletionStep, FINAL_SNAPSHOT, SampleDBPhase, SampleDBReason, SampleDBStatus};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, ChildState, DryRun, Effect, Plan, Requeue};
use runtime::projections::{Pod, Pvc, StatefulSet};
use serde_json::{Value, json};

use super::effects::{DbAct, DbPlan, REQUEUE_AFTER_STEP};
use super::login::LoginCheck;
use super::observed::{Contact, InitSources, Observed, PlacementCheck, SecretState};
use super::pinned::Pinned;
use super::plan::replacement_pod;
use super::server_info::ServerProbe;
use super::step::NextStep;
use super::{init, objects, record, restore, steps};
use crate::operand::kinds::{self, SampleDB, Snapshot};
use crate::operand::{agent_job, labels, scheduling};

mod adoption;
mod backups;
mod deletion;
mod earlier;
mod failing;
mod held;
mod interleave;
mod mounts;
mod overdue;
mod parameters;
mod placement;
mod records;
mod replacement;
mod restores;
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

/// The plan without the marks of PVCs: [`records`] and [`held`] test those.
fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let mut plan = super::plan::plan(observed, now);
    plan.effects
        .retain(|effect| !matches!(effect, Effect::Apply(apply) if apply.manager_prefix == Some(record::MANAGER)));
    plan
}

/// A database of that spec and status, without children.
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
        target_server: ChildState::Absent,
        servers: Vec::new(),
        peers: ChildState::Absent,
        read_write: ChildState::Absent,
        connection: ChildState::Absent,
        configuration: ChildState::Absent,
        claims: Vec::new(),
        pods: Vec::new(),
        taken_names: BTreeSet::new(),
        final_snapshot_pods: Vec::new(),
        jobs: Vec::new(),
        snapshots: Vec::new(),
        restore_candidates: Vec::new(),
        superuser_secret: SecretState::Usable,
        app_secret: SecretState::Usable,
        password_regenerated_at: None,
        init_sources: InitSources::Digest(String::new()),
        pod_failure: None,
        replacement: DryRun::Accepted,
        placement: PlacementCheck::Verified,
        silent_for: None,
        copy_result: None,
        observing_since: None,
        probe: ServerProbe::Skipped,
        external: Vec::new(),
        existing_claim: None,
        snapshots_on_data: false,
        namespace_terminating: false,
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

/// The labels of a PVC that was created for an object of that UID.
fn labels_of(owner: &str) -> Value {
    let mut labels = json!(labels::labels(&observed(&json!({}), &json!({})).db));
    labels["multi-operator.example.com/owner-uid"] = json!(owner);
    labels
}

fn claim(owner: &str, uid: &str) -> Arc<Pvc> {
    claim_with(owner, uid, &[])
}

/// One with the finalizer.
fn held_claim(owner: &str, uid: &str) -> Arc<Pvc> {
    claim_with(owner, uid, &[api::sample_db::UNSAVED_DATA])
}

fn claim_with(owner: &str, uid: &str, finalizers: &[&str]) -> Arc<Pvc> {
    let claim = json!({ "metadata": { "namespace": "n", "name": "data-shop-0", "uid": uid, "labels": labels_of(owner),
        "finalizers": finalizers }, "status": { "phase": "Bound" } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

/// The PVC of the snapshots.
fn snapshots_claim() -> Arc<Pvc> {
    let claim = json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": "s-1" } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

fn snapshot(name: &str, reason: &str, status: &Value) -> Arc<Snapshot> {
    let snapshot = json!({ "metadata": { "namespace": "n", "name": name, "uid": name },
        "spec": { "sampleDB": "shop", "reason": reason }, "status": status });
    Arc::new(Snapshot::decode(&snapshot.to_string()).unwrap())
}

/// The effects of a plan as text.
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
fn the_finalizer_is_added_before_anything_is_created() {
    let held = plan(&with(&json!({}), &json!({}), &json!({})), now());
    assert_eq!(done(&held), ["apply SampleDB shop"]);
    assert!(held.status.is_none() && held.independent.is_empty());
}

#[test]
fn the_engine_is_latched_before_anything_relies_on_it() {
    let first = plan(&observed(&json!({}), &json!({})), now());
    assert!(first.effects.is_empty() && first.independent.is_empty());
    let engine = first.status.unwrap().engine;
    assert_eq!(engine.image.as_deref(), Some("docker.io/library/postgres:17.12"));
}

#[test]
fn the_secrets_come_first_then_the_volume_then_the_server() {
    let mut seen = observed(&json!({}), &latched());
    (seen.superuser_secret, seen.app_secret) = (SecretState::Absent, SecretState::Absent);
    assert_eq!(done(&plan(&seen, now())), ["CreateSecret(System)"]);
    seen.superuser_secret = SecretState::Usable;
    assert_eq!(done(&plan(&seen, now())), ["CreateSecret(App)"]);
    seen.app_secret = SecretState::Usable;
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim data-shop-0"]);
    seen.claims = vec![claim("u-1", "c-1")];
    let created = plan(&seen, now());
    assert_eq!(done(&created).last().map(String::as_str), Some("apply StatefulSet shop"));
    let Some(Effect::Apply(server)) = created.effects.last() else { panic!("{:?}", created.effects) };
    let spec = server.body["spec"].to_string();
    assert!(spec.contains("--initialise") && server.body["spec"]["volumeClaimTemplates"].is_null());
    let containers = &server.body["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers[0]["resources"]["requests"]["memory"], "128Mi", "what asks for nothing is evicted first");
    // What outlives the database must have no owner reference.
    assert!(created.independent.iter().all(|apply| apply.body["metadata"]["ownerReferences"].is_null()));
}

#[test]
fn data_is_created_once_and_never_again() {
    let mut seen = observed(&json!({}), &initialised());
    seen.claims = vec![claim("u-1", "c-1")];
    let created = plan(&seen, now());
    let Some(Effect::Apply(server)) = created.effects.last() else { panic!("{:?}", created.effects) };
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
fn an_earlier_databases_volume_is_adopted_by_annotation_only() {
    let mut seen = observed(&json!({}), &latched());
    seen.claims = vec![claim("u-0", "c-0")];
    // Its Secrets exist, too: without them, the data could not be used.
    seen.superuser_secret = SecretState::Foreign;
    let left = plan(&seen, now());
    assert!(left.effects.is_empty());
    assert_eq!(reason(&left.status.unwrap(), "Stalled").1, "VolumeLeft");
    // A volume that an upgrade created is found, too, before an empty one is created.
    let upgraded = {
        let labels = json!({ "multi-operator.example.com/owner-uid": "u-0" });
        let claim =
            json!({ "metadata": { "namespace": "n", "name": "data-shop-17", "uid": "c-17", "labels": labels } });
        Arc::new(Pvc::decode(&claim.to_string()).unwrap())
    };
    let mut seen = observed(&json!({}), &json!({}));
    seen.claims = vec![upgraded.clone()];
    let pinned = Pinned::of(&seen).unwrap();
    let Some(NextStep::Blocked(reason, why)) = steps::preconditions(&seen, &pinned, None) else {
        panic!("nothing stops it")
    };
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
fn an_unusable_secret_is_reported() {
    let mut seen = observed(&json!({ "credentials": { "secretRef": { "name": "mine" } } }), &latched());
    for (secret, why) in [
        (SecretState::Absent, "SecretMissing"),
        (SecretState::Malformed("has no entry password".to_owned()), "SecretMalformed"),
        (SecretState::Foreign, "NameTaken"),
    ] {
        seen.app_secret = secret;
        let planned = plan(&seen, now());
        assert!(planned.effects.is_empty());
        assert_eq!(reason(&planned.status.unwrap(), "Stalled").1, why);
    }
    // A user's Secret is never changed.
    seen.app_secret = SecretState::Outdated;
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim data-shop-0"]);
}

#[test]
fn an_unknown_version_is_reported_and_nothing_is_created() {
    let planned = plan(&observed(&json!({ "engine": { "version": "12" } }), &json!({})), now());
    assert!(planned.effects.is_empty() && planned.independent.is_empty());
    assert_eq!(reason(&planned.status.unwrap(), "Stalled").1, "VersionUnknown");
}

#[test]
fn paused_does_nothing() {
    let mut seen = observed(&json!({ "paused": true }), &initialised());
    seen.claims = vec![claim("u-1", "c-1")];
    let paused = plan(&seen, now());
    assert!(paused.effects.is_empty() && paused.independent.is_empty());
}
