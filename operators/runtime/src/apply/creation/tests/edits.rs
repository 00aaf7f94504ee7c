//! Fields of a child that a user has changed, or that the operator no longer sends.

use super::*;

#[tokio::test]
async fn ownership_of_a_creation_is_migrated_before_an_apply_that_sends_less() {
    let server = Server::default();
    let fields = json!({ "f:data": { ".": {}, "f:a": {}, "f:gone": {} } });
    let managed = json!([{ "manager": "multi-operator-test", "operation": "Update", "fieldsV1": fields }]);
    let metadata =
        json!({ "namespace": "n", "name": "a", "uid": "c", "resourceVersion": "5", "managedFields": managed });
    server.put(CHILD, json!({ "metadata": metadata, "data": { "a": "b", "gone": "x" } }));
    let apply = Apply { seen: Some("c".into()), unapplied: true, migrates_ownership: true, ..child() };
    let writer = writer(&server).await;
    write(&writer, apply).await;
    assert_eq!(server.asked(), ["GET a", PATCHED, APPLIED]);

    let repair_apply = Apply { seen: Some("c".into()), unapplied: true, ..child() };
    write(&writer, repair_apply).await;
    assert_eq!(server.asked(), [APPLIED], "what was sent before is restored by one request");
}

/// The child with another value, as the plan observed it.
fn edited(server: &Server) -> Apply {
    let metadata = json!({ "namespace": "n", "name": "a", "uid": "c", "resourceVersion": "5" });
    let live = json!({ "metadata": metadata, "data": { "a": "edited" } });
    server.put(CHILD, live.clone());
    Apply { seen: Some("c".into()), unapplied: true, live: Some(live.to_string().into()), ..child() }
}

#[tokio::test]
async fn a_fully_observed_child_is_restored_by_a_patch_or_by_an_apply_if_the_patch_is_rejected() {
    for (refused, requests) in [(false, &[PATCHED][..]), (true, &[PATCHED, APPLIED])] {
        let server = Server::default();
        let writer = writer(&server).await;
        let apply = edited(&server);
        server.0.lock().unwrap().refuses_patches = refused;
        write(&writer, apply).await;
        assert_eq!(server.asked(), requests);
    }
    let server = Server::default();
    let as_sent = Apply { live: Some(child().body.to_string().into()), ..edited(&server) };
    write(&writer(&server).await, as_sent).await;
    assert_eq!(server.asked(), [APPLIED], "it is as sent, but another manager owns it");
}

/// The Deployment controller writes its status between an edit and our write of many.
#[tokio::test]
async fn unrelated_writes_do_not_block_a_restoring_patch_but_another_edit_does() {
    let independent = json!([{ "op": "add", "path": "/status", "value": { "replicas": 1 } }]);
    let again = json!([{ "op": "replace", "path": "/data/a", "value": "edited again" }]);
    let recreated = json!([{ "op": "replace", "path": "/metadata/uid", "value": "d" }]);
    let given_away = json!([{ "op": "add", "path": "/metadata/ownerReferences", "value": reference() }]);
    let apply = &[PATCHED, APPLIED][..];
    for (change, requests) in [(independent, &[PATCHED][..]), (again, apply), (recreated, apply), (given_away, apply)] {
        let server = Server::default();
        let writer = writer(&server).await;
        let sent = edited(&server);
        let mut changed = patched(&server.0.lock().unwrap().objects[CHILD], &change).unwrap();
        changed["metadata"]["resourceVersion"] = json!("6");
        server.put(CHILD, changed);
        write(&writer, sent).await;
        assert_eq!(server.asked(), requests, "{change}");
        let data = server.0.lock().unwrap().objects[CHILD]["data"].clone();
        assert!(requests == apply || data == json!({ "a": "b" }), "{data}");
    }
}

/// The event of that write triggers nothing, and only the child shows what the patch could not restore.
#[tokio::test]
async fn after_a_patch_the_owner_is_requeued() {
    let server = Server::default();
    let writer = writer(&server).await;
    write(&writer, edited(&server)).await;
    let version = server.0.lock().unwrap().version;
    let event =
        ObjectVersion { kind: ConfigMap::KIND, key: Key::new("n", "a"), version: ResourceVersion::Exact(version) };
    writer.queue.done(&owner().key, 1, &ReconcileResult::Done);
    writer.queue.observe(&owner().key, event, None, Trigger::UnlessOwn);
    assert_eq!(writer.queue.depth(), 1);
}

/// With a quantity that the API server normalizes, only the owner of the field may differ.
#[tokio::test]
async fn a_patch_that_changes_nothing_is_followed_by_an_apply() {
    let server = Server::default();
    let writer = writer(&server).await;
    let apply = edited(&server);
    server.0.lock().unwrap().ignores_patches = true;
    write(&writer, apply).await;
    assert_eq!(server.asked(), [PATCHED, APPLIED]);
}

#[tokio::test]
async fn a_child_that_is_edited_and_then_deleted_is_recreated_without_an_event() {
    for (migrates_ownership, repairs) in [(false, false), (true, false), (false, true)] {
        let server = Server::default();
        let writer = writer(&server).await;
        let live = edited(&server).live.filter(|_| !migrates_ownership && !repairs);
        server.remove(CHILD);
        let error = try_to(&writer, Reported::All, Apply { migrates_ownership, repairs, live, ..edited_away() })
            .await
            .unwrap_err();
        assert_eq!((&*error.reason(), error.stalled(), error.is_expected(0)), ("Conflict", false, true), "{error}");
    }
}

/// The child as a plan observed it before its deletion.
fn edited_away() -> Apply {
    Apply { seen: Some("c".into()), unapplied: true, ..child() }
}

/// A field that is owned by apply is restored by an apply, which counts as well.
#[tokio::test]
async fn occasional_changes_by_another_writer_are_reported() {
    let server = Server::default();
    let writer = writer(&server).await;
    let apply = |value: u32| {
        let mut apply = Apply { seen: Some("c".into()), ..child() };
        apply.body["data"]["a"] = json!(value);
        apply
    };
    for value in 0..11 {
        write(&writer, apply(value)).await;
    }
    assert_eq!(writer.slow_contention(&owner()), None, "each apply was a different one");
    for _ in 0..10 {
        assert_eq!(writer.slow_contention(&owner()), None);
        write(&writer, apply(10)).await;
    }
    assert!(writer.slow_contention(&owner()).is_some());
    write(&writer, apply(11)).await;
    assert_eq!(writer.slow_contention(&owner()), None);
}
