//! A user deletes the object, its PVCs and its pods, in every order: nothing is deleted that is not saved.

use runtime::cache::Projection as _;
use runtime::projections::Pvc;
use sample_db::SampleDB;
use serde_json::{Value, json};

use crate::collector::Propagation::{self, Background, Foreground};
use crate::collector::delete;
use crate::crash_points::without_initial_backup;
use crate::faults::{Edit, Step};
use crate::scenarios::{default_spec, settle, settled};
use crate::settle::{condition, is};
use crate::simulation::Simulation;

/// The four steps in every order.
fn all_orders(of: Propagation) -> Vec<Vec<Step>> {
    let all = || vec![Step::Delete(of), Step::DeleteDataPvc(0), Step::DeletePod(0), Step::DeleteSnapshotPvc];
    let mut all_orders: Vec<Vec<Step>> = vec![Vec::new()];
    for _ in all() {
        let longer = |start: Vec<Step>| {
            let text = |step: &Step| format!("{step:?}");
            let rest =
                all().into_iter().filter(|step| !start.iter().any(|of| text(of) == text(step))).collect::<Vec<_>>();
            rest.into_iter().map(move |step| [start.clone(), vec![step]].concat())
        };
        all_orders = all_orders.into_iter().flat_map(longer).collect();
    }
    all_orders
}

/// Checks that the data is saved, or still exists and the status says what the administrator can do.
pub fn check_saved(sim: &Simulation, order: &[Step], rounds: u8) {
    let report = || format!("{order:?}, {rounds} rounds between\n{}", sim.report());
    assert!(sim.check_invariants().is_ok(), "{:?}: {}", sim.check_invariants(), report());
    let Some(db) = sim.object() else { return };
    assert!(is(db, "DeletionBlocked"), "it is not deleted, and does not report why: {}", report());
    let claim = sim.cluster.get(Pvc::KIND, &sim.key.sibling("data-shop-0"));
    let uid = claim.and_then(|claim| claim["metadata"]["uid"].as_str()).unwrap_or_default();
    let data = sim.infra.disks.data(uid);
    let complete = data.is_some_and(|data| data.rows.is_superset(&sim.infra.acked["shop"]));
    assert!(complete, "the data is lost, and not saved: {}", report());
}

fn in_every_order(of: Propagation) {
    let start = settled(&without_initial_backup(default_spec()));
    for order in all_orders(of) {
        for rounds in [0, 1, 4] {
            let mut sim = start.fork();
            for step in &order {
                sim.take(step);
                sim.take(&Step::Rounds(rounds));
            }
            sim.take(&Step::Rounds(120));
            check_saved(&sim, &order, rounds);
        }
    }
}

#[test]
fn in_every_order_in_the_background() {
    in_every_order(Background);
}

#[test]
fn in_every_order_in_the_foreground() {
    in_every_order(Foreground);
}

/// Checks that retained data stays, whatever else is deleted while the operator waits for PVCs.
fn in_every_order_with_retain(of: Propagation) {
    let mut start = settled(&without_initial_backup(default_spec()));
    start.take(&Step::Edit(Edit::Policy("Retain")));
    start.take(&Step::Rounds(2));
    for order in all_orders(of) {
        for rounds in [0, 1] {
            let mut sim = start.fork();
            for step in &order {
                sim.take(step);
                sim.take(&Step::Rounds(rounds));
            }
            sim.take(&Step::Rounds(120));
            check_retained(&sim, &order);
        }
    }
}

fn check_retained(sim: &Simulation, order: &[Step]) {
    let report = || format!("{order:?}\n{}", sim.report());
    assert!(sim.check_invariants().is_ok(), "{:?}: {}", sim.check_invariants(), report());
    let claim = sim.cluster.get(Pvc::KIND, &sim.key.sibling("data-shop-0"));
    let Some(claim) = claim else { panic!("the data is lost: {}", report()) };
    let data = sim.infra.disks.data(claim["metadata"]["uid"].as_str().unwrap_or_default());
    assert!(data.is_some_and(|data| data.rows.is_superset(&sim.infra.acked["shop"])), "rows are lost: {}", report());
    let terminating = !claim["metadata"]["deletionTimestamp"].is_null();
    let blocked = sim.object().is_some_and(|db| is(db, "DeletionBlocked"));
    assert_eq!(terminating, blocked, "a terminating PVC is reported, and another one stays: {}", report());
}

#[test]
fn in_every_order_with_retain_in_the_background() {
    in_every_order_with_retain(Background);
}

#[test]
fn in_every_order_with_retain_in_the_foreground() {
    in_every_order_with_retain(Foreground);
}

