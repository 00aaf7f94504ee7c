use super::*;

fn reason<'a>(status: &'a Value, type_: &str) -> (&'a str, &'a str) {
    let condition = conditions::find_true(status, type_).unwrap();
    (text(&condition["reason"]), text(&condition["message"]))
}

#[test]
fn a_job_is_complete_when_its_pod_has_succeeded() {
    let mut world = World::new(json!({}));
    world.wait(5);
    world.end(0);
    let status = world.status();
    assert_eq!(world.conditions(), ["SuccessCriteriaMet", "Complete"]);
    let why = ("CompletionsReached", "Reached expected number of succeeded pods");
    assert_eq!([reason(&status, "SuccessCriteriaMet"), reason(&status, "Complete")], [why; 2]);
    let times = ["startTime", "completionTime"].map(|field| text(&status[field]));
    assert_eq!(times, ["2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"]);
    assert_eq!([&status["succeeded"], &status["active"]], [&json!(1), &Value::Null]);
    assert_eq!(status["uncountedTerminatedPods"], json!({}));
    let pods = testing::list(&world.server, "pods");
    assert_eq!((pods.len(), &pods[0]["metadata"]["finalizers"]), (1, &Value::Null));
}

#[test]
fn a_pod_is_retried_later_and_later_until_there_are_too_many_failures() {
    let mut world = World::new(json!({ "backoffLimit": 1 }));
    assert_eq!(world.end(1), Some(Duration::from_secs(10)));
    assert_eq!((world.active().len(), world.status()["failed"].clone()), (0, json!(1)));
    assert_eq!(world.wait(9), Some(Duration::from_secs(1)));
    world.wait(1);
    assert_eq!(world.active().len(), 1);
    world.end(1);
    let status = world.status();
    assert_eq!(world.conditions(), ["FailureTarget", "Failed"]);
    assert_eq!(reason(&status, "Failed"), ("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    assert_eq!([&status["failed"], &status["completionTime"]], [&json!(2), &Value::Null]);
}

#[test]
fn an_exit_code_ends_the_job_and_a_disruption_does_not_count() {
    let mut world = World::new(json!({ "backoffLimit": 0, "podFailurePolicy": policy() }));
    let pod = world.active().remove(0);
    world.edit(&pod, |status| {
        status["phase"] = json!("Failed");
        status["conditions"] = json!([{ "type": "DisruptionTarget", "status": "True" }]);
    });
    assert_eq!((world.active().len(), &world.status()["failed"]), (1, &Value::Null));
    world.end(3);
    let status = world.status();
    let (reason, message) = reason(&status, "Failed");
    assert_eq!((reason, &status["failed"]), ("PodFailurePolicy", &json!(1)));
    assert!(message.starts_with("Container work for pod test/j-"), "{message}");
    assert!(message.ends_with(" failed with exit code 3 matching FailJob rule at index 1"), "{message}");
}

#[test]
fn a_job_that_takes_too_long_fails_once_its_pods_have_ended() {
    let mut world = World::new(json!({ "activeDeadlineSeconds": 60, "podFailurePolicy": policy() }));
    assert_eq!(world.wait(20), Some(Duration::from_secs(40)));
    // The pod is held by others too, so it stays.
    let pod = world.active().remove(0);
    let held = json!({ "metadata": { "finalizers": [member::TRACKING, "example.com/hold"] } });
    testing::merge(&world.server, "pods", name(&pod), held);
    world.wait(40);
    assert_eq!(world.conditions(), ["FailureTarget"]);
    let status = world.status();
    assert_eq!(reason(&status, "FailureTarget"), ("DeadlineExceeded", "Job was active longer than specified deadline"));
    assert_eq!([&status["terminating"], &status["failed"]], [&json!(1), &json!(1)]);
    world.edit(&pod, |status| status["phase"] = json!("Failed"));
    assert_eq!(world.conditions(), ["FailureTarget", "Failed"]);
    assert_eq!([&world.status()["terminating"], &world.status()["failed"]], [&json!(0), &json!(1)]);
}

#[test]
fn a_deleted_pod_is_replaced_when_it_has_ended_if_failures_are_told_apart() {
    let mut world = World::new(json!({ "backoffLimit": 3, "podFailurePolicy": policy() }));
    let pod = world.active().remove(0);
    testing::delete(&world.server, "pods", &pod, DeleteOptions::default());
    world.step();
    assert_eq!((world.active().len(), &world.status()["terminating"]), (0, &json!(1)));
    world.edit(&pod, |status| status["phase"] = json!("Failed"));
    world.wait(10);
    assert_eq!((world.active().len(), &world.status()["failed"]), (1, &json!(1)));

    let mut world = World::new(json!({ "backoffLimit": 3 }));
    testing::delete(&world.server, "pods", &world.active()[0], DeleteOptions::default());
    world.step();
    world.wait(10);
    assert_eq!((world.active().len(), &world.status()["failed"]), (1, &json!(1)), "it counts at once");
}

#[test]
fn containers_that_are_restarted_in_place_count_their_restarts() {
    let template = job(json!({}))["spec"]["template"].clone();
    let mut in_place = json!({ "backoffLimit": 2, "template": template });
    in_place["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    let mut world = World::new(in_place);
    let pod = world.active().remove(0);
    let restarted = |count: i64| json!([{ "name": "work", "restartCount": count }]);
    world.edit(&pod, |status| status["containerStatuses"] = restarted(1));
    assert_eq!(world.conditions(), Vec::<String>::new());
    world.edit(&pod, |status| status["containerStatuses"] = restarted(2));
    assert_eq!(world.conditions()[0], "FailureTarget");
}

#[test]
fn a_job_that_has_ended_creates_nothing_any_more() {
    let mut world = World::new(json!({}));
    world.end(0);
    let pod = testing::list(&world.server, "pods").remove(0);
    testing::delete(&world.server, "pods", &pod, DeleteOptions::default());
    assert_eq!(world.wait(100), None);
    assert_eq!(testing::list(&world.server, "pods").len(), 0);
}

#[test]
fn a_job_is_deleted_some_time_after_its_end() {
    let mut world = World::new(json!({ "ttlSecondsAfterFinished": 60 }));
    let step = |world: &World| TtlController.step(&world.server, world.now, &mut Random::new(1));
    assert_eq!(step(&world), None);
    world.end(0);
    assert_eq!(step(&world), Some(Duration::from_secs(60)));
    world.wait(60);
    assert_eq!(step(&world), None);
    assert!(object::is_deleting(&world.job()), "its pods are deleted first");
    assert_eq!(step(&world), None);
}
