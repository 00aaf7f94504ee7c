use super::*;

fn with_claims(replicas: i64, policy: Value) -> Value {
    let mut set = stateful_set(replicas);
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": { "name": "data", "labels": { "disk": "fast" } },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    }]);
    set["spec"]["persistentVolumeClaimRetentionPolicy"] = policy;
    set["spec"]["podManagementPolicy"] = json!("Parallel");
    set
}

fn claim(world: &World, name: &str) -> Arc<Value> {
    testing::get(&world.server, "persistentvolumeclaims", name).unwrap()
}

fn owners(world: &World, claim_name: &str) -> Vec<String> {
    let claim = claim(world, claim_name);
    let owners = object::items(&claim["metadata"]["ownerReferences"]).iter();
    owners.map(|owner| object::text(&owner["kind"]).to_owned()).collect()
}

#[test]
fn each_pod_has_pvcs_of_its_own_that_stay() {
    let mut world = World::new(with_claims(2, json!({})));
    let data = claim(&world, "data-a-1");
    assert_eq!(data["metadata"]["labels"], json!({ "app": "a", "disk": "fast" }));
    assert_eq!(data["spec"]["resources"]["requests"]["storage"], "1Gi");
    let mounted = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data-a-1" } }]);
    assert_eq!(world.pod("a-1").unwrap()["spec"]["volumes"], mounted);
    world.change(json!({ "spec": { "replicas": 0 } }));
    assert_eq!(testing::list(&world.server, "persistentvolumeclaims").len(), 2);
    assert_eq!(owners(&world, "data-a-1"), Vec::<String>::new());
    world.change(json!({ "spec": { "replicas": 2 } }));
    assert_eq!(uid(&claim(&world, "data-a-1")), uid(&data), "the pod gets its PVC again");
}

#[test]
fn pvcs_are_owned_by_what_they_are_deleted_with() {
    let mut world = World::new(with_claims(2, json!({ "whenDeleted": "Delete", "whenScaled": "Delete" })));
    assert_eq!(owners(&world, "data-a-1"), ["StatefulSet"]);
    let pod = world.pod("a-1").unwrap();
    world.change(json!({ "spec": { "replicas": 1 } }));
    assert_eq!([owners(&world, "data-a-0"), owners(&world, "data-a-1")], [["StatefulSet"], ["Pod"]]);
    assert_eq!(claim(&world, "data-a-1")["metadata"]["ownerReferences"][0]["uid"], uid(&pod));
    // The garbage collector has yet to delete it.
    assert_eq!(world.change(json!({ "spec": { "replicas": 2 } })), Some(RETRY));
    assert_eq!(world.pod("a-1"), None);
}

#[test]
fn a_pvc_of_another_controller_keeps_its_owner() {
    let mut world = World::new(with_claims(1, json!({})));
    let other = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": true }]);
    testing::merge(
        &world.server,
        "persistentvolumeclaims",
        "data-a-0",
        json!({ "metadata": { "ownerReferences": other } }),
    );
    world.change(json!({ "spec": { "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Delete" } } }));
    assert_eq!(owners(&world, "data-a-0"), ["ConfigMap"]);
}

#[test]
fn a_missing_pvc_of_a_pending_pod_is_created_and_one_that_is_deleted_is_waited_for() {
    let mut world = World::new(with_claims(1, json!({})));
    let present = claim(&world, "data-a-0");
    testing::delete(&world.server, "persistentvolumeclaims", &present, DeleteOptions::default());
    world.step();
    assert_ne!(uid(&claim(&world, "data-a-0")), uid(&present));
    let held = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    testing::merge(&world.server, "persistentvolumeclaims", "data-a-0", held);
    testing::delete(&world.server, "persistentvolumeclaims", &claim(&world, "data-a-0"), DeleteOptions::default());
    assert_eq!(world.delete("a-0"), Some(RETRY));
    assert_eq!(world.pod("a-0"), None);
}
