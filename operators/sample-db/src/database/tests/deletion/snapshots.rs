//! What happens to snapshots and their volumes when a database is deleted.

use super::*;
use crate::database::deletion::should_query_server;
use crate::database::login::LoginCheck;
use crate::database::tests::server::{says, standing};

/// Earlier snapshots are on it: `backup.storage.existingClaim` says where later ones go.
#[test]
fn a_volume_of_earlier_snapshots_stays() {
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    status["storage"]["snapshotClaim"] = json!("mine");
    let spec = json!({ "backup": { "storage": { "existingClaim": "mine" } }, "deletion": { "policy": "Delete" } });
    let mut seen = with(&deleting_meta(&json!({})), &spec, &status);
    let earlier =
        json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": "s-1", "labels": labels_of("u-1") } });
    seen.claims = vec![Arc::new(Pvc::decode(&earlier.to_string()).unwrap())];
    assert_eq!(done(&plan(&seen, now())), ["DeleteSecret(App)"], "no volume is left to remove");
}

/// The user's own PVC for snapshots has no finalizer of the operator: it is deleted once no pod uses it.
#[test]
fn a_snapshot_on_a_users_pvc_counts_as_long_as_that_pvc_exists() {
    let spec = json!({ "backup": { "storage": { "existingClaim": "mine" } } });
    let existing = |uid: &str, going: bool| {
        let mut claim = json!({ "metadata": { "namespace": "n", "name": "mine", "uid": uid } });
        if going {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Some(Arc::new(Pvc::decode(&claim.to_string()).unwrap()))
    };
    let deletes = |claim: Option<Arc<Pvc>>, known: Option<&str>| {
        let mut seen = deleting(&spec, &json!({}));
        let mut status = verified_status();
        status["location"] = json!({ "claim": "mine", "path": "shop-final-u1", "claimUID": known });
        (seen.snapshots, seen.existing_claim) = (vec![last(&status)], claim);
        done(&plan(&seen, now()))
    };
    let stays = Vec::<String>::new();
    assert_eq!(deletes(existing("m-1", false), Some("m-1")), ["delete PersistentVolumeClaim data-shop-0"]);
    assert_eq!(deletes(None, Some("m-1")), stays, "it was deleted");
    assert_eq!(deletes(existing("m-1", true), Some("m-1")), stays, "it is terminating");
    assert_eq!(deletes(existing("m-2", false), Some("m-1")), stays, "it was replaced");
    assert_eq!(deletes(existing("m-1", false), None), stays, "which one it was is not known yet");
}

fn grown(size: &str) -> Observed {
    let spec = json!({ "backup": { "storage": { "size": size } } });
    let mut seen = deleting(&spec, &json!({}));
    let claim = json!({ "metadata": { "namespace": "n", "name": "shop-snapshots", "uid": "s-1", "labels": labels_of("u-1") },
        "spec": { "resources": { "requests": { "storage": "1Gi" } } } });
    seen.claims = vec![claim_with("u-1", "c-1", &[]), Arc::new(Pvc::decode(&claim.to_string()).unwrap())];
    let failed = json!({ "phase": "Failed", "error": "no space", "startedAt": "2026-01-01T00:00:00Z" });
    seen.snapshots = vec![last(&failed)];
    seen
}

/// That it is too small may be found only when the final snapshot is taken.
#[test]
fn the_volume_of_snapshots_grows_while_the_database_is_being_deleted() {
    // Independently: a class that cannot expand volumes does not block a deletion.
    let grows =
        |size: &str| plan(&grown(size), now()).independent.iter().any(|apply| *apply.key.name == *"shop-snapshots");
    assert!(grows("2Gi") && !grows("1Gi") && !grows("500Mi"), "volumes only grow");
}

/// Users may create SampleDBSnapshots of any name, and of any reason.
#[test]
fn a_snapshot_that_this_deletion_did_not_request_is_not_its_final_one() {
    let of = |reason: &str, created: &str| {
        let object = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1", "creationTimestamp": created },
            "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": reason }, "status": verified_status() });
        let mut seen = deleting(&json!({}), &json!({}));
        seen.snapshots = vec![Arc::new(Snapshot::decode(&object.to_string()).unwrap())];
        done(&plan(&seen, now()))
    };
    let deletes = ["delete PersistentVolumeClaim data-shop-0"];
    assert_eq!(of("Final", "2026-01-01T00:00:00Z"), deletes);
    assert_ne!(of("Final", "2025-12-31T23:59:50Z"), deletes, "created before");
    assert_ne!(of("Manual", "2026-01-01T00:00:01Z"), deletes, "a user's own");
}

