//! Snapshots lose their volume or their status.

use runtime::cache::Projection as _;
use runtime::projections::{Job, Pvc};
use runtime::testing::fault_injection::ReconcileFaults;
use sample_db::Snapshot;
use serde_json::{Value, json};

use crate::collector::Propagation::{Background, Foreground};
use crate::crash_points::without_initial_backup;
use crate::faults::{Edit, Step};
use crate::infrastructure::claim_uid;
use crate::invariants::is_verified;
use crate::scenarios::{default_spec, settle, settled};
use crate::settle::{condition, is};
use crate::simulation::Simulation;

/// A database with a verified snapshot.
fn backed_up() -> Simulation {
    let mut sim = settled(&without_initial_backup(default_spec()));
    sim.take(&Step::CreateSnapshot { physical: false });
    settle(&mut sim);
    assert!(is_verified(snapshot(&sim)), "{}", sim.report());
    sim
}

/// The first snapshot.
fn snapshot(sim: &Simulation) -> &Value {
    sim.cluster.all(Snapshot::KIND).next().expect("there is one").1
}

fn database(sim: &Simulation) -> &Value {
    sim.object().expect("it is there")
}

#[test]
fn snapshots_whose_volume_was_deleted_are_failed() {
    let mut sim = backed_up();
    assert!(is(database(&sim), "BackupHealthy"), "{}", sim.report());
    sim.take(&Step::DeleteSnapshotPvc);
    sim.cluster.deliver_all_events();
    sim.reconcile_all(ReconcileFaults::default());
    assert_eq!(condition(database(&sim), "BackupHealthy")["reason"], "SnapshotClaimTerminating", "{}", sim.report());
    settle(&mut sim);
    let lost = snapshot(&sim);
    assert_eq!(
        (&lost["status"]["phase"], &condition(lost, "Stalled")["reason"]),
        (&json!("Failed"), &json!("FilesMissing"))
    );
    for of in ["BackupHealthy", "BackupVerified"] {
        assert_eq!(condition(database(&sim), of)["status"], "False", "{}", sim.report());
    }
    // The next one is usable again.
    sim.take(&Step::CreateSnapshot { physical: false });
    settle(&mut sim);
    assert!(is(database(&sim), "BackupHealthy"), "{}", sim.report());
}

/// A Job without an owner that is to remove its files would wait for their volume.
#[test]
fn a_snapshot_whose_volume_is_deleted_while_its_files_are_being_removed_leaves_no_job() {
    let mut sim = backed_up();
    sim.take(&Step::DeleteSnapshot(0));
    for _ in 0..20 {
        if sim.cluster.all(Job::KIND).any(|(key, _)| key.name.ends_with("-prune")) {
            break;
        }
        sim.cluster.deliver_all_events();
        sim.reconcile_all(ReconcileFaults::default());
    }
    assert!(sim.cluster.all(Job::KIND).count() > 0, "{}", sim.report());
    sim.take(&Step::Delete(Background));
    sim.take(&Step::DeleteSnapshotPvc);
    settle(&mut sim);
}

/// A backup tool restores a PVC with its contents, under another UID.
#[test]
fn snapshots_whose_volume_was_restored_are_verified_and_usable_again() {
    let mut sim = backed_up();
    let key = sim.key.sibling("shop-snapshots");
    let (old, claim) = (claim_uid(&sim.cluster, &key), sim.cluster.get(Pvc::KIND, &key).cloned());
    sim.cluster.remove(Pvc::KIND, &key);
    sim.cluster.create(Pvc::KIND, &key, claim.expect("it is there"));
    let files = sim.infra.disks.volume(&old.expect("it has one")).clone();
    let new = claim_uid(&sim.cluster, &key).expect("it has one");
    *sim.infra.disks.volume(&new) = files;
    sim.round();
    assert_eq!(snapshot(&sim)["status"]["verification"]["phase"], "Running", "{}", sim.report());
    settle(&mut sim);
    assert!(is_verified(snapshot(&sim)), "{}", sim.report());
    assert_eq!(snapshot(&sim)["status"]["location"]["claimUID"], new, "{}", sim.report());
}