/// As the message describes.
#[test]
fn a_pvc_that_cannot_be_retained_is_saved_once_the_policy_is_snapshot() {
    for rounds in [0, 1, 2, 4] {
        let mut sim = settled(&without_initial_backup(json!({ "deletion": { "policy": "Retain" } })));
        for step in [Step::Delete(Background), Step::Rounds(rounds), Step::DeleteDataPvc(0), Step::Rounds(20)] {
            sim.take(&step);
        }
        let blocked = condition(sim.object().expect("it is there"), "DeletionBlocked").clone();
        assert!(blocked["message"].to_string().contains("set deletion.policy to Snapshot"), "{}", sim.report());
        sim.take(&Step::Edit(Edit::Policy("Snapshot")));
        settle(&mut sim);
        assert!(sim.object().is_none(), "{}", sim.report());
        let saved = sim.cluster.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::invariants::is_verified(of));
        assert!(saved, "{}", sim.report());
    }
}

/// `kubectl delete sdb,pvc -l app.kubernetes.io/instance=shop`.
#[test]
fn the_object_and_its_pvcs_are_saved_and_deleted_together() {
    for rounds in [0, 1, 2] {
        let mut sim = settled(&without_initial_backup(default_spec()));
        for step in [Step::Delete(Background), Step::DeleteDataPvc(0), Step::DeleteSnapshotPvc] {
            sim.take(&step);
            sim.take(&Step::Rounds(rounds));
        }
        settle(&mut sim);
        assert!(sim.object().is_none(), "{}", sim.report());
        let saved = sim.cluster.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::invariants::is_verified(of));
        assert!(saved, "{}", sim.report());
    }
}

/// The server also answers before it is configured. Once the PVC is terminating, the data exists nowhere else.
#[test]
fn a_database_that_is_not_configured_yet_is_not_waited_for_forever() {
    for rounds in 1..15 {
        let mut sim = Simulation::new(&without_initial_backup(default_spec()));
        for step in [Step::Rounds(rounds), Step::DeleteDataPvc(0), Step::Rounds(1), Step::Delete(Background)] {
            sim.take(&step);
        }
        settle(&mut sim);
        assert!(sim.object().is_none(), "{}", sim.report());
    }
}

/// An upgrade creates another PVC, which a user may delete as well, at any moment. Then the pod is deleted.
#[test]
fn a_pvc_that_is_deleted_during_an_upgrade_takes_nothing_away() {
    for which in [0, 1] {
        for rounds in 0..30 {
            let mut sim = settled(&without_initial_backup(json!({ "engine": { "version": "15" } })));
            sim.take(&Step::Edit(Edit::Version(3)));
            for step in [
                Step::Rounds(rounds),
                Step::DeleteDataPvc(which),
                Step::Rounds(20),
                Step::DeletePod(0),
                Step::Rounds(5),
            ] {
                sim.take(&step);
            }
            // The previous PVC is missing, if it was that one.
            let ended = sim.settle().or_else(|why| if why.starts_with("claims") { Ok(()) } else { Err(why) });
            ended.unwrap_or_else(|why| panic!("claim {which} after {rounds}: {why}\n{}", sim.report()));
        }
    }
}

#[test]
fn a_deleted_claim_of_a_serving_database_is_reported_and_its_pod_stays() {
    let mut sim = settled(&without_initial_backup(default_spec()));
    sim.take(&Step::DeleteDataPvc(0));
    // A change that would replace the pod does not.
    sim.take(&Step::Edit(Edit::Restart(1)));
    sim.take(&Step::Rounds(10));
    let db = sim.object().expect("it is there");
    assert!(is(db, "Ready") && is(db, "Stalled"), "{}", sim.report());
    assert_eq!(condition(db, "Stalled")["reason"], "ClaimTerminating");
    assert_eq!(condition(db, "StorageHealthy")["reason"], "ClaimTerminating");
    // It is still backed up.
    sim.take(&Step::CreateSnapshot { physical: false });
    sim.take(&Step::Rounds(20));
    assert!(
        sim.cluster.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::invariants::is_verified(of)),
        "{}",
        sim.report()
    );
    sim.take(&Step::Delete(Background));
    settle(&mut sim);
    assert!(sim.object().is_none(), "{}", sim.report());
}

#[test]
fn a_pvc_without_a_server_is_kept_until_its_data_are_given_up() {
    let mut sim = settled(&without_initial_backup(default_spec()));
    for step in
        [Step::DeleteDataPvc(0), Step::DeletePod(0), Step::Rounds(5), Step::Delete(Background), Step::Rounds(20)]
    {
        sim.take(&step);
    }
    let db = sim.object().expect("it is there");
    assert_eq!(condition(db, "DeletionBlocked")["reason"], "ClaimTerminating", "{}", sim.report());
    sim.take(&Step::Edit(Edit::Skip));
    settle(&mut sim);
    assert!(sim.object().is_none(), "{}", sim.report());
}

