use super::super::testing::{self, NAMESPACE, later};
use super::super::{Actor, conditions, object};
use super::set::{DESIRED, REVISION};
use super::*;
use crate::api_server::request::{DeleteOptions, Propagation};

const NOW: &str = "2026-01-01T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A Deployment as the API server stores it.
fn deployment(replicas: i64, strategy: &Value) -> Value {
    let mut deployment = testing::deployment("a", replicas);
    deployment["metadata"]["uid"] = json!("d");
    deployment["metadata"]["generation"] = json!(1);
    deployment["spec"]["strategy"] = strategy.clone();
    deployment["spec"]["progressDeadlineSeconds"] = json!(600);
    deployment["spec"]["revisionHistoryLimit"] = json!(1);
    deployment
}

fn rolling(surge: &Value, unavailable: &Value) -> Value {
    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } })
}

/// A ReplicaSet of the Deployment, created in that second: of that image and size, of which so many are available.
fn set(second: u8, image: &str, replicas: i64, available: i64) -> Value {
    let mut template = testing::deployment("a", 0)["spec"]["template"].clone();
    template["spec"]["containers"][0]["image"] = json!(image);
    template["metadata"]["labels"]["pod-template-hash"] = json!(image);
    json!({
        "metadata": {
            "name": format!("a-{second}"), "namespace": NAMESPACE, "uid": format!("r{second}"), "generation": 1,
            "creationTimestamp": format!("2026-01-01T00:00:0{second}Z"),
            "annotations": { REVISION: second.to_string(), DESIRED: "4" },
        },
        "spec": { "replicas": replicas, "template": template },
        "status": { "observedGeneration": 1, "replicas": replicas, "readyReplicas": available, "availableReplicas": available },
    })
}

fn rollout<'a>(deployment: &Value, sets: &[Value], pods: &'a [Arc<Value>]) -> Rollout<'a> {
    let sets = sets.iter().cloned().map(Arc::new).collect();
    Rollout::new(Arc::new(deployment.clone()), sets, pods, now())
}

/// The sizes of the ReplicaSets after a step, and the status.
fn synced(deployment: &Value, sets: &[Value]) -> (Vec<i64>, Value) {
    let mut rollout = rollout(deployment, sets, &[]);
    rollout.sync();
    (rollout.sets.iter().map(Set::replicas).collect(), rollout.deployment["status"].clone())
}

fn sizes(deployment: &Value, sets: &[Value]) -> Vec<i64> {
    synced(deployment, sets).0
}

#[test]
fn shares_round_in_favor_of_availability() {
    assert_eq!(resolve(&json!("25%"), 10, true), 3);
    assert_eq!(resolve(&json!("25%"), 10, false), 2);
    assert_eq!(resolve(&json!(4), 10, false), 4);
    let pace = |strategy: &Value, replicas| rollout(&deployment(replicas, strategy), &[], &[]).pace();
    assert_eq!(pace(&rolling(&json!(0), &json!("10%")), 4), (0, 1), "something must be replaceable");
    assert_eq!(pace(&rolling(&json!(1), &json!(9)), 4), (1, 4));
    assert_eq!(pace(&json!({ "type": "Recreate" }), 4), (0, 0));
}

#[test]
fn the_first_replica_set_is_created_with_all_pods() {
    let mut rollout = rollout(&deployment(4, &rolling(&json!(1), &json!(0))), &[], &[]);
    rollout.sync();
    let created = rollout.new_set().unwrap();
    assert!(created.is_created());
    assert_eq!((created.replicas(), created.revision(), created.desired(), created.most()), (4, 1, Some(4), Some(5)));
    let hash = created.value["metadata"]["labels"]["pod-template-hash"].clone();
    assert!(hash.is_string());
    assert_eq!(created.value["spec"]["selector"]["matchLabels"], json!({ "app": "a", "pod-template-hash": hash }));
    assert_eq!(created.value["spec"]["template"]["metadata"]["labels"]["pod-template-hash"], hash);
    let status = &rollout.deployment["status"];
    assert!(conditions::has_reason(status, "Progressing", "NewReplicaSetCreated"));
    assert!(conditions::has_reason(status, "Available", "MinimumReplicasUnavailable"));
    assert_eq!((number(&status["observedGeneration"]), number(&status["unavailableReplicas"])), (1, 4));
    assert_eq!(object::annotation(&rollout.deployment, REVISION), "1");
    assert_eq!(rollout.again, Some(Duration::from_secs(601)));
}

