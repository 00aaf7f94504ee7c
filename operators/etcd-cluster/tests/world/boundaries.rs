//! The manager dies between any two writes, and answers of etcd are lost at any act: each time, the final state is the same as
//! without that fault.

use runtime::cache::Projection;
use runtime::projections::{Pod, Pvc};
use runtime::testing::fault_injection::{
    self, ActAnswer, AfterStep, InjectedFault, ReconcileFaults, TestSystem, WriteCounts,
};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::{Edit, Step};
use crate::kubelet::seen;
use crate::stories::version;

/// The steps during which the fault is injected.
struct Story {
    name: &'static str,
    spec: Value,
    steps: Vec<Step>,
}

fn stories() -> Vec<Story> {
    let story = |name, spec, steps| Story { name, spec, steps };
    let (size, to) = (|size| Step::Edit(Edit::Size(size)), |text| Step::Edit(Edit::Version(version(text))));
    let delete = json!({ "size": "1Gi", "onDelete": "Delete" });
    let old = "3.3.27";
    vec![
        story("0 to 3", json!({ "size": 3 }), Vec::new()),
        story("1 to 3 to 5", json!({ "size": 1 }), vec![size(3), Step::Calm(40), size(5)]),
        story("5 to 3 to 1", json!({ "size": 5 }), vec![size(3), Step::Calm(20), size(1)]),
        story("5 to 1, volumes go", json!({ "size": 5, "storage": delete }), vec![size(1)]),
        story("an upgrade", json!({ "size": 3, "version": "3.5.35" }), vec![to("3.6.16")]),
        story(
            "an upgrade, and then fewer",
            json!({ "size": 3, "version": "3.5.35" }),
            vec![to("3.6.16"), Step::Calm(4), size(1)],
        ),
        story("a restart", json!({ "size": 3 }), vec![Step::Edit(Edit::Restart(1))]),
        story(
            "a restart without volumes",
            json!({ "size": 3, "storage": { "ephemeral": true } }),
            vec![Step::Edit(Edit::Restart(1))],
        ),
        story("a volume wiped", json!({ "size": 3 }), vec![Step::Spoil { pod: 1, wiped: true }]),
        story("a volume corrupt", json!({ "size": 3, "storage": delete }), vec![Step::Spoil { pod: 0, wiped: false }]),
        story("a pod deleted", json!({ "size": 3 }), vec![Step::Evict(2)]),
        story("a pod and its claim deleted", json!({ "size": 3 }), vec![Step::EvictFully(2)]),
        story(
            "a pod without volume deleted",
            json!({ "size": 3, "storage": { "ephemeral": true } }),
            vec![Step::Evict(0)],
        ),
        story(
            "quorum lost for good",
            json!({ "size": 3, "storage": delete }),
            vec![Step::Ruin { longest: true }, Step::Calm(10), Step::GiveUp],
        ),
        story(
            "quorum lost for good, by policy",
            json!({ "size": 3, "recovery": { "policy": "Automatic", "delaySeconds": 30 } }),
            vec![Step::Ruin { longest: true }, Step::Calm(20)],
        ),
        story("3.3: 1 to 3", json!({ "size": 1, "version": old }), vec![size(3)]),
        story(
            "3.3: a member lost, and 3.4",
            json!({ "size": 3, "version": old }),
            vec![Step::EvictFully(1), to("3.4.40")],
        ),
    ]
}

impl TestSystem for Bench {
    type Step = Step;

    fn copy(&self) -> Self {
        self.fork()
    }

    fn take(&mut self, step: &Step) -> AfterStep {
        match step {
            Step::Calm(rounds) => AfterStep::IdleRounds(*rounds),
            step => {
                self.take(step);
                AfterStep::Next
            }
        }
    }

    fn advance(&mut self) {
        self.tick();
        self.world.deliver_all_events();
    }

    fn reconcile(&mut self, pass: ReconcileFaults) {
        self.pass(pass);
    }

    fn writes(&self) -> WriteCounts {
        WriteCounts { writes: self.world.writes, acts: self.acts }
    }

    fn has_crashed(&self) -> bool {
        self.died
    }

    fn is_settled(&self) -> bool {
        self.at_rest().is_ok()
    }

    fn settle(&mut self) -> Result<(), String> {
        self.settle()
    }

    /// The final state, without the names of members.
    fn final_state(&self) -> Vec<String> {
        let names: Vec<String> = [Pod::KIND, Pvc::KIND]
            .into_iter()
            .flat_map(|kind| self.world.all(kind).map(|(key, _)| key.name.to_string()))
            .collect();
        let anonymous = |text: String| names.iter().fold(text, |text, name| text.replace(name.as_str(), "member"));
        let pod = |(_, pod): (_, &Value)| {
            let mut annotations = pod["metadata"]["annotations"].clone();
            annotations.as_object_mut().map(|all| all.remove("multi-operator.example.com/start"));
            format!("pod {} {annotations}", pod["metadata"]["labels"])
        };
        let claim = |(_, claim): (_, &Value)| {
            let mut labels = claim["metadata"]["labels"].clone();
            let mut varies = vec!["cluster-id", "member-id"];
            // How far a rolling update had progressed when its member was removed.
            if labels["multi-operator.example.com/retired"].is_string() {
                varies.extend(["etcd-version", "proven"]);
            }
            for label in varies {
                labels.as_object_mut().map(|all| all.remove(&format!("multi-operator.example.com/{label}")));
            }
            format!("claim {labels} {}", claim["spec"])
        };
        let others = ["services", "poddisruptionbudgets"];
        let content = self.world.content();
        let others = content.iter().filter(|(key, _)| others.iter().any(|kind| key.starts_with(kind)));
        let conditions = self.status()["conditions"].as_array().cloned().unwrap_or_default();
        let mut all: Vec<String> = self
            .world
            .all(Pod::KIND)
            .map(pod)
            .chain(self.world.all(Pvc::KIND).map(claim))
            .chain(others.map(|(key, object)| format!("{key} {object}")))
            .chain(seen(&self.world).into_iter().map(|pod| format!("image {}", pod.image)))
            .chain(conditions.iter().map(|c| format!("{} {} {}", c["type"], c["status"], c["reason"])))
            .map(anonymous)
            .collect();
        all.sort();
        all
    }

    fn trace(&self) -> String {
        self.story()
    }
}

/// Injects the fault at the [`seed::fault_points`] of each story.
fn everywhere(fate: InjectedFault) {
    for story in stories() {
        let mut bench = Bench::new(&story.spec);
        if !story.steps.is_empty()
            && let Err(why) = bench.settle()
        {
            panic!("{}: {why}\n{}", story.name, bench.story());
        }
        fault_injection::inject(story.name, bench, &story.steps, fate, seed::fault_points!());
    }
}

#[test]
fn the_manager_dies_at_every_boundary() {
    everywhere(InjectedFault::Crash);
}

#[test]
fn an_answer_of_etcd_is_lost_at_every_act() {
    everywhere(InjectedFault::Answer(ActAnswer::Lost));
}

#[test]
fn a_request_to_etcd_is_lost_at_every_act() {
    everywhere(InjectedFault::Answer(ActAnswer::RequestLost));
}