/// Otherwise it would be created again and again, under a name that is taken.
#[test]
fn snapshots_with_all_names_of_the_final_one_are_reported() {
    let mut seen = deleting(&json!({ "deletion": { "onSnapshotFailure": "Proceed" } }), &json!({}));
    seen.snapshots = vec![snapshot("shop-final-u1", "Manual", &verified_status())];
    let planned = plan(&seen, now());
    assert_eq!(done(&planned), Vec::<String>::new());
    let status = planned.status.unwrap();
    assert_eq!(reason(&status, "DeletionBlocked").1, "FinalSnapshotFailed");
    let message = &status.contract.condition("DeletionBlocked").unwrap().message;
    assert!(message.contains("delete shop-final-u1 "), "{message}");
}

/// A database that is being deleted, with its server, ready for a long time, and a snapshot that looks like the final one.
fn with_last(spec: &Value, annotations: &Value, status: &Value) -> Observed {
    let object = json!({ "metadata": { "namespace": "n", "name": "shop-final-u1", "uid": "s-1", "annotations": annotations },
        "spec": { "sampleDB": "shop", "sampleDBUID": "u-1", "reason": "Final" }, "status": status });
    let mut seen = deleting(spec, &json!({}));
    seen.snapshots = vec![Arc::new(Snapshot::decode(&object.to_string()).unwrap())];
    let server = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "shop", "ownerReferences": [
        { "apiVersion": "example.com/v1alpha1", "kind": "SampleDB", "name": "shop", "uid": "u-1", "controller": true }] } });
    seen.servers = vec![Arc::new(StatefulSet::decode(&server.to_string()).unwrap())];
    seen.pods = standing(&json!({}), &initialised()).pods;
    seen
}

fn is_retaken(seen: &Observed) -> bool {
    done(&plan(seen, now())) == ["delete SampleDBSnapshot shop-final-u1"]
}

/// Its time and its name match, but clients were not blocked for it.
#[test]
fn a_final_snapshot_of_a_server_that_admits_clients_is_retaken() {
    let deletes_with = |spec: &Value, annotations: &Value, status: &Value, login: LoginCheck| {
        let mut seen = with_last(spec, annotations, status);
        seen.probe = says(|answer| answer.login = login);
        let alone = is_retaken(&seen);
        seen.snapshots.push(snapshot("slow", "Manual", &json!({ "phase": "Running" })));
        assert_eq!(is_retaken(&seen), alone, "next to one that is awaited");
        (should_query_server(&seen), alone)
    };
    let deletes = |annotations: &Value, status: &Value, login| deletes_with(&json!({}), annotations, status, login);
    let online = json!({ kinds::ONLINE: "true" });
    let runs = json!({ "phase": "Running", "startedAt": "2027-01-15T07:59:00Z" });
    assert_eq!(deletes(&online, &runs, LoginCheck::Ok), (true, true));
    assert_eq!(deletes(&online, &json!({}), LoginCheck::BadPassword), (true, true), "not begun yet");
    assert_eq!(deletes(&online, &runs, LoginCheck::Unknown), (true, true), "it was not shut");
    assert_eq!(deletes(&online, &runs, LoginCheck::Blocked), (true, false));
    assert_eq!(deletes(&online, &verified_status(), LoginCheck::Ok), (true, true), "it has been taken too early");
    assert_eq!(deletes(&online, &verified_status(), LoginCheck::Blocked), (true, false));
    for status in [json!({}), runs, verified_status()] {
        assert_eq!(
            deletes(&json!({}), &status, LoginCheck::Ok),
            (false, true),
            "of the volume, next to a server: {status}"
        );
    }
    // The operator waits for the user, who may have allowed connections.
    let failed = json!({ "phase": "Failed", "error": "no space", "startedAt": "2026-01-01T00:00:00Z" });
    let mut incomplete = verified_status();
    incomplete["notCovered"] = json!(["a large object"]);
    for status in [&failed, &incomplete] {
        assert_eq!(deletes(&online, status, LoginCheck::Ok), (false, false), "{status}");
    }
    // Another one may lack more than was accepted of this.
    let mut accepted = with_last(&json!({}), &online, &incomplete);
    let annotations = json!({ api::sample_db::ACCEPT_FINAL_SNAPSHOT: "shop-final-u1" });
    accepted.db =
        with(&deleting_meta(&annotations), &json!({}), &serde_json::to_value(&accepted.db.status).unwrap()).db;
    accepted.probe = says(|answer| answer.login = LoginCheck::Ok);
    assert_eq!(
        (should_query_server(&accepted), done(&plan(&accepted, now()))),
        (false, vec!["delete StatefulSet shop".to_owned()])
    );
    let proceeds = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    for status in [&failed, &incomplete] {
        assert_eq!(
            deletes_with(&proceeds, &online, status, LoginCheck::Ok),
            (true, true),
            "the user does not: {status}"
        );
        assert_eq!(deletes_with(&proceeds, &online, status, LoginCheck::Blocked), (true, false), "{status}");
    }
}

