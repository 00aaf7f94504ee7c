use super::*;

fn settle(spec: Value, then: impl FnOnce(&SimulatedApiServer)) -> (SimulatedApiServer, Option<Value>) {
    let server = testing::server();
    testing::create(&server, "jobs", job(spec));
    let mut actors = super::super::super::all(Vec::new());
    let now = testing::settle(&server, &mut actors, runtime::clock::now());
    then(&server);
    testing::settle(&server, &mut actors, now);
    assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
    let status = testing::get(&server, "jobs", "j").map(|job| job["status"].clone());
    (server, status)
}

fn crashing() -> Value {
    json!({ "restartPolicy": "Never", "containers": [{ "name": "work", "image": "crash:1" }] })
}

#[test]
fn a_job_completes_and_is_deleted_with_its_pods() {
    let (server, status) = settle(json!({}), |_| {});
    assert!(conditions::is_true(&status.unwrap(), "Complete"));
    let pod = testing::list(&server, "pods").remove(0);
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
    assert!(conditions::has_reason(&pod["status"], "Ready", "PodCompleted"));
    let (server, status) = settle(json!({ "ttlSecondsAfterFinished": 30 }), |_| {});
    assert_eq!((status, testing::list(&server, "pods").len()), (None, 0));
}

#[test]
fn a_job_whose_container_crashes_fails() {
    let template = json!({ "metadata": { "labels": { "app": "j" } }, "spec": crashing() });
    let (server, status) = settle(json!({ "backoffLimit": 2, "template": template }), |_| {});
    let status = status.unwrap();
    assert!(conditions::has_reason(&status, "Failed", "BackoffLimitExceeded"));
    assert_eq!((testing::list(&server, "pods").len(), &status["failed"]), (3, &json!(3)));
    let mut in_place = template;
    in_place["spec"]["restartPolicy"] = json!("OnFailure");
    let (server, status) = settle(json!({ "backoffLimit": 2, "template": in_place }), |_| {});
    assert!(conditions::has_reason(&status.unwrap(), "Failed", "BackoffLimitExceeded"));
    assert_eq!(testing::list(&server, "pods").len(), 0, "the running pod was deleted, and nothing holds it");
}

#[test]
fn running_pods_of_a_job_end_when_they_are_deleted() {
    let server = testing::server();
    let mut actors = super::super::super::all(Vec::new());
    // An image that does not exist: the container never starts by itself.
    let template = json!({ "metadata": { "labels": { "app": "j" } }, "spec": {
        "restartPolicy": "Never", "containers": [{ "name": "work", "image": "nope:1" }] } });
    let spec = json!({ "activeDeadlineSeconds": 100, "podFailurePolicy": policy(), "template": template });
    testing::create(&server, "jobs", job(spec));
    testing::settle(&server, &mut actors, runtime::clock::now());
    let status = testing::get(&server, "jobs", "j").unwrap()["status"].clone();
    assert!(conditions::has_reason(&status, "Failed", "DeadlineExceeded"), "{status}");
    assert_eq!((testing::list(&server, "pods").len(), &status["terminating"]), (0, &json!(0)));
    assert_eq!(status["failed"], 1);
}

#[test]
fn a_pod_without_a_node_ends_when_it_is_deleted() {
    let template = json!({ "metadata": { "labels": { "app": "j" } }, "spec": {
        "restartPolicy": "Never", "nodeSelector": { "disk": "none" },
        "containers": [{ "name": "work", "image": "work:1" }] } });
    let spec = json!({ "backoffLimit": 0, "podFailurePolicy": policy(), "template": template });
    let (_, status) = settle(spec, |server| {
        let pod = testing::list(server, "pods").remove(0);
        testing::delete(server, "pods", &pod, DeleteOptions::default());
    });
    assert!(conditions::has_reason(&status.unwrap(), "Failed", "BackoffLimitExceeded"));
}
