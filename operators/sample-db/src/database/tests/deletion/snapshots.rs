//! What becomes of snapshots and their volumes when a database goes.

use super::*;
use crate::database::deletion::is_to_be_asked;
use crate::database::login::Login;
use crate::database::tests::server::{says, standing};

/// Earlier snapshots are on it: `backup.storage.existingClaim` says where later ones go.
#[test]
fn a_volume_of_snapshots_stays_though_others_are_written_to_by_now() {
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    status["storage"]["snapshotClaim"] = json!("mine");
    let spec = json!({ "backup": { "storage": { "existingClaim": "mine" } }, "deletion": { "policy": "Delete" } });
    let mut seen = with(&leaving_meta(&json!({})), &spec, &status);
    let earlier =
        json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": "s-1", "labels": labels_of("u-1") } });
    seen.claims = vec![Arc::new(Claim::decode(&earlier.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["DropSecret(App)"], "no volume is left to remove");
}

/// The user's own claim for snapshots, which the operator does not hold: a pod that has ended lets it go.
#[test]
fn a_snapshot_on_a_claim_of_the_users_saves_as_long_as_that_claim_is_there() {
    let spec = json!({ "backup": { "storage": { "existingClaim": "mine" } } });
    let existing = |uid: &str, going: bool| {
        let mut claim = json!({ "metadata": { "namespace": "n", "name": "mine", "uid": uid } });
        if going {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Some(Arc::new(Claim::decode(&claim.to_string()).unwrap()))
    };
    let goes = |claim: Option<Arc<Claim>>, known: Option<&str>| {
        let mut seen = leaving(&spec, &json!({}));
        let mut status = proved();
        status["location"] = json!({ "claim": "mine", "path": "shop-final-u1", "claimUID": known });
        (seen.snapshots, seen.existing_claim) = (vec![last(&status)], claim);
        done(&plan(&seen, now()))
    };
    let stays = Vec::<String>::new();
    assert_eq!(goes(existing("m-1", false), Some("m-1")), ["delete PersistentVolumeClaim data-shop-0"]);
    assert_eq!(goes(None, Some("m-1")), stays, "it is gone");
    assert_eq!(goes(existing("m-1", true), Some("m-1")), stays, "it is going");
    assert_eq!(goes(existing("m-2", false), Some("m-1")), stays, "it was replaced");
    assert_eq!(goes(existing("m-1", false), None), stays, "which one it was is not known yet");
}

fn grown(size: &str) -> Observed {
    let spec = json!({ "backup": { "storage": { "size": size } } });
    let mut seen = leaving(&spec, &json!({}));
    let claim = json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": "s-1", "labels": labels_of("u-1") },
        "spec": { "resources": { "requests": { "storage": "1Gi" } } } });
    seen.claims = vec![claim_with("u-1", "c-1", &[]), Arc::new(Claim::decode(&claim.to_string()).unwrap())];
    let failed = json!({ "phase": "Failed", "error": "no space", "startedAt": "2026-01-01T00:00:00Z" });
    seen.snapshots = vec![last(&failed)];
    seen
}

/// That it is too small may be found only when the final snapshot is taken.
#[test]
fn the_volume_of_snapshots_grows_while_the_database_is_being_deleted() {
    // Beside all else: a class that lets no volume grow keeps no deletion from going on.
    let grows =
        |size: &str| plan(&grown(size), now()).independent.iter().any(|apply| *apply.key.name == *"shop-snapshots");
    assert!(grows("2Gi") && !grows("1Gi") && !grows("500Mi"), "volumes only grow");
}

/// Others may make SampleDBSnapshots of any name, and of any reason.
#[test]
fn a_snapshot_that_this_deletion_has_not_asked_for_is_not_its_last() {
    let of = |reason: &str, created: &str| {
        let object = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1", "creationTimestamp": created },
            "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": reason }, "status": proved() });
        let mut seen = leaving(&json!({}), &json!({}));
        seen.snapshots = vec![Arc::new(Snapshot::decode(&object.to_string()).unwrap())];
        done(&plan(&seen, now()))
    };
    let goes = ["delete PersistentVolumeClaim data-shop-0"];
    assert_eq!(of("Final", "2026-01-01T00:00:00Z"), goes);
    assert_ne!(of("Final", "2025-12-31T23:59:50Z"), goes, "made before");
    assert_ne!(of("Manual", "2026-01-01T00:00:01Z"), goes, "somebody's own");
}

