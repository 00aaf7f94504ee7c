use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::super::super::Actor;
use super::super::super::testing::{self, NAMESPACE};
use super::super::{Kubelet, Scheduler};
use super::*;
use crate::api_server::request::DeleteOptions;
use crate::api_server::service::SimulatedApiServer;

type Script = (BTreeMap<String, ProgramState>, Vec<String>);

/// Programs that are in the state that a test gives them, by the container; others run and are ready.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Script>>);

impl Scripted {
    fn set(&self, container: &str, state: ProgramState) {
        self.0.lock().unwrap().0.insert(container.to_owned(), state);
    }

    fn stopped_by(&self) -> Vec<String> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Programs for Scripted {
    fn knows(&self, _: &Value) -> bool {
        true
    }

    fn start(&mut self, run: &ContainerRun<'_>) -> ProgramState {
        self.state(run)
    }

    fn state(&mut self, run: &ContainerRun<'_>) -> ProgramState {
        let state = self.0.lock().unwrap().0.get(text(&run.container["name"])).cloned();
        state.unwrap_or(ProgramState::Running { ready: true })
    }

    fn stop(&mut self, run: &ContainerRun<'_>, user: &str) {
        self.0.lock().unwrap().1.push(format!("{} by {user}", run.image));
    }

    fn forget(&mut self, _: &str) {}

    fn is_steady(&self) -> bool {
        false
    }
}

struct Bench {
    server: SimulatedApiServer,
    actors: Vec<Box<dyn Actor>>,
    programs: Scripted,
    now: Timestamp,
}

fn bench(policy: &str) -> Bench {
    let (server, programs) = (testing::server(), Scripted::default());
    let actors: Vec<Box<dyn Actor>> =
        vec![Box::new(Scheduler::default()), Box::new(Kubelet::with(vec![Box::new(programs.clone())]))];
    let spec = json!({
        "restartPolicy": policy,
        "initContainers": [{ "name": "wait", "image": "agent:1" }],
        "containers": [{ "name": "app", "image": "app:v1", "readinessProbe": { "tcpSocket": { "port": 80 } } }],
    });
    testing::create(&server, "pods", json!({ "metadata": { "name": "a", "namespace": NAMESPACE }, "spec": spec }));
    programs.set("wait", ProgramState::Running { ready: false });
    Bench { server, actors, programs, now: runtime::clock::now() }
}

impl Bench {
    fn pass(&mut self, seconds: u64) {
        let mut random = Random::new(1);
        for _ in 0..seconds * 5 {
            self.now = testing::later(self.now, Duration::from_millis(200));
            for actor in &mut self.actors {
                actor.step(&self.server, self.now, &mut random);
            }
        }
    }

    fn at(&self, path: &str) -> Value {
        let pod = testing::get(&self.server, "pods", "a").unwrap();
        pod.pointer(&format!("/status/{path}")).cloned().unwrap_or_default()
    }
}

#[test]
fn a_container_starts_once_its_init_container_has_succeeded() {
    let mut bench = bench("Always");
    bench.pass(20);
    assert_eq!(bench.at("phase"), "Pending");
    assert!(bench.at("initContainerStatuses/0/state/running").is_object());
    assert_eq!(bench.at("containerStatuses/0/state/waiting/reason"), "PodInitializing");
    bench.programs.set("wait", ProgramState::failed(3, "its data is missing"));
    bench.pass(1);
    assert_eq!(bench.at("initContainerStatuses/0/state/terminated/message"), "its data is missing");
    assert_eq!(bench.at("initContainerStatuses/0/state/terminated/exitCode"), 3);
    bench.pass(2);
    bench.programs.set("wait", ProgramState::succeeded("{}"));
    bench.pass(40);
    assert_eq!(bench.at("initContainerStatuses/0/state/terminated/message"), "{}");
    assert_eq!(bench.at("phase"), "Running");
    assert_eq!(bench.at("containerStatuses/0/ready"), true);
    bench.programs.set("app", ProgramState::Running { ready: false });
    bench.pass(1);
    assert_eq!(bench.at("containerStatuses/0/ready"), false);
}

#[test]
fn a_changed_image_restarts_the_container_and_names_who_changed_it() {
    let mut bench = bench("Always");
    bench.programs.set("wait", ProgramState::succeeded(""));
    bench.pass(20);
    assert_eq!(bench.at("containerStatuses/0/image"), "app:v1");
    let patch = json!([{ "name": "app", "image": "app:v2", "readinessProbe": { "tcpSocket": { "port": 80 } } }]);
    let mut changed = Value::clone(&testing::get(&bench.server, "pods", "a").unwrap());
    changed["spec"]["containers"][0]["image"] = patch[0]["image"].clone();
    testing::merge(&bench.server, "pods", "a", json!({ "spec": { "containers": changed["spec"]["containers"] } }));
    bench.pass(20);
    assert_eq!(bench.at("containerStatuses/0/image"), "app:v2");
    assert_eq!(bench.at("containerStatuses/0/restartCount"), 1);
    assert_eq!(bench.at("containerStatuses/0/lastState/terminated/exitCode"), 0);
    assert_eq!(bench.at("containerStatuses/0/ready"), true);
    assert_eq!(bench.programs.stopped_by(), ["app:v1 by user"]);
    let pod = testing::get(&bench.server, "pods", "a").unwrap();
    testing::delete(&bench.server, "pods", &pod, DeleteOptions::default());
    bench.pass(10);
    assert_eq!(testing::get(&bench.server, "pods", "a"), None);
    assert_eq!(bench.programs.stopped_by()[1], "app:v2 by user");
}

#[test]
fn a_failing_container_is_restarted_ever_later() {
    let mut bench = bench("Always");
    bench.programs.set("wait", ProgramState::succeeded(""));
    bench.programs.set("app", ProgramState::failed(2, "panic"));
    bench.pass(10);
    assert_eq!(bench.at("containerStatuses/0/state/waiting/reason"), "CrashLoopBackOff");
    assert_eq!(bench.at("containerStatuses/0/lastState/terminated/message"), "panic");
    let restarts = bench.at("containerStatuses/0/restartCount");
    bench.pass(100);
    let later = bench.at("containerStatuses/0/restartCount");
    assert!(later.as_i64() > restarts.as_i64() && later.as_i64() < Some(8), "{restarts} {later}");
}

#[test]
fn a_pod_that_is_never_restarted_ends_and_what_the_model_lacks_is_noted() {
    for (code, phase) in [(0, "Succeeded"), (1, "Failed")] {
        let mut bench = bench("Never");
        bench.programs.set("wait", ProgramState::succeeded(""));
        bench.programs.set("app", ProgramState::failed(code, ""));
        bench.pass(20);
        assert_eq!((bench.at("phase"), bench.at("containerStatuses/0/restartCount")), (json!(phase), json!(0)));
        assert_eq!(bench.server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
    }
    let mut bench = bench("Never");
    bench.programs.set("wait", ProgramState::Unmodelled("the program x".to_owned()));
    bench.pass(20);
    let noted = bench.server.read(|state| state.unmodelled().to_vec());
    assert_eq!(noted, ["pod test/a: container wait: the program x"]);
}
