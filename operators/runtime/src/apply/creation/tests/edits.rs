//! What somebody has changed in a child, or has been sent no longer.

use super::*;

#[tokio::test]
async fn what_a_creation_made_is_gathered_before_an_apply_that_sends_less() {
    let server = Server::default();
    let fields = json!({ "f:data": { ".": {}, "f:a": {}, "f:gone": {} } });
    let managed = json!([{ "manager": "multi-operator-test", "operation": "Update", "fieldsV1": fields }]);
    let metadata =
        json!({ "namespace": "n", "name": "a", "uid": "c", "resourceVersion": "5", "managedFields": managed });
    server.put(CHILD, json!({ "metadata": metadata, "data": { "a": "b", "gone": "x" } }));
    let apply = Apply { seen: Some("c".into()), unapplied: true, gathers: true, ..child() };
    let writer = writer(&server).await;
    write(&writer, apply).await;
    assert_eq!(server.asked(), ["GET a", PATCHED, APPLIED]);

    let heal = Apply { seen: Some("c".into()), unapplied: true, ..child() };
    write(&writer, heal).await;
    assert_eq!(server.asked(), [APPLIED], "what was sent before is put back by one request");
}

/// The child with another value, as a plan has seen it.
fn edited(server: &Server) -> Apply {
    let metadata = json!({ "namespace": "n", "name": "a", "uid": "c", "resourceVersion": "5" });
    let live = json!({ "metadata": metadata, "data": { "a": "edited" } });
    server.put(CHILD, live.clone());
    Apply { seen: Some("c".into()), unapplied: true, live: Some(live.to_string().into()), ..child() }
}

#[tokio::test]
async fn what_was_seen_whole_is_put_back_by_a_patch_and_by_an_apply_where_that_is_refused() {
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
    assert_eq!(server.asked(), [APPLIED], "it is as sent, and somebody else's");
}

/// The Deployment controller writes its status between an edit and our write of many.
#[tokio::test]
async fn what_others_write_beside_an_edit_keeps_no_patch_from_putting_it_back_and_another_edit_does() {
    let beside = json!([{ "op": "add", "path": "/status", "value": { "replicas": 1 } }]);
    let again = json!([{ "op": "replace", "path": "/data/a", "value": "edited again" }]);
    let recreated = json!([{ "op": "replace", "path": "/metadata/uid", "value": "d" }]);
    let given_away = json!([{ "op": "add", "path": "/metadata/ownerReferences", "value": reference() }]);
    let apply = &[PATCHED, APPLIED][..];
    for (change, requests) in [(beside, &[PATCHED][..]), (again, apply), (recreated, apply), (given_away, apply)] {
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

/// The event of that write is no news, and what it could not take back shows in the child alone.
#[tokio::test]
async fn after_a_patch_the_child_is_looked_at_again() {
    let server = Server::default();
    let writer = writer(&server).await;
    write(&writer, edited(&server)).await;
    let version = server.0.lock().unwrap().version;
    let event = Version { kind: ConfigMap::KIND, key: Key::new("n", "a"), at: At::Version(version) };
    writer.queue.done(&owner().key, 1, &ReconcileResult::Done);
    writer.queue.observe(&owner().key, event, None, Trigger::UnlessOwn);
    assert_eq!(writer.queue.depth(), 1);
}

/// With a quantity that the API server writes another way, all that differs may be whose the field is.
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
async fn what_is_edited_and_then_deleted_is_made_again_without_a_word_of_it() {
    for (gathers, repairs) in [(false, false), (true, false), (false, true)] {
        let server = Server::default();
        let writer = writer(&server).await;
        let live = edited(&server).live.filter(|_| !gathers && !repairs);
        server.remove(CHILD);
        let error =
            try_to(&writer, Reported::All, Apply { gathers, repairs, live, ..edited_away() }).await.unwrap_err();
        assert_eq!((&*error.reason(), error.stalled(), error.is_expected(0)), ("Conflict", false, true), "{error}");
    }
}

/// The child as a plan has seen it that has not seen its deletion.
fn edited_away() -> Apply {
    Apply { seen: Some("c".into()), unapplied: true, ..child() }
}

/// What is ours by apply is put back by an apply, and counts all the same.
#[tokio::test]
async fn somebody_who_changes_what_was_applied_now_and_then_is_told_of() {
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
    assert_eq!(writer.slow_fight(&owner()), None, "each was another one");
    for _ in 0..10 {
        assert_eq!(writer.slow_fight(&owner()), None);
        write(&writer, apply(10)).await;
    }
    assert!(writer.slow_fight(&owner()).is_some());
    write(&writer, apply(11)).await;
    assert_eq!(writer.slow_fight(&owner()), None);
}