/// Another client may have created it, and clients may write. But a lost node, with the volume, looks the same.
#[test]
fn a_final_snapshot_of_a_server_that_does_not_answer_waits_for_it() {
    let online = json!({ kinds::ONLINE: "true" });
    let proceeds = json!({ "deletion": { "onSnapshotFailure": "Proceed" } });
    let failed = json!({ "phase": "Failed", "error": "it did", "startedAt": "2027-01-15T07:59:00Z" });
    let since = |started: &str, spec: &Value, status: &Value| {
        let mut seen = with_last(spec, &online, status);
        let mut before = serde_json::to_value(&seen.db.status).unwrap();
        before["deletion"]["startedAt"] = json!(started);
        seen.db = with(&deleting_meta(&json!({})), spec, &before).db;
        seen.probe = ServerProbe::Failed("timed out".to_owned());
        seen
    };
    for (spec, status) in [(json!({}), verified_status()), (proceeds, failed)] {
        let young = since("2027-01-15T07:59:30Z", &spec, &status);
        let waits = plan(&young, now());
        assert_eq!(done(&waits), Vec::<String>::new());
        let reported = waits.status.unwrap();
        assert!(reported.deletion.message.as_ref().unwrap().contains("waiting until the server confirms"));
        assert_ne!(reason(&reported, "FinalSnapshot").0, ConditionStatus::True, "it may not count");
        let old = since("2026-01-01T00:00:00Z", &spec, &status);
        let stops = vec!["delete StatefulSet shop".to_owned()];
        assert_eq!(done(&plan(&old, now())), stops);
        let mut shut = young;
        shut.probe = says(|answer| answer.login = LoginCheck::Blocked);
        assert_eq!(done(&plan(&shut, now())), stops);
    }
}

/// Otherwise it would be created without end: the snapshot needs the volume, and the volume the snapshot.
#[test]
fn the_volume_of_the_final_snapshot_is_recreated_whatever_the_spec_names_meanwhile() {
    let spec = json!({ "backup": { "storage": { "existingClaim": "bigger" } } });
    let mut status = initialised();
    status["deletion"] = json!({ "startedAt": "2026-01-01T00:00:00Z" });
    status["storage"]["snapshotClaim"] = json!("shop-snapshots");
    let mut seen = with(&deleting_meta(&json!({})), &spec, &status);
    seen.claims = vec![claim("u-1", "c-1")];
    assert_eq!(done(&plan(&seen, now())), ["apply PersistentVolumeClaim shop-snapshots"]);
}

/// A verified snapshot stays so, whatever the spec says about later ones.
#[test]
fn another_volume_in_the_spec_leaves_the_final_snapshot_where_it_is() {
    let mut seen = deleting(&json!({ "backup": { "storage": { "existingClaim": "bigger" } } }), &json!({}));
    let mut status = verified_status();
    status["location"] = json!({ "claim": "shop-snapshots", "path": "shop-final-u1", "claimUID": "s-1" });
    seen.snapshots = vec![last(&status)];
    assert_eq!(done(&plan(&seen, now())), ["delete PersistentVolumeClaim data-shop-0"]);
}