#[test]
fn nothing_is_protected_in_a_terminating_namespace() {
    let mut sim = settled(&json!({}));
    let held = |claim: &Value| claim["metadata"]["finalizers"][0] == api::sample_db::UNSAVED_DATA;
    assert!(sim.cluster.all(Pvc::KIND).any(|(_, claim)| held(claim)), "{}", sim.report());
    sim.take(&Step::DeleteDataPvc(0));
    sim.take(&Step::DeleteNamespace);
    settle(&mut sim);
    assert_eq!(sim.cluster.all(SampleDB::KIND).count() + sim.cluster.all(Pvc::KIND).count(), 0);
}

/// The user's own PVC for snapshots, which has no finalizer, is deleted at each moment of a deletion.
#[test]
fn data_stays_if_the_users_pvc_with_the_final_snapshot_is_deleted() {
    let mut spec = without_initial_backup(default_spec());
    spec["backup"]["storage"] = json!({ "existingClaim": "mine" });
    let mut start = Simulation::new(&spec);
    let mine = start.key.sibling("mine");
    start.cluster.create(Pvc::KIND, &mine, json!({ "metadata": {} }));
    start.invariants.retained.insert("mine".to_owned());
    settle(&mut start);
    let mut deleted = 0;
    for rounds in 0..25 {
        let mut sim = start.fork();
        sim.take(&Step::Delete(Background));
        sim.take(&Step::Rounds(rounds));
        let before = sim.object().is_some();
        delete(&mut sim.cluster, Pvc::KIND, &mine, Background);
        sim.take(&Step::Rounds(60));
        assert!(sim.check_invariants().is_ok(), "{:?} after {rounds}: {}", sim.check_invariants(), sim.report());
        deleted += u8::from(sim.object().is_none());
        let data = sim.cluster.get(Pvc::KIND, &sim.key.sibling("data-shop-0"));
        assert!(!before || data.is_some() || sim.object().is_none(), "after {rounds}: {}", sim.report());
    }
    assert!(deleted > 0, "it is saved if the PVC is deleted afterward");
}

/// A server with an invalid parameter has the volume, and may never start.
#[test]
fn a_pvc_whose_server_does_not_start_is_reported_and_its_data_saved_once_it_does() {
    let mut start = Simulation::new(&without_initial_backup(json!({})));
    for step in [Step::Edit(Edit::Parameter(3)), Step::Rounds(25), Step::DeleteDataPvc(0), Step::Rounds(3)] {
        start.take(&step);
    }
    start.take(&Step::Delete(Background));
    start.take(&Step::Rounds(20));
    let blocked = condition(start.object().expect("it is there"), "DeletionBlocked");
    assert_eq!(blocked["reason"], "ClaimTerminating", "{}", start.report());
    let message = blocked["message"].to_string();
    for text in ["does not start: FATAL", "spec.engine.parameters", api::sample_db::SKIP_FINAL_SNAPSHOT] {
        assert!(message.contains(text), "{text}: {message}");
    }
    // Both ways that the message names.
    let mut corrected = start.fork();
    corrected.take(&Step::Edit(Edit::Parameter(0)));
    corrected.take(&Step::Rounds(60));
    let saved = corrected.cluster.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::invariants::is_verified(of));
    assert!(corrected.object().is_none() && saved, "{}", corrected.report());
    start.take(&Step::Edit(Edit::Skip));
    settle(&mut start);
    assert!(start.object().is_none(), "{}", start.report());
}

/// A server that a user has stopped by a signal may continue, so the operator waits for that, and reports it.
#[test]
fn a_pvc_whose_server_does_not_answer_for_long_is_reported() {
    let mut sim = settled(&without_initial_backup(default_spec()));
    for step in [Step::DeleteDataPvc(0), Step::StopServer, Step::Delete(Background), Step::Rounds(5)] {
        sim.take(&step);
    }
    assert!(!is(sim.object().expect("it is there"), "DeletionBlocked"), "{}", sim.report());
    sim.take(&Step::Rounds(70));
    let blocked = condition(sim.object().expect("it is there"), "DeletionBlocked");
    assert_eq!(blocked["reason"], "ClaimTerminating", "{}", sim.report());
    assert!(blocked["message"].to_string().contains(api::sample_db::SKIP_FINAL_SNAPSHOT), "{blocked}");
    sim.take(&Step::Kill(0));
    sim.take(&Step::Rounds(60));
    assert!(sim.object().is_none(), "{}", sim.report());
    let saved = sim.cluster.all(sample_db::Snapshot::KIND).any(|(_, of)| crate::invariants::is_verified(of));
    assert!(saved, "{}", sim.report());
}