/// Only a pod that has read them shows that the files are on the volume. The administrator requests another verification.
#[test]
fn a_snapshot_whose_volume_was_replaced_is_not_ready_before_its_files_were_seen() {
    for restored in [false, true] {
        let mut sim = backed_up();
        sim.take(&Step::Fail { command: 2, stage: 1 });
        let key = sim.key.sibling("shop-snapshots");
        let old = claim_uid(&sim.cluster, &key).expect("it is there");
        let files = sim.infra.disks.volume(&old).clone();
        sim.take(&Step::DeleteSnapshotPvc);
        while claim_uid(&sim.cluster, &key).is_none_or(|uid| uid == old) {
            sim.round();
        }
        if restored {
            let new = claim_uid(&sim.cluster, &key).expect("it is there");
            *sim.infra.disks.volume(&new) = files;
        }
        sim.take(&Step::Rounds(40));
        let (status, error) = (&snapshot(&sim)["status"], snapshot(&sim)["status"]["error"].to_string());
        assert_eq!(status["verification"]["phase"], "Failed", "{}", sim.report());
        assert_eq!(status["phase"], "Failed", "{}", sim.report());
        assert!(
            error.contains("could not be carried out") && error.contains(api::sample_db_snapshot::VERIFY),
            "{error}"
        );
        let again = sim.cluster.all(Snapshot::KIND).next().expect("there is one").0.clone();
        sim.cluster.edit(Snapshot::KIND, &again, |of| {
            of["metadata"]["annotations"][api::sample_db_snapshot::VERIFY] = json!("again");
        });
        settle(&mut sim);
        assert_eq!(is_verified(snapshot(&sim)), restored, "{}", sim.report());
    }
}

/// The PVC of the snapshots is recreated at each moment of a deletion, possibly between two reconciles.
#[test]
fn no_data_is_deleted_while_the_volume_of_the_final_snapshot_is_missing() {
    for rounds in 0..12 {
        let mut sim = backed_up();
        sim.take(&Step::Delete(Background));
        sim.take(&Step::Rounds(rounds));
        let key = sim.key.sibling("shop-snapshots");
        if let Some(claim) = sim.cluster.get(Pvc::KIND, &key).cloned() {
            sim.cluster.remove(Pvc::KIND, &key);
            sim.cluster.create(Pvc::KIND, &key, claim);
        }
        settle(&mut sim);
        assert!(sim.object().is_none(), "after {rounds}: {}", sim.report());
    }
}

/// What no snapshot contains is listed while the data still exists, and the administrator accepts that.
#[test]
fn a_deletion_waits_until_an_administrator_accepts_what_the_final_snapshot_lacks() {
    for way in [Background, Foreground] {
        let mut sim = settled(&without_initial_backup(default_spec()));
        sim.take(&Step::Slot(true));
        sim.take(&Step::Delete(way));
        sim.take(&Step::Rounds(60));
        let blocked = condition(database(&sim), "DeletionBlocked");
        assert_eq!(blocked["reason"], "FinalSnapshotIncomplete", "{}", sim.report());
        assert!(sim.cluster.get(Pvc::KIND, &sim.key.sibling("data-shop-0")).is_some(), "{}", sim.report());
        settle(&mut sim);
        assert!(sim.object().is_none(), "{}", sim.report());
    }
}

/// The status of a snapshot without the verification, which is repeated.
fn known(snapshot: &Value) -> Value {
    let mut status = snapshot["status"].clone();
    for field in ["verification", "conditions"] {
        status[field] = Value::Null;
    }
    status
}

