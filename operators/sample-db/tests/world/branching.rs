//! Stories that branch off wherever something can befall the manager.

use runtime::cache::Projection as _;
use runtime::projections::{Claim, Pod};
use runtime::testing::branching::{self, Done, Fate, Pass, Stage, Taken};
use sample_db::{SampleDB, Snapshot};
use serde_json::Value;

use crate::bench::Bench;
use crate::faults::Step;

/// What is done while the manager dies or is not answered.
pub struct Story {
    pub name: &'static str,
    pub spec: Value,
    /// What is done before that.
    pub before: Option<Vec<Step>>,
    pub steps: Vec<Step>,
}

impl Story {
    /// The world as it is when the story begins.
    fn begun(&self) -> Bench {
        let mut bench = Bench::new(&self.spec);
        let rest = |bench: &mut Bench| {
            if let Err(why) = bench.come_to_rest() {
                panic!("{}: {why}\n{}", self.name, bench.story());
            }
        };
        if let Some(before) = &self.before {
            rest(&mut bench);
            before.iter().for_each(|step| bench.take(step));
            if !before.is_empty() {
                rest(&mut bench);
            }
        }
        bench
    }
}

impl Stage for Bench {
    type Step = Step;

    fn fork(&self) -> Self {
        self.fork()
    }

    fn take(&mut self, step: &Step) -> Taken {
        match step {
            Step::Calm(rounds) => Taken::Calm(*rounds),
            Step::Rest => Taken::Rest,
            step => {
                self.take(step);
                Taken::Next
            }
        }
    }

    fn go_on(&mut self) {
        self.tick();
        self.world.deliver_all();
    }

    fn pass(&mut self, pass: Pass) {
        self.pass(pass);
    }

    fn done(&self) -> Done {
        Done { writes: self.world.writes, acts: self.acts }
    }

    fn died(&self) -> bool {
        self.died
    }

    fn is_at_rest(&self) -> bool {
        self.at_rest().is_ok()
    }

    fn come_to_rest(&mut self) -> Result<(), String> {
        self.come_to_rest()
    }

    fn essence(&self) -> Vec<String> {
        let mut all = Vec::new();
        for kind in [SampleDB::KIND, Snapshot::KIND] {
            for (_, object) in self.world.all(kind) {
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
        all.extend(self.world.all(Claim::KIND).map(|(key, claim)| format!("claim {} {}", key.name, claim["spec"])));
        all.extend(self.world.all(Pod::KIND).map(|(key, _)| format!("pod {}", key.name)));
        all.extend(self.site.secrets.keys().map(|name| format!("Secret {name}")));
        let volumes = self.site.disks.volumes.values();
        all.extend(
            volumes
                .map(|volume| format!("{:?} files {}", volume.data.as_ref().map(|data| data.ran), volume.files.len())),
        );
        all.sort();
        all
    }

    fn story(&self) -> String {
        self.story()
    }
}

/// Has it befall the manager at every point there is.
pub fn everywhere(stories: Vec<Story>, fate: Fate) {
    for story in stories {
        branching::everywhere(story.name, story.begun(), &story.steps, fate);
    }
}
