//! Runs a story once, and branches off wherever something can befall the manager: each branch ends as the story does.

use runtime::cache::View as _;
use runtime::views::{Claim, Pod};
use sample_db::{SampleDB, Snapshot};
use serde_json::Value;

use crate::asked::Answer;
use crate::bench::{Bench, Pass};
use crate::faults::Step;

/// What is done while the manager dies or is not answered.
pub struct Story {
    pub name: &'static str,
    pub spec: Value,
    /// What is done before that.
    pub before: Option<Vec<Step>>,
    pub steps: Vec<Step>,
}

/// What befalls the manager, wherever it can.
#[derive(Clone, Copy)]
pub enum Fate {
    /// It dies after each write.
    Dies,
    /// So becomes of the answer to each act.
    Act(Answer),
}

/// What the manager did in a pass.
struct Passed {
    writes: usize,
    acts: usize,
}

/// A story on the way to its end.
struct Run<'a> {
    bench: Bench,
    steps: std::slice::Iter<'a, Step>,
    /// For how many rounds nothing is done.
    calm: u8,
    /// Whether nothing is done until all is at rest.
    waits: bool,
}

impl Story {
    /// The world as it is when the story begins.
    fn begun(&self) -> Run<'_> {
        let mut bench = Bench::new(&self.spec);
        if let Some(before) = &self.before {
            expect(&mut bench, self.name);
            before.iter().for_each(|step| bench.take(step));
            if !before.is_empty() {
                expect(&mut bench, self.name);
            }
        }
        Run { bench, steps: self.steps.iter(), calm: 0, waits: false }
    }
}

impl Run<'_> {
    /// The same story, as far as it has come.
    fn fork(&self) -> Self {
        Self { bench: self.bench.fork(), steps: self.steps.clone(), ..*self }
    }

    /// Goes on to the next pass of the manager.
    fn go_on(&mut self) {
        while self.calm == 0
            && !self.waits
            && let Some(step) = self.steps.next()
        {
            match step {
                Step::Calm(rounds) => self.calm = *rounds,
                Step::Rest => self.waits = true,
                step => self.bench.take(step),
            }
        }
        if self.calm > 0 {
            self.calm -= 1;
        } else if self.waits {
            self.waits = self.bench.at_rest().is_err();
        }
        self.bench.tick();
        self.bench.world.deliver_all();
    }

    /// Whether all has been done.
    fn is_over(&self) -> bool {
        self.steps.len() == 0 && self.calm == 0 && !self.waits
    }

    /// Lets the manager pass once, and nothing befalls it: how many writes and acts that were.
    fn pass(&mut self) -> Passed {
        let (writes, acts) = (self.bench.world.writes, self.bench.acts);
        self.bench.pass(Pass::default());
        Passed { writes: self.bench.world.writes - writes, acts: self.bench.acts - acts }
    }

    /// Runs the rest, in which nothing befalls the manager; what there is in the end.
    fn end(mut self, what: &str) -> (Vec<String>, Bench) {
        for _ in 0..LONGEST {
            if self.is_over() {
                break;
            }
            self.go_on();
            self.pass();
        }
        expect(&mut self.bench, what);
        (essence(&self.bench), self.bench)
    }

    /// The stories that branch off here, since that befalls the manager in the pass that comes, in which it would do as much.
    fn branches(&self, fate: Fate, whole: &Passed) -> Vec<Self> {
        let befalls = |pass| {
            let mut branch = self.fork();
            branch.bench.pass(pass);
            branch
        };
        match fate {
            Fate::Dies => {
                (0..whole.writes).map(|lives| befalls(Pass { lives: Some(lives), ..Pass::default() })).collect()
            }
            Fate::Act(answer) if whole.acts > 0 => vec![befalls(Pass { answer, ..Pass::default() })],
            Fate::Act(_) => Vec::new(),
        }
    }
}

/// How many rounds a story has at most.
const LONGEST: usize = 2000;

fn expect(bench: &mut Bench, what: &str) {
    if let Err(why) = bench.come_to_rest() {
        panic!("{what}: {why}\n{}", bench.story());
    }
}

/// What there is in the end.
fn essence(bench: &Bench) -> Vec<String> {
    let mut all = Vec::new();
    for kind in [SampleDB::KIND, Snapshot::KIND] {
        for (_, object) in bench.world.all(kind) {
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
    all.extend(bench.world.all(Claim::KIND).map(|(key, claim)| format!("claim {} {}", key.name, claim["spec"])));
    all.extend(bench.world.all(Pod::KIND).map(|(key, _)| format!("pod {}", key.name)));
    all.extend(bench.site.secrets.keys().map(|name| format!("Secret {name}")));
    let volumes = bench.site.disks.volumes.values();
    all.extend(
        volumes.map(|volume| format!("{:?} files {}", volume.data.as_ref().map(|data| data.ran), volume.files.len())),
    );
    all.sort();
    all
}

/// Has it befall the manager at every point there is.
pub fn everywhere(stories: Vec<Story>, fate: Fate) {
    for story in stories {
        let begun = story.begun();
        let (mut run, mut passes) = (begun.fork(), Vec::new());
        for _ in 0..LONGEST {
            run.go_on();
            passes.push(run.pass());
            if run.is_over() && run.bench.at_rest().is_ok() {
                break;
            }
        }
        let (whole, _) = run.end(story.name);
        let (mut run, mut points) = (begun, 0);
        for pass in passes {
            run.go_on();
            for branch in run.branches(fate, &pass) {
                assert!(branch.bench.died || matches!(fate, Fate::Act(_)), "{}, point {points}: it lives", story.name);
                let what = format!("{}, point {points}", story.name);
                let (end, bench) = branch.end(&what);
                assert_eq!(end, whole, "{what}\n{}", bench.story());
                points += 1;
            }
            run.pass();
        }
        println!("{}: {points} points", story.name);
    }
}