/// It would be made again and again, under a name that is there.
#[test]
fn what_has_all_names_of_the_last_snapshot_is_told_of() {
    let mut seen = leaving(&json!({ "deletion": { "onSnapshotFailure": "Proceed" } }), &json!({}));
    seen.snapshots = vec![snapshot("shop-final-u1", "Manual", &proved())];
    let told = plan(&seen, now());
    assert_eq!(done(&told), Vec::<String>::new());
    let status = told.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked").1, "FinalSnapshotFailed");
    let message = &status.contract.condition("DeletionBlocked").unwrap().message;
    assert!(message.contains("delete shop-final-u1 "), "{message}");
}

/// A database that goes, with its server, which is ready since long ago, and a snapshot that looks like the last one.
fn with_last(spec: &Value, annotations: &Value, status: &Value) -> Observed {
    let object = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1", "annotations": annotations },
        "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": "Final" }, "status": status });
    let mut seen = leaving(spec, &json!({}));
    seen.snapshots = vec![Arc::new(Snapshot::decode(&object.to_string()).unwrap())];
    let server = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "shop", "ownerReferences": [
        { "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": "u-1", "controller": true }] } });
    seen.servers = vec![Arc::new(StatefulSet::decode(&server.to_string()).unwrap())];
    seen.pods = standing(&json!({}), &initialised()).pods;
    seen
}

fn is_anew(seen: &Observed) -> bool {
    done(&plan(seen, now())) == ["delete SampleDBSnapshot shop-final-u1"]
}

/// Its clock and its name fit, but nobody has shut writers out for it.
#[test]
fn a_last_snapshot_of_a_server_that_lets_writers_in_is_taken_anew() {
    let goes_with = |spec: &Value, annotations: &Value, status: &Value, login: Login| {
        let mut seen = with_last(spec, annotations, status);
        seen.asked = says(|answer| answer.login = login);
        let alone = is_anew(&seen);
        seen.snapshots.push(snapshot("slow", "Manual", &json!({ "phase": "Running" })));
        assert_eq!(is_anew(&seen), alone, "beside one that is waited for");
        (is_to_be_asked(&seen), alone)
    };
    let goes = |annotations: &Value, status: &Value, login| goes_with(&json!({}), annotations, status, login);
    let online = json!({ kinds::ONLINE: "true" });
    let runs = json!({ "phase": "Running", "startedAt": "2027-01-15T07:59:00Z" });
    assert_eq!(goes(&online, &runs, Login::In), (true, true));
    assert_eq!(goes(&online, &json!({}), Login::WrongPassword), (true, true), "not begun yet");
    assert_eq!(goes(&online, &runs, Login::Unknown), (true, true), "it was not shut");
    assert_eq!(goes(&online, &runs, Login::ShutOut), (true, false));
    assert_eq!(goes(&online, &proved(), Login::In), (true, true), "it has been taken too early");
    assert_eq!(goes(&online, &proved(), Login::ShutOut), (true, false));
    for status in [json!({}), runs, proved()] {
        assert_eq!(goes(&json!({}), &status, Login::In), (false, true), "of the volume, beside a server: {status}");
    }
    // A person is waited for, who may have let somebody in.
    let failed = json!({ "phase": "Failed", "error": "no space", "startedAt": "2026-01-01T00:00:00Z" });
    let mut incomplete = proved();
    incomplete["notCovered"] = json!(["a large object"]);
    for status in [&failed, &incomplete] {
        assert_eq!(goes(&online, status, Login::In), (false, false), "{status}");
    }
    // Another one may lack more than was accepted of this.
    let mut accepted = with_last(&json!({}), &online, &incomplete);
    let annotations = json!({ api::sample_db::ACCEPT_FINAL_SNAPSHOT: "shop-final-u1" });
    accepted.db = with(&leaving_meta(&annotations), &json!({}), &serde_json::to_value(&accepted.db.status).unwrap()).db;
    accepted.asked = says(|answer| answer.login = Login::In);
    assert_eq!(
        (is_to_be_asked(&accepted), done(&plan(&accepted, now()))),
        (false, vec!["delete StatefulSet shop".to_owned()])
    );
    let proceeds = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    for status in [&failed, &incomplete] {
        assert_eq!(goes_with(&proceeds, &online, status, Login::In), (true, true), "nobody is: {status}");
        assert_eq!(goes_with(&proceeds, &online, status, Login::ShutOut), (true, false), "{status}");
    }
}

