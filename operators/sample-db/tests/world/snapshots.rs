//! What is known of snapshots goes: their volume, or their status.

use runtime::cache::Projection as _;
use runtime::projections::{Claim, Job};
use runtime::testing::branching::Pass;
use sample_db::Snapshot;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::boundaries::quiet;
use crate::collector::Propagation::{Background, Foreground};
use crate::faults::{Edit, Step};
use crate::guard::is_proved;
use crate::settle::{condition, is};
use crate::site::claim_uid;
use crate::stories::{settle, settled, usual};

/// A database with a snapshot that is proved.
fn backed_up() -> Bench {
    let mut bench = settled(&quiet(usual()));
    bench.take(&Step::Backup { physical: false });
    settle(&mut bench);
    assert!(is_proved(snapshot(&bench)), "{}", bench.story());
    bench
}

/// The snapshot that was made first.
fn snapshot(bench: &Bench) -> &Value {
    bench.world.all(Snapshot::KIND).next().expect("there is one").1
}

fn database(bench: &Bench) -> &Value {
    bench.object().expect("it is there")
}

#[test]
fn snapshots_whose_volume_was_deleted_are_good_for_nothing() {
    let mut bench = backed_up();
    assert!(is(database(&bench), "BackupHealthy"), "{}", bench.story());
    bench.take(&Step::DropSnapshots);
    bench.world.deliver_all();
    bench.pass(Pass::default());
    assert_eq!(condition(database(&bench), "BackupHealthy")["reason"], "SnapshotClaimTerminating", "{}", bench.story());
    settle(&mut bench);
    let lost = snapshot(&bench);
    assert_eq!(
        (&lost["status"]["phase"], &condition(lost, "Stalled")["reason"]),
        (&json!("Failed"), &json!("FilesMissing"))
    );
    for of in ["BackupHealthy", "BackupVerified"] {
        assert_eq!(condition(database(&bench), of)["status"], "False", "{}", bench.story());
    }
    // The next one is good again.
    bench.take(&Step::Backup { physical: false });
    settle(&mut bench);
    assert!(is(database(&bench), "BackupHealthy"), "{}", bench.story());
}

/// A Job without an owner that was to remove its files would wait for their volume.
#[test]
fn a_snapshot_whose_volume_goes_while_its_files_are_being_removed_leaves_no_job() {
    let mut bench = backed_up();
    bench.take(&Step::DropSnapshot(0));
    for _ in 0..20 {
        if bench.world.all(Job::KIND).any(|(key, _)| key.name.ends_with("-prune")) {
            break;
        }
        bench.world.deliver_all();
        bench.pass(Pass::default());
    }
    assert!(bench.world.all(Job::KIND).count() > 0, "{}", bench.story());
    bench.take(&Step::Delete(Background));
    bench.take(&Step::DropSnapshots);
    settle(&mut bench);
}

/// A backup tool brings a claim back with what was on it, and under another uid.
#[test]
fn snapshots_whose_volume_was_restored_are_verified_and_good_again() {
    let mut bench = backed_up();
    let key = bench.key.sibling("shop-snapshots");
    let (old, claim) = (claim_uid(&bench.world, &key), bench.world.get(Claim::KIND, &key).cloned());
    bench.world.remove(Claim::KIND, &key);
    bench.world.create(Claim::KIND, &key, claim.expect("it is there"));
    let files = bench.site.disks.volume(&old.expect("it has one")).clone();
    let new = claim_uid(&bench.world, &key).expect("it has one");
    *bench.site.disks.volume(&new) = files;
    bench.round();
    assert_eq!(snapshot(&bench)["status"]["verification"]["phase"], "Running", "{}", bench.story());
    settle(&mut bench);
    assert!(is_proved(snapshot(&bench)), "{}", bench.story());
    assert_eq!(snapshot(&bench)["status"]["location"]["claimUID"], new, "{}", bench.story());
}

/// Only a pod that has read them tells that the files are on the volume. A person has it tried again.
#[test]
fn a_snapshot_whose_volume_was_replaced_is_not_ready_before_its_files_were_seen() {
    for restored in [false, true] {
        let mut bench = backed_up();
        bench.take(&Step::Fail { verb: 2, stage: 1 });
        let key = bench.key.sibling("shop-snapshots");
        let old = claim_uid(&bench.world, &key).expect("it is there");
        let files = bench.site.disks.volume(&old).clone();
        bench.take(&Step::DropSnapshots);
        while claim_uid(&bench.world, &key).is_none_or(|uid| uid == old) {
            bench.round();
        }
        if restored {
            let new = claim_uid(&bench.world, &key).expect("it is there");
            *bench.site.disks.volume(&new) = files;
        }
        bench.take(&Step::Calm(40));
        let (status, error) = (&snapshot(&bench)["status"], snapshot(&bench)["status"]["error"].to_string());
        assert_eq!(status["verification"]["phase"], "Failed", "{}", bench.story());
        assert_eq!(status["phase"], "Failed", "{}", bench.story());
        assert!(
            error.contains("could not be carried out") && error.contains(api::sample_db_snapshot::VERIFY),
            "{error}"
        );
        let again = bench.world.all(Snapshot::KIND).next().expect("there is one").0.clone();
        bench.world.edit(Snapshot::KIND, &again, |of| {
            of["metadata"]["annotations"][api::sample_db_snapshot::VERIFY] = json!("again");
        });
        settle(&mut bench);
        assert_eq!(is_proved(snapshot(&bench)), restored, "{}", bench.story());
    }
}

