use serde_json::json;

use super::super::object::items;
use super::super::testing::{self, NAMESPACE};
use super::super::{conditions, object};
use super::*;
use crate::api_server::request::DeleteOptions;
use crate::api_server::state::StoredState;

mod beside_others;
mod ends;

/// A Job of one container.
fn job(spec: Value) -> Value {
    let mut job = json!({
        "metadata": { "name": "j", "namespace": NAMESPACE },
        "spec": { "template": {
            "metadata": { "labels": { "app": "j" } },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "work", "image": "work:1" }] },
        } },
    });
    for (field, value) in spec.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    job
}

/// The policy of Jobs of this project.
fn policy() -> Value {
    json!({ "rules": [
        { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
        { "action": "FailJob", "onExitCodes": { "containerName": "work", "operator": "In", "values": [3] } },
    ] })
}

/// A world in which only the Job controller acts, and the test.
struct World {
    server: SimulatedApiServer,
    controller: JobController,
    now: Timestamp,
}

impl World {
    fn new(spec: Value) -> Self {
        let server = testing::server();
        testing::create(&server, "jobs", job(spec));
        let mut world =
            Self { server, controller: JobController::default(), now: "2026-01-01T00:00:00Z".parse().unwrap() };
        world.step();
        world
    }

    /// Steps until the controller changes nothing.
    fn step(&mut self) -> Option<Duration> {
        for _ in 0..20 {
            let before = self.server.read(StoredState::version);
            let again = self.controller.step(&self.server, self.now, &mut Random::new(1));
            if self.server.read(StoredState::version) == before {
                return again;
            }
        }
        panic!("the controller never comes to rest");
    }

    fn wait(&mut self, seconds: u64) -> Option<Duration> {
        self.now = testing::later(self.now, Duration::from_secs(seconds));
        self.step()
    }

    fn job(&self) -> Arc<Value> {
        testing::get(&self.server, "jobs", "j").unwrap()
    }

    fn status(&self) -> Value {
        self.job()["status"].clone()
    }

    /// The pods that work, or will.
    fn active(&self) -> Vec<Arc<Value>> {
        testing::list(&self.server, "pods").into_iter().filter(|pod| member::is_active(pod)).collect()
    }

    fn edit(&mut self, pod: &Value, edit: impl FnOnce(&mut Value)) -> Option<Duration> {
        let client = Client::new(&self.server, "kubelet");
        let mut live = Value::clone(&testing::get(&self.server, "pods", name(pod)).unwrap());
        edit(&mut live["status"]);
        client.update_status(client.kind("pods").unwrap(), live).unwrap();
        self.step()
    }

    /// Ends the only active pod with that code.
    fn end(&mut self, code: i64) -> Option<Duration> {
        let pod = self.active().remove(0);
        let terminated = json!({ "exitCode": code, "finishedAt": object::time(self.now) });
        self.edit(&pod, |status| {
            status["phase"] = json!(if code == 0 { "Succeeded" } else { "Failed" });
            status["containerStatuses"] = json!([{ "name": "work", "state": { "terminated": terminated } }]);
        })
    }

    /// The types of the conditions, in their order.
    fn conditions(&self) -> Vec<String> {
        let status = self.status();
        items(&status["conditions"]).iter().map(|one| text(&one["type"]).to_owned()).collect()
    }
}

#[test]
fn a_pod_has_the_labels_of_its_job_and_the_finalizer() {
    let world = World::new(json!({}));
    let pod = world.active().remove(0);
    assert!(name(&pod).starts_with("j-"));
    assert_eq!(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"], "j");
    assert_eq!(pod["metadata"]["labels"]["app"], "j");
    assert_eq!(pod["metadata"]["finalizers"], json!([member::TRACKING]));
    assert_eq!(controller(&pod).map(|owner| &owner["uid"]), Some(&world.job()["metadata"]["uid"]));
    let expected = json!({
        "startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {},
    });
    assert_eq!(world.status(), expected);
}

#[test]
fn ready_pods_are_counted() {
    let mut world = World::new(json!({}));
    let pod = world.active().remove(0);
    world.edit(&pod, |status| status["conditions"] = json!([{ "type": "Ready", "status": "True" }]));
    assert_eq!(world.status()["ready"], 1);
}

#[test]
fn as_many_pods_work_as_may_and_are_needed() {
    let mut world = World::new(json!({ "parallelism": 2, "completions": 3 }));
    assert_eq!(world.active().len(), 2);
    world.end(0);
    assert_eq!((world.active().len(), &world.status()["succeeded"]), (2, &json!(1)));
    world.end(0);
    assert_eq!(world.active().len(), 1);
    testing::merge(&world.server, "jobs", "j", json!({ "spec": { "parallelism": 0 } }));
    world.step();
    assert_eq!(world.active().len(), 0);
}

#[test]
fn what_the_model_lacks_is_noted_once() {
    let mut world = World::new(json!({ "suspend": true }));
    world.step();
    let noted = world.server.read(|state| state.unmodelled().to_vec());
    assert_eq!(noted, ["Job test/j: suspend"]);
}

#[test]
fn a_pod_whose_job_is_gone_loses_the_finalizer() {
    let mut world = World::new(json!({}));
    testing::delete(&world.server, "jobs", &world.job(), DeleteOptions::default());
    world.step();
    let pods = testing::list(&world.server, "pods");
    assert_eq!(pods.iter().filter(|pod| has_finalizer(pod, member::TRACKING)).count(), 0);
}

#[test]
fn rules_match_containers_codes_and_conditions_in_their_order() {
    let consequence = |code: i64, container: &str, condition: &str| {
        let pod = json!({
            "metadata": { "name": "p", "namespace": "n" },
            "status": {
                "conditions": [{ "type": condition, "status": "True" }],
                "initContainerStatuses": [{ "name": container, "state": { "terminated": { "exitCode": code } } }],
            },
        });
        failure_policy::of(&job(json!({ "podFailurePolicy": policy() })), &pod)
    };
    use failure_policy::Consequence::{Counts, FailsJob, Ignored};
    let message = "Container work for pod n/p failed with exit code 3 matching FailJob rule at index 1";
    assert_eq!(consequence(3, "work", "Ready"), FailsJob(message.to_owned()));
    assert_eq!(consequence(3, "work", "DisruptionTarget"), Ignored);
    assert_eq!([consequence(4, "work", "Ready"), consequence(3, "install", "Ready")], [Counts, Counts]);
    let rule = json!({ "rules": [{ "action": "FailJob", "onExitCodes": { "operator": "NotIn", "values": [3] } }] });
    let pod = |code: i64| json!({ "status": { "containerStatuses": [{ "name": "x", "state": { "terminated": { "exitCode": code } } }] } });
    let of = |code: i64| failure_policy::of(&job(json!({ "podFailurePolicy": rule })), &pod(code));
    assert_eq!([of(3), of(0)], [Counts, Counts], "an exit code of 0 is no failure");
    assert!(matches!(of(4), FailsJob(_)));
}