#[test]
fn snapshots_that_have_lost_their_status_are_usable_again() {
    let mut sim = backed_up();
    let before = known(snapshot(&sim));
    sim.take(&Step::LoseSnapshotStatus);
    settle(&mut sim);
    assert_eq!(known(snapshot(&sim)), before, "{}", sim.report());
    assert!(is_verified(snapshot(&sim)), "{}", sim.report());
}

/// The database was deleted, and its snapshot has lost its status, or was recreated under another UID.
#[test]
fn a_deleted_database_is_restored_from_a_snapshot_that_was_restored_without_status() {
    for new in [false, true] {
        let mut sim = settled(&without_initial_backup(default_spec()));
        sim.take(&Step::Delete(Background));
        settle(&mut sim);
        let before = known(snapshot(&sim));
        if new {
            let (key, mut last) =
                sim.cluster.all(Snapshot::KIND).next().map(|(key, of)| (key.clone(), of.clone())).expect("one");
            for field in ["finalizers", "deletionTimestamp"] {
                last["metadata"].as_object_mut().expect("it has some").remove(field);
            }
            sim.cluster.remove(Snapshot::KIND, &key);
            sim.cluster.create(Snapshot::KIND, &key, last);
        }
        sim.take(&Step::LoseSnapshotStatus);
        settle(&mut sim);
        assert_eq!(known(snapshot(&sim)), before, "{}", sim.report());
        assert!(is_verified(snapshot(&sim)), "{}", sim.report());
        sim.take(&Step::Restore { version: "17" });
        settle(&mut sim);
        let copy = sim.cluster.get(sample_db::SampleDB::KIND, &sim.key.sibling("copy")).expect("it is there");
        assert!(is(copy, "Ready"), "{}", sim.report());
    }
}

/// Status is lost at each moment while a snapshot is taken.
#[test]
fn a_snapshot_whose_status_is_lost_while_it_is_taken_is_taken_all_the_same() {
    let mut start = settled(&without_initial_backup(default_spec()));
    start.take(&Step::CreateSnapshot { physical: false });
    for moment in 0..20 {
        let mut sim = start.fork();
        sim.take(&Step::LoseSnapshotStatus);
        settle(&mut sim);
        assert!(is_verified(snapshot(&sim)), "after {moment}: {}", sim.report());
        start.round();
    }
}

/// The PVC is not recreated once the database is deleted, so no pod of a verification would start.
#[test]
fn a_verification_ends_if_the_volume_is_deleted_with_the_database() {
    let mut start = settled(&without_initial_backup(default_spec()));
    start.take(&Step::Edit(Edit::Skip));
    start.take(&Step::CreateSnapshot { physical: false });
    for moment in 0..10 {
        for rounds in [0, 1, 3] {
            let mut sim = start.fork();
            for step in [Step::Delete(Background), Step::Rounds(rounds), Step::DeleteSnapshotPvc] {
                sim.take(&step);
            }
            settle(&mut sim);
            let snapshot = snapshot(&sim);
            let missing = condition(snapshot, "Stalled")["reason"] == "VolumeMissing";
            let taken = !snapshot["status"]["completedAt"].is_null();
            assert!(missing || !taken, "after {moment}, {rounds} rounds between: {}", sim.report());
        }
        start.round();
    }
}

/// A deletion waits for a backup that is being taken, and the PVC is not recreated meanwhile. It may be deleted before the
/// operator observes that it is terminating.
#[test]
fn a_deletion_does_not_wait_for_a_backup_whose_volume_is_deleted() {
    let mut start = settled(&without_initial_backup(default_spec()));
    start.take(&Step::CreateSnapshot { physical: false });
    for moment in 0..8 {
        for rounds in [0, 1] {
            let mut sim = start.fork();
            sim.take(&Step::Delete(Background));
            sim.cluster.remove(Pvc::KIND, &sim.key.sibling("shop-snapshots"));
            sim.take(&Step::Rounds(rounds));
            settle(&mut sim);
            assert!(sim.object().is_none(), "after {moment}, {rounds} rounds between: {}", sim.report());
        }
        start.round();
    }
}