/// The claim of the snapshots is deleted at each moment of a deletion, so that it may be another one between two looks.
#[test]
fn no_data_go_while_the_final_snapshot_is_on_a_volume_that_is_gone() {
    for rounds in 0..12 {
        let mut bench = backed_up();
        bench.take(&Step::Delete(Background));
        bench.take(&Step::Calm(rounds));
        let key = bench.key.sibling("shop-snapshots");
        if let Some(claim) = bench.world.get(Claim::KIND, &key).cloned() {
            bench.world.remove(Claim::KIND, &key);
            bench.world.create(Claim::KIND, &key, claim);
        }
        settle(&mut bench);
        assert!(bench.object().is_none(), "after {rounds}: {}", bench.story());
    }
}

/// What no snapshot contains is listed while the data are still there, and a person accepts that.
#[test]
fn a_deletion_waits_until_a_person_accepts_what_the_final_snapshot_lacks() {
    for way in [Background, Foreground] {
        let mut bench = settled(&quiet(usual()));
        bench.take(&Step::Slot(true));
        bench.take(&Step::Delete(way));
        bench.take(&Step::Calm(60));
        let blocked = condition(database(&bench), "DeletionBlocked");
        assert_eq!(blocked["reason"], "FinalSnapshotIncomplete", "{}", bench.story());
        assert!(bench.world.get(Claim::KIND, &bench.key.sibling("data-shop-0")).is_some(), "{}", bench.story());
        settle(&mut bench);
        assert!(bench.object().is_none(), "{}", bench.story());
    }
}

/// What is known of a snapshot but for the verification, which is done again, and when.
fn known(snapshot: &Value) -> Value {
    let mut status = snapshot["status"].clone();
    for field in ["verification", "conditions"] {
        status[field] = Value::Null;
    }
    status
}

#[test]
fn snapshots_that_have_lost_their_status_are_good_again() {
    let mut bench = backed_up();
    let before = known(snapshot(&bench));
    bench.take(&Step::LoseSnapshots);
    settle(&mut bench);
    assert_eq!(known(snapshot(&bench)), before, "{}", bench.story());
    assert!(is_proved(snapshot(&bench)), "{}", bench.story());
}

/// The database is gone, and its snapshot has lost its status, and has come back under another uid.
#[test]
fn a_database_that_is_gone_is_restored_of_a_snapshot_that_was_restored_without_status() {
    for new in [false, true] {
        let mut bench = settled(&quiet(usual()));
        bench.take(&Step::Delete(Background));
        settle(&mut bench);
        let before = known(snapshot(&bench));
        if new {
            let (key, mut last) =
                bench.world.all(Snapshot::KIND).next().map(|(key, of)| (key.clone(), of.clone())).expect("one");
            for field in ["finalizers", "deletionTimestamp"] {
                last["metadata"].as_object_mut().expect("it has some").remove(field);
            }
            bench.world.remove(Snapshot::KIND, &key);
            bench.world.create(Snapshot::KIND, &key, last);
        }
        bench.take(&Step::LoseSnapshots);
        settle(&mut bench);
        assert_eq!(known(snapshot(&bench)), before, "{}", bench.story());
        assert!(is_proved(snapshot(&bench)), "{}", bench.story());
        bench.take(&Step::Restore { version: "17" });
        settle(&mut bench);
        let copy = bench.world.get(sample_db::SampleDB::KIND, &bench.key.sibling("copy")).expect("it is there");
        assert!(is(copy, "Ready"), "{}", bench.story());
    }
}

/// Status goes at each moment while a snapshot is taken.
#[test]
fn a_snapshot_whose_status_is_lost_while_it_is_taken_is_taken_all_the_same() {
    let mut begun = settled(&quiet(usual()));
    begun.take(&Step::Backup { physical: false });
    for moment in 0..20 {
        let mut bench = begun.fork();
        bench.take(&Step::LoseSnapshots);
        settle(&mut bench);
        assert!(is_proved(snapshot(&bench)), "after {moment}: {}", bench.story());
        begun.round();
    }
}

/// Nobody makes the claim again once the database is gone, so no pod of a verification would ever start.
#[test]
fn a_verification_ends_if_the_volume_goes_with_the_database() {
    let mut begun = settled(&quiet(usual()));
    begun.take(&Step::Edit(Edit::Skip));
    begun.take(&Step::Backup { physical: false });
    for moment in 0..10 {
        for rounds in [0, 1, 3] {
            let mut bench = begun.fork();
            for step in [Step::Delete(Background), Step::Calm(rounds), Step::DropSnapshots] {
                bench.take(&step);
            }
            settle(&mut bench);
            let snapshot = snapshot(&bench);
            let missing = condition(snapshot, "Stalled")["reason"] == "VolumeMissing";
            let taken = !snapshot["status"]["completedAt"].is_null();
            assert!(missing || !taken, "after {moment}, {rounds} rounds between: {}", bench.story());
        }
        begun.round();
    }
}

/// A deletion waits for what is being taken, and nobody makes the claim of that again meanwhile. It may be gone before the
/// operator sees that it is going.
#[test]
fn a_deletion_does_not_wait_for_a_backup_whose_volume_is_gone() {
    let mut begun = settled(&quiet(usual()));
    begun.take(&Step::Backup { physical: false });
    for moment in 0..8 {
        for rounds in [0, 1] {
            let mut bench = begun.fork();
            bench.take(&Step::Delete(Background));
            bench.world.remove(Claim::KIND, &bench.key.sibling("shop-snapshots"));
            bench.take(&Step::Calm(rounds));
            settle(&mut bench);
            assert!(bench.object().is_none(), "after {moment}, {rounds} rounds between: {}", bench.story());
        }
        begun.round();
    }
}
