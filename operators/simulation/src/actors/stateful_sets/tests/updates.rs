use super::*;

fn image(image: &str) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "app", "image": image }] } } } })
}

/// A set whose pods are all ready.
fn running(set: Value, count: usize) -> World {
    let mut world = World::new(set);
    for ordinal in 0..count {
        world.ready(&format!("a-{ordinal}"));
    }
    world
}

fn revisions(world: &World) -> Vec<(i64, Value)> {
    let all = testing::list(&world.server, "controllerrevisions");
    let image = |one: &Value| one["data"]["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let mut found: Vec<_> = all.iter().map(|one| (object::number(&one["revision"]), image(one))).collect();
    found.sort_by_key(|(number, _)| *number);
    found
}

#[test]
fn pods_are_updated_from_the_last_to_the_first() {
    let mut world = running(stateful_set(2), 2);
    let first = world.status("currentRevision");
    world.change(image("app:2"));
    assert_eq!(world.pods(), ["a-0 app:1", "a-1 app:2"]);
    assert_eq!(world.status("currentRevision"), first);
    assert_eq!([world.status("currentReplicas"), world.status("updatedReplicas")], [json!(1), json!(1)]);
    world.ready("a-1");
    assert_eq!(world.pods(), ["a-0 app:2", "a-1 app:2"]);
    world.ready("a-0");
    assert_ne!(world.status("currentRevision"), first);
    assert_eq!(world.status("currentRevision"), world.status("updateRevision"));
    assert_eq!([world.status("currentReplicas"), world.status("updatedReplicas")], [json!(2), json!(2)]);
}

#[test]
fn pods_below_the_partition_keep_their_revision_even_if_they_are_created_again() {
    let mut set = stateful_set(2);
    set["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "partition": 1 } });
    let mut world = running(set, 2);
    world.change(image("app:2"));
    world.ready("a-1");
    assert_eq!(world.pods(), ["a-0 app:1", "a-1 app:2"]);
    world.delete("a-0");
    assert_eq!(world.pods(), ["a-0 app:1", "a-1 app:2"]);
}

#[test]
fn pods_are_updated_on_their_deletion_only() {
    let mut set = stateful_set(1);
    set["spec"]["updateStrategy"] = json!({ "type": "OnDelete" });
    let mut world = running(set, 1);
    let first = world.status("currentRevision");
    world.change(image("app:2"));
    assert_eq!(world.pods(), ["a-0 app:1"]);
    assert_ne!(world.status("updateRevision"), first);
    world.delete("a-0");
    world.ready("a-0");
    assert_eq!(world.pods(), ["a-0 app:2"]);
    assert_eq!(world.status("currentRevision"), first, "it stays what it was first");
    assert_eq!(world.pod("a-0").unwrap()["metadata"]["labels"][identity::REVISION], world.status("updateRevision"));
}

#[test]
fn a_template_that_returns_has_the_same_revision() {
    let mut set = stateful_set(1);
    set["spec"]["updateStrategy"] = json!({ "type": "OnDelete" });
    let mut world = running(set, 1);
    let first = world.status("updateRevision");
    world.change(image("app:2"));
    assert_eq!(revisions(&world), [(1, json!("app:1")), (2, json!("app:2"))]);
    world.change(image("app:1"));
    assert_eq!(revisions(&world), [(2, json!("app:2")), (3, json!("app:1"))]);
    assert_eq!(world.status("updateRevision"), first);
}

#[test]
fn old_revisions_go_when_there_are_too_many() {
    let mut set = stateful_set(1);
    set["spec"]["revisionHistoryLimit"] = json!(1);
    set["spec"]["updateStrategy"] = json!({ "type": "OnDelete" });
    let mut world = running(set, 1);
    for number in 2..6 {
        world.change(image(&format!("app:{number}")));
    }
    // The first is that of the pod, and the last that of the template.
    assert_eq!(revisions(&world), [(1, json!("app:1")), (4, json!("app:4")), (5, json!("app:5"))]);
}

#[test]
fn a_pod_that_never_gets_ready_blocks_the_update_in_order() {
    let mut world = running(stateful_set(1), 1);
    world.change(image("app:2"));
    world.report("a-0", "Running", "False");
    world.change(image("app:3"));
    assert_eq!(world.pods(), ["a-0 app:2"], "as in the real one, a user must delete it");
    world.delete("a-0");
    assert_eq!(world.pods(), ["a-0 app:3"]);
}
