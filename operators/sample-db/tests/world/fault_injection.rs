//! Scenarios in which a fault is injected at every point.

use runtime::cache::Projection as _;
use runtime::projections::{Pod, Pvc};
use runtime::testing::fault_injection::{self, AfterStep, InjectedFault, ReconcileFaults, TestSystem, WriteCounts};
use sample_db::{SampleDB, Snapshot};
use serde_json::Value;

use crate::faults::Step;
use crate::simulation::Simulation;

/// What happens while the manager crashes or gets no answers.
pub struct Scenario {
    pub name: &'static str,
    pub spec: Value,
    /// The steps before that.
    pub before: Option<Vec<Step>>,
    pub steps: Vec<Step>,
}

impl Scenario {
    /// The simulation at the start of the scenario.
    fn start(&self) -> Simulation {
        let mut sim = Simulation::new(&self.spec);
        let rest = |sim: &mut Simulation| {
            if let Err(why) = sim.come_to_rest() {
                panic!("{}: {why}\n{}", self.name, sim.report());
            }
        };
        if let Some(before) = &self.before {
            rest(&mut sim);
            before.iter().for_each(|step| sim.take(step));
            if !before.is_empty() {
                rest(&mut sim);
            }
        }
        sim
    }
}

impl TestSystem for Simulation {
    type Step = Step;

    fn copy(&self) -> Self {
        self.fork()
    }

    fn take(&mut self, step: &Step) -> AfterStep {
        match step {
            Step::Rounds(rounds) => AfterStep::IdleRounds(*rounds),
            Step::UntilSettled => AfterStep::UntilSettled,
            step => {
                self.take(step);
                AfterStep::Next
            }
        }
    }

    fn advance(&mut self) {
        self.tick();
        self.cluster.deliver_all_events();
    }

    fn reconcile(&mut self, pass: ReconcileFaults) {
        self.reconcile_all(pass);
    }

    fn writes(&self) -> WriteCounts {
        WriteCounts { writes: self.cluster.writes, acts: self.acts }
    }

    fn has_crashed(&self) -> bool {
        self.died
    }

    fn is_settled(&self) -> bool {
        self.at_rest().is_ok()
    }

    fn settle(&mut self) -> Result<(), String> {
        self.come_to_rest()
    }

    fn final_state(&self) -> Vec<String> {
        let mut all = Vec::new();
        for kind in [SampleDB::KIND, Snapshot::KIND] {
            for (_, object) in self.cluster.all(kind) {
                let spec = &object["spec"];
                let reason = if spec["reason"].is_string() { spec["reason"].to_string() } else { String::new() };
                let status = &object["status"];
                for of in status["conditions"].as_array().into_iter().flatten() {
                    all.push(format!("{} {reason} {} {} {}", kind.kind, of["type"], of["status"], of["reason"]));
                }
                all.push(format!(
                    "{} {} {}",
                    status["engine"]["running"], status["upgrade"]["result"], status["storage"]["claim"]
                ));
            }
        }
        all.extend(self.cluster.all(Pvc::KIND).map(|(key, claim)| format!("claim {} {}", key.name, claim["spec"])));
        all.extend(self.cluster.all(Pod::KIND).map(|(key, _)| format!("pod {}", key.name)));
        all.extend(self.infra.secrets.keys().map(|name| format!("Secret {name}")));
        let volumes = self.infra.disks.volumes.values();
        all.extend(volumes.map(|volume| {
            format!("{:?} files {}", volume.data.as_ref().map(|data| data.init_sql_runs), volume.files.len())
        }));
        all.sort();
        all
    }

    fn trace(&self) -> String {
        self.report()
    }
}

/// Injects the fault at the [`seed::fault_points`] of each scenario.
pub fn inject_everywhere(scenarios: Vec<Scenario>, fault: InjectedFault) {
    for scenario in scenarios {
        fault_injection::inject(scenario.name, scenario.start(), &scenario.steps, fault, seed::fault_points!());
    }
}