#[test]
fn a_rolling_update_keeps_within_surge_and_availability() {
    let surge = deployment(4, &rolling(&json!(1), &json!(0)));
    assert_eq!(sizes(&surge, &[set(1, "app:0", 4, 4)]), [4, 1], "one pod more");
    assert_eq!(
        sizes(&surge, &[set(1, "app:0", 4, 4), set(2, "app:1", 1, 0)]),
        [4, 1],
        "the new one is not available yet"
    );
    assert_eq!(sizes(&surge, &[set(1, "app:0", 4, 4), set(2, "app:1", 1, 1)]), [3, 1]);
    assert_eq!(sizes(&surge, &[set(1, "app:0", 3, 3), set(2, "app:1", 1, 1)]), [3, 2]);
    let less = deployment(4, &rolling(&json!(0), &json!(1)));
    assert_eq!(sizes(&less, &[set(1, "app:0", 4, 4)]), [3, 0], "one pod less");
    assert_eq!(sizes(&less, &[set(1, "app:0", 3, 3), set(2, "app:1", 0, 0)]), [3, 1]);
    assert_eq!(
        sizes(&less, &[set(1, "app:0", 3, 1), set(2, "app:1", 1, 1)]),
        [2, 1],
        "pods that are not available go first"
    );
}

#[test]
fn a_recreation_waits_for_the_end_of_all_old_pods() {
    let recreated = deployment(4, &json!({ "type": "Recreate" }));
    assert_eq!(sizes(&recreated, &[set(1, "app:0", 4, 4)]), [0]);
    let mut empty = set(1, "app:0", 0, 0);
    assert_eq!(sizes(&recreated, &[empty.clone()]), [0, 4]);
    let owner = json!([{ "uid": "r1", "controller": true }]);
    let pod =
        json!({ "metadata": { "namespace": NAMESPACE, "ownerReferences": owner }, "status": { "phase": "Running" } });
    let pods = [Arc::new(pod)];
    let mut waits = rollout(&recreated, &[empty.clone()], &pods);
    waits.sync();
    assert_eq!(waits.sets.len(), 1, "a pod is still terminating");
    empty["status"]["replicas"] = json!(1);
    assert_eq!(sizes(&recreated, &[empty]), [0]);
}

#[test]
fn a_change_of_replicas_is_distributed_over_the_replica_sets() {
    let strategy = rolling(&json!(0), &json!(1));
    let mut former = [set(1, "app:0", 3, 3), set(2, "app:1", 1, 1)];
    for one in &mut former {
        one["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] = json!("4");
    }
    assert_eq!(sizes(&deployment(8, &strategy), &former), [6, 2]);
    assert_eq!(sizes(&deployment(0, &strategy), &former), [0, 0]);
    assert_eq!(sizes(&deployment(7, &strategy), &[set(1, "app:1", 4, 4)]), [7]);
    let mut paused = deployment(7, &strategy);
    paused["spec"]["paused"] = json!(true);
    let (paused_sizes, status) = synced(&paused, &[set(1, "app:0", 4, 4)]);
    assert_eq!(paused_sizes, [7], "a paused one is scaled, but gets no new ReplicaSet");
    assert!(conditions::has_reason(&status, "Progressing", "DeploymentPaused"));
    paused["spec"]["paused"] = json!(false);
    paused["status"] = status;
    assert!(conditions::has_reason(&synced(&paused, &[set(1, "app:1", 7, 7)]).1, "Progressing", "DeploymentResumed"));
}

#[test]
fn progress_is_reported_until_the_rollout_is_complete_or_late() {
    let mut rolled = deployment(4, &rolling(&json!(1), &json!(0)));
    rolled["status"] = synced(&rolled, &[]).1;
    let (_, status) = synced(&rolled, &[set(1, "app:1", 4, 2)]);
    assert!(conditions::has_reason(&status, "Progressing", "ReplicaSetUpdated"));
    assert_eq!(conditions::find(&status, "Progressing").unwrap()["message"], "ReplicaSet \"a-1\" is progressing.");
    rolled["status"] = status.clone();
    assert_eq!(synced(&rolled, &[set(1, "app:1", 4, 2)]).1, status, "nothing happened");
    let mut late = rollout(&rolled, &[set(1, "app:1", 4, 2)], &[]);
    late.now = later(now(), Duration::from_secs(601));
    late.sync();
    let condition = conditions::find(&late.deployment["status"], "Progressing").unwrap();
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("ProgressDeadlineExceeded")));
    assert_eq!((&condition["lastTransitionTime"], late.again), (&json!("2026-01-01T00:10:01Z"), None));
    let (_, status) = synced(&rolled, &[set(1, "app:1", 4, 4)]);
    assert!(conditions::has_reason(&status, "Progressing", "NewReplicaSetAvailable"));
    assert!(conditions::is_true(&status, "Available"));
    rolled["status"] = status;
    let (_, status) = synced(&rolled, &[set(1, "app:1", 4, 2)]);
    assert!(conditions::has_reason(&status, "Progressing", "NewReplicaSetAvailable"), "lost pods are no rollout");
}

