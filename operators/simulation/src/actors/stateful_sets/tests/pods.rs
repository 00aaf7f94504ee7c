use super::*;

#[test]
fn a_pod_has_a_stable_name_and_labels() {
    let world = World::new(stateful_set(1));
    let pod = world.pod("a-0").unwrap();
    let revision = world.status("updateRevision");
    let expected = json!({
        "app": "a", "statefulset.kubernetes.io/pod-name": "a-0", "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision,
    });
    assert_eq!(pod["metadata"]["labels"], expected);
    assert_eq!([&pod["spec"]["hostname"], &pod["spec"]["subdomain"]], ["a-0", "peers"]);
    assert_eq!(object::controller(&pod).map(|owner| &owner["uid"]), Some(&world.set()["metadata"]["uid"]));
}

#[test]
fn only_names_of_the_set_have_an_ordinal() {
    let set = json!({ "metadata": { "name": "a", "namespace": "n" } });
    let ordinal = |name: &str| identity::ordinal(&set, &json!({ "metadata": { "name": name, "namespace": "n" } }));
    assert_eq!([ordinal("a-0"), ordinal("a-12")], [Some(0), Some(12)]);
    assert_eq!(["a", "a-", "a-x", "a--1", "a-+1", "b-0", "a-b-0"].map(ordinal), [None; 7]);
    assert_eq!(identity::ordinal(&set, &json!({ "metadata": { "name": "a-0", "namespace": "other" } })), None);
}

#[test]
fn each_pod_waits_for_the_one_before_it() {
    let mut world = World::new(stateful_set(3));
    assert_eq!(world.pods(), ["a-0 app:1"]);
    world.report("a-0", "Running", "False");
    assert_eq!(world.pods().len(), 1);
    world.ready("a-0");
    assert_eq!(world.pods(), ["a-0 app:1", "a-1 app:1"]);
    world.ready("a-1");
    world.ready("a-2");
    let counts = ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"];
    assert_eq!(counts.map(|field| world.status(field)), [3, 3, 3, 3, 3].map(Value::from));
    assert_eq!([world.status("observedGeneration"), world.status("collisionCount")], [json!(1), json!(0)]);
}

#[test]
fn the_pods_of_a_parallel_set_wait_for_none() {
    let mut set = stateful_set(3);
    set["spec"]["podManagementPolicy"] = json!("Parallel");
    set["spec"]["ordinals"] = json!({ "start": 5 });
    let mut world = World::new(set);
    assert_eq!(world.pods(), ["a-5 app:1", "a-6 app:1", "a-7 app:1"]);
    world.change(json!({ "spec": { "replicas": 1 } }));
    assert_eq!(world.pods(), ["a-5 app:1"]);
}

#[test]
fn a_pod_counts_as_available_after_its_time() {
    let mut set = stateful_set(2);
    set["spec"]["minReadySeconds"] = json!(30);
    let mut world = World::new(set);
    assert_eq!(world.ready("a-0"), Some(Duration::from_secs(30)));
    assert_eq!([world.status("readyReplicas"), world.status("availableReplicas")], [1, 0].map(Value::from));
    assert_eq!(world.pods().len(), 1);
    world.now = testing::later(world.now, Duration::from_secs(30));
    assert_eq!(world.step(), None);
    assert_eq!(world.status("availableReplicas"), 1);
    assert_eq!(world.pods().len(), 2);
}

#[test]
fn the_last_pods_are_deleted_first_and_one_by_one() {
    let mut set = stateful_set(3);
    // The pods stay for a while.
    set["spec"]["template"]["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let mut world = World::new(set);
    for pod in ["a-0", "a-1", "a-2"] {
        world.ready(pod);
    }
    world.change(json!({ "spec": { "replicas": 1 } }));
    let deleting = |world: &World| -> Vec<String> {
        let pods = testing::list(&world.server, "pods");
        pods.iter().filter(|pod| is_deleting(pod)).map(|pod| name(pod).to_owned()).collect()
    };
    assert_eq!(deleting(&world), ["a-2"]);
    testing::merge(&world.server, "pods", "a-2", json!({ "metadata": { "finalizers": null } }));
    // The one that is to go next is not deleted while one that stays is not ready.
    world.report("a-0", "Running", "False");
    assert_eq!(deleting(&world), Vec::<String>::new());
    world.ready("a-0");
    assert_eq!(deleting(&world), ["a-1"]);
}

#[test]
fn the_first_unhealthy_pod_of_those_that_go_is_deleted() {
    let mut world = World::new(stateful_set(2));
    world.ready("a-0");
    world.report("a-1", "Running", "False");
    world.change(json!({ "spec": { "replicas": 1 } }));
    assert_eq!(world.pods(), ["a-0 app:1"]);
}

#[test]
fn a_pod_that_has_ended_is_replaced_by_one_of_the_same_name() {
    for phase in ["Failed", "Succeeded"] {
        let mut world = World::new(stateful_set(1));
        let before = uid(&world.pod("a-0").unwrap()).to_owned();
        world.report("a-0", phase, "False");
        let after = world.pod("a-0").unwrap();
        assert_eq!(after["status"]["phase"], "Pending");
        assert_ne!(uid(&after), before);
    }
}

#[test]
fn a_set_that_is_deleted_creates_nothing() {
    let mut world = World::new(stateful_set(1));
    let options =
        DeleteOptions { propagation: crate::api_server::request::Propagation::Foreground, ..DeleteOptions::default() };
    testing::delete(&world.server, "statefulsets", &world.set(), options);
    world.delete("a-0");
    assert_eq!(world.pods(), Vec::<String>::new());
    assert_eq!(world.status("replicas"), 0);
}

#[test]
fn pods_are_released_and_adopted_by_their_labels() {
    let mut world = World::new(stateful_set(1));
    testing::merge(&world.server, "pods", "a-0", json!({ "metadata": { "labels": { "app": "other" } } }));
    // The name is taken.
    assert_eq!(world.step(), Some(RETRY));
    assert_eq!(object::controller(&world.pod("a-0").unwrap()), None);
    testing::merge(&world.server, "pods", "a-0", json!({ "metadata": { "labels": { "app": "a" } } }));
    assert_eq!(world.step(), None);
    assert!(object::controller(&world.pod("a-0").unwrap()).is_some());
}

#[test]
fn the_label_with_the_name_comes_back_once_the_pod_is_ready() {
    let mut world = World::new(stateful_set(1));
    testing::merge(&world.server, "pods", "a-0", json!({ "metadata": { "labels": { identity::POD_NAME: null } } }));
    world.step();
    let label = |world: &World| world.pod("a-0").unwrap()["metadata"]["labels"][identity::POD_NAME].clone();
    assert_eq!(label(&world), Value::Null);
    world.ready("a-0");
    assert_eq!(label(&world), "a-0");
    assert!(conditions::is_true(&world.pod("a-0").unwrap()["status"], "Ready"));
}