/// It may be somebody else's, and writers may be in. But a node that is gone, with the volume, looks the same.
#[test]
fn a_last_snapshot_of_a_server_that_does_not_answer_waits_for_it_and_is_not_given_up() {
    let online = json!({ kinds::ONLINE: "true" });
    let proceeds = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    let failed = json!({ "phase": "Failed", "error": "it did", "startedAt": "2027-01-15T07:59:00Z" });
    let since = |started: &str, spec: &Value, status: &Value| {
        let mut seen = with_last(spec, &online, status);
        let mut before = serde_json::to_value(&seen.db.status).unwrap();
        before["deletion"]["startedAt"] = json!(started);
        seen.db = with(&leaving_meta(&json!({})), spec, &before).db;
        seen.asked = Asked::Failed("timed out".to_owned());
        seen
    };
    for (spec, status) in [(json!({}), proved()), (proceeds, failed)] {
        let young = since("2027-01-15T07:59:30Z", &spec, &status);
        let waits = plan(&young, now());
        assert_eq!(done(&waits), Vec::<String>::new());
        let told = waits.status.unwrap();
        assert!(told.deletion.message.as_ref().unwrap().contains("waiting until the server says"));
        assert_ne!(reason(&told, "FinalSnapshot").0, ConditionStatus::True, "it may not count");
        let old = since("2026-01-01T00:00:00Z", &spec, &status);
        let stops = vec!["delete StatefulSet shop".to_owned()];
        assert_eq!(done(&plan(&old, now())), stops);
        let mut shut = young;
        shut.asked = says(|answer| answer.login = Login::ShutOut);
        assert_eq!(done(&plan(&shut, now())), stops);
    }
}

/// Else it would be made without end: for a snapshot there is no volume, and for the volume nobody.
#[test]
fn the_volume_of_the_last_snapshot_is_made_again_whatever_the_spec_names_meanwhile() {
    let spec = json!({ "backup": { "storage": { "existingClaim": "bigger" } } });
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    status["storage"]["snapshotClaim"] = json!("shop-snapshots");
    let mut seen = with(&leaving_meta(&json!({})), &spec, &status);
    seen.claims = vec![claim("u-1", "c-1")];
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim shop-snapshots"]);
}

/// What is proved stays so, whatever the spec says of later ones.
#[test]
fn another_volume_that_the_spec_names_meanwhile_leaves_the_last_snapshot_where_it_is() {
    let mut seen = leaving(&json!({ "backup": { "storage": { "existingClaim": "bigger" } } }), &json!({}));
    let mut status = proved();
    status["location"] = json!({ "claim": "shop-snapshots", "path": "shop-final-u1", "claimUID": "s-1" });
    seen.snapshots = vec![last(&status)];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}