#[test]
fn the_failure_of_a_replica_set_becomes_one_of_the_deployment() {
    let mut failing = set(1, "app:1", 4, 0);
    failing["status"]["conditions"] = json!([{
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota", "lastTransitionTime": NOW,
    }]);
    let mut failed = deployment(4, &rolling(&json!(1), &json!(0)));
    failed["status"] = synced(&failed, &[failing]).1;
    let condition = conditions::find(&failed["status"], "ReplicaFailure").unwrap();
    assert_eq!((&condition["message"], &condition["lastUpdateTime"]), (&json!("quota"), &json!(NOW)));
    assert!(conditions::find(&synced(&failed, &[set(1, "app:1", 4, 0)]).1, "ReplicaFailure").is_none());
}

#[test]
fn a_template_of_before_has_its_replica_set_again_and_a_later_revision() {
    let mut rollout =
        rollout(&deployment(4, &rolling(&json!(1), &json!(0))), &[set(1, "app:1", 0, 0), set(2, "app:2", 4, 4)], &[]);
    rollout.sync();
    let new = rollout.new_set().unwrap();
    assert_eq!((object::name(&new.value), new.revision(), new.replicas()), ("a-1", 3, 1));
    assert_eq!(object::annotation(&new.value, "deployment.kubernetes.io/revision-history"), "1");
    assert_eq!(object::annotation(&rollout.deployment, REVISION), "3");
}

#[test]
fn the_oldest_empty_replica_sets_beyond_the_limit_are_deleted() {
    let mut complete = deployment(4, &rolling(&json!(1), &json!(0)));
    let sets = [set(1, "app:8", 0, 0), set(2, "app:9", 0, 0), set(3, "app:1", 4, 4)];
    complete["status"] = synced(&complete, &sets).1;
    let mut rollout = rollout(&complete, &sets, &[]);
    rollout.sync();
    assert_eq!(rollout.sets.iter().map(|set| set.deleted).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn a_deployment_rolls_out_and_its_orphans_are_adopted() {
    let server = testing::server();
    let mut actors: Vec<Box<dyn Actor>> = super::super::all(Vec::new());
    testing::create(&server, "deployments", testing::deployment("a", 3));
    let now = testing::settle(&server, &mut actors, runtime::clock::now());
    let rolled = || testing::get(&server, "deployments", "a").unwrap();
    assert_eq!(number(&rolled()["status"]["availableReplicas"]), 3);
    assert!(conditions::has_reason(&rolled()["status"], "Progressing", "NewReplicaSetAvailable"));
    assert_eq!(object::annotation(&rolled(), REVISION), "1");
    let containers = json!([{ "name": "app", "image": "app:2" }]);
    testing::merge(
        &server,
        "deployments",
        "a",
        json!({ "spec": { "template": { "spec": { "containers": containers } } } }),
    );
    let now = testing::settle(&server, &mut actors, now);
    let images = || -> Vec<Value> {
        let pods = testing::list(&server, "pods");
        pods.iter().map(|pod| pod["spec"]["containers"][0]["image"].clone()).collect()
    };
    assert_eq!(images(), ["app:2", "app:2", "app:2"]);
    assert_eq!(number(&rolled()["status"]["updatedReplicas"]), 3);
    let orphan = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
    testing::delete(&server, "deployments", &rolled(), orphan);
    let now = testing::settle(&server, &mut actors, now);
    let pods = testing::list(&server, "pods");
    assert_eq!(pods.len(), 3);
    let mut again = testing::deployment("a", 3);
    again["spec"]["template"]["spec"]["containers"] = containers;
    testing::create(&server, "deployments", again);
    testing::settle(&server, &mut actors, now);
    assert_eq!(testing::list(&server, "pods").len(), 3);
    let uids = |pods: &[Arc<Value>]| pods.iter().map(|pod| object::uid(pod).to_owned()).collect::<Vec<_>>();
    assert_eq!(uids(&testing::list(&server, "pods")), uids(&pods), "no pod was replaced");
    assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
}
