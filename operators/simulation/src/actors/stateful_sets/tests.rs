use serde_json::json;

use super::super::testing;
use super::super::{conditions, object};
use super::*;
use crate::api_server::request::DeleteOptions;

mod pods;
mod storage;
mod updates;

/// A StatefulSet of one container.
fn stateful_set(replicas: i64) -> Value {
    let mut set = testing::deployment("a", replicas);
    set["spec"]["serviceName"] = json!("peers");
    set
}

/// A world in which only the StatefulSet controller acts, and the test.
struct World {
    server: SimulatedApiServer,
    controller: StatefulSetController,
    now: Timestamp,
}

impl World {
    fn new(set: Value) -> Self {
        let server = testing::server();
        testing::create(&server, "statefulsets", set);
        let mut world =
            Self { server, controller: StatefulSetController::default(), now: "2026-01-01T00:00:00Z".parse().unwrap() };
        world.step();
        world
    }

    /// Steps until the controller changes nothing.
    fn step(&mut self) -> Option<Duration> {
        for _ in 0..20 {
            let before = self.server.read(crate::api_server::state::StoredState::version);
            let again = self.controller.step(&self.server, self.now, &mut Random::new(1));
            if self.server.read(crate::api_server::state::StoredState::version) == before {
                return again;
            }
        }
        panic!("the controller never comes to rest");
    }

    fn set(&self) -> Arc<Value> {
        testing::get(&self.server, "statefulsets", "a").unwrap()
    }

    fn change(&mut self, patch: Value) -> Option<Duration> {
        testing::merge(&self.server, "statefulsets", "a", patch);
        self.step()
    }

    fn pod(&self, name: &str) -> Option<Arc<Value>> {
        testing::get(&self.server, "pods", name)
    }

    /// The pods with their images.
    fn pods(&self) -> Vec<String> {
        let pods = testing::list(&self.server, "pods");
        let image = |pod: &Value| object::text(&pod["spec"]["containers"][0]["image"]).to_owned();
        pods.iter().map(|pod| format!("{} {}", name(pod), image(pod))).collect()
    }

    /// Reports the phase of a pod, and whether it is ready.
    fn report(&mut self, pod: &str, phase: &str, ready: &str) -> Option<Duration> {
        let client = Client::new(&self.server, "kubelet");
        let mut live = Value::clone(&self.pod(pod).unwrap());
        let condition = json!({ "type": "Ready", "status": ready, "lastTransitionTime": object::time(self.now) });
        live["status"]["phase"] = json!(phase);
        live["status"]["conditions"] = json!([condition]);
        client.update_status(client.kind("pods").unwrap(), live).unwrap();
        self.step()
    }

    fn ready(&mut self, pod: &str) -> Option<Duration> {
        self.report(pod, "Running", "True")
    }

    fn delete(&mut self, pod: &str) -> Option<Duration> {
        testing::delete(&self.server, "pods", &self.pod(pod).unwrap(), DeleteOptions::default());
        self.step()
    }

    fn status(&self, field: &str) -> Value {
        self.set()["status"][field].clone()
    }
}

#[test]
fn what_the_model_lacks_is_noted_once() {
    let mut set = stateful_set(1);
    set["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "maxUnavailable": 2 } });
    let mut world = World::new(set);
    world.ready("a-0");
    assert_eq!(world.server.read(|state| state.unmodelled().len()), 1);
}

#[test]
fn a_set_runs_beside_all_other_actors() {
    let server = testing::server();
    testing::create(&server, "statefulsets", stateful_set(3));
    let mut actors = super::super::all(Vec::new());
    let now = testing::settle(&server, &mut actors, runtime::clock::now());
    let status = testing::get(&server, "statefulsets", "a").unwrap()["status"].clone();
    assert_eq!([&status["readyReplicas"], &status["updatedReplicas"]], [3, 3]);
    let set = testing::get(&server, "statefulsets", "a").unwrap();
    testing::delete(&server, "statefulsets", &set, DeleteOptions::default());
    testing::settle(&server, &mut actors, now);
    let left = ["pods", "controllerrevisions", "statefulsets"].map(|plural| testing::list(&server, plural).len());
    assert_eq!(left, [0, 0, 0]);
    assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
}
