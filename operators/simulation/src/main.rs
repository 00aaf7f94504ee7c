//! The program `simulate`: runs schedules of scenarios, and shrinks and tells the first one that fails.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use simulation::coverage::Coverage;
use simulation::run::Detail;
use simulation::scenario::{self, Scenario};
use simulation::schedule::Step;
use simulation::seed::{References, judge, schedule, shortest};

/// Runs two managers through random schedules in simulated worlds, and checks what must be true of each.
#[derive(Parser)]
#[command(name = "simulate")]
struct Options {
    /// Scenario to run: sample, my-app, etcd-cluster or sample-db [default: all]
    #[arg(long, value_name = "NAME", value_parser = scenario_of)]
    scenario: Option<&'static Scenario>,

    /// How many seeds each scenario runs with
    #[arg(long, value_name = "N", default_value_t = 100)]
    seeds: u64,

    /// The first seed [default: a random one]
    #[arg(long, value_name = "SEED")]
    from: Option<u64>,

    /// Stops after that time, even if seeds are left
    #[arg(long, value_name = "M")]
    minutes: Option<u64>,

    /// Lists the reasons of conditions and Events, and the permissions to write, that no or hardly any schedule reached
    #[arg(long)]
    coverage: bool,

    /// Tells the story of that seed; needs --scenario
    #[arg(long, value_name = "SEED", requires = "scenario")]
    replay: Option<u64>,

    /// The story has all requests of the managers, not only writes
    #[arg(long)]
    requests: bool,
}

fn scenario_of(name: &str) -> Result<&'static Scenario, String> {
    let names: Vec<&str> = scenario::ALL.iter().map(|scenario| scenario.name).collect();
    scenario::named(name).ok_or_else(|| format!("the scenarios are {}", names.join(", ")))
}

fn main() -> ExitCode {
    let options = Options::parse();
    let scenarios: Vec<&Scenario> = options.scenario.map_or_else(|| scenario::ALL.iter().collect(), |one| vec![one]);
    let passed = match (options.replay, scenarios.first()) {
        (Some(seed), Some(scenario)) => {
            let filter = tracing_subscriber::EnvFilter::new("runtime=trace,manager=info,kube=trace");
            tracing_subscriber::fmt().with_env_filter(filter).without_time().with_writer(std::io::stderr).init();
            let detail = if options.requests { Detail::Requests } else { Detail::Writes };
            tell(scenario, &schedule(scenario, seed), seed, &mut References::default(), detail)
        }
        _ => {
            let from = options.from.unwrap_or_else(|| runtime::clock::random() % 1_000_000_000);
            scenarios.iter().all(|scenario| Batch::new(scenario, from, &options).run())
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the story of a schedule, and tells whether it passes.
fn tell(scenario: &Scenario, steps: &[Step], seed: u64, references: &mut References, detail: Detail) -> bool {
    match judge(scenario, steps, seed, references, detail) {
        Ok(outcome) => {
            outcome.story.iter().for_each(|line| println!("{line}"));
            outcome.violations.iter().for_each(|violation| println!("violated: {violation}"));
            outcome.violations.is_empty()
        }
        Err(error) => {
            println!("the world cannot run: {error}");
            false
        }
    }
}

/// Some seeds of a scenario, which all cores share.
struct Batch<'a> {
    scenario: &'a Scenario,
    from: u64,
    seeds: u64,
    until: Option<Instant>,
    begun: Instant,
    next: AtomicU64,
    done: AtomicU64,
    failed: AtomicBool,
    coverage: Option<Mutex<Coverage>>,
}

impl<'a> Batch<'a> {
    fn new(scenario: &'a Scenario, from: u64, options: &Options) -> Self {
        let begun = Instant::now();
        let until = options.minutes.map(|minutes| begun + Duration::from_secs(60 * minutes));
        let (next, done, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let coverage = options.coverage.then(Mutex::default);
        Self { scenario, from, seeds: options.seeds, until, begun, next, done, failed, coverage }
    }

    /// Runs them, and tells whether all passed.
    fn run(&self) -> bool {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| self.work());
            }
        });
        let (done, seconds) = (self.done.load(Ordering::Relaxed), self.begun.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = done as f64 / seconds;
        let from = self.from;
        println!("{}: {done} schedules from seed {from} in {seconds:.1} s, {rate:.1} a second", self.scenario.name);
        if let Some(coverage) = self.coverage() {
            print!("{}", coverage.report(self.scenario));
        }
        !self.failed.load(Ordering::Relaxed)
    }

    fn work(&self) {
        let mut references = References::default();
        while !self.failed.load(Ordering::Relaxed) && self.until.is_none_or(|until| Instant::now() < until) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.seeds {
                return;
            }
            let seed = self.from.wrapping_add(index);
            let outcome = judge(self.scenario, &schedule(self.scenario, seed), seed, &mut references, Detail::Writes);
            let passed = outcome.is_ok_and(|outcome| {
                if let Some(mut coverage) = self.coverage() {
                    coverage.add(outcome.reached);
                }
                outcome.violations.is_empty()
            });
            if !passed && !self.failed.swap(true, Ordering::Relaxed) {
                self.report(seed, &mut references);
            }
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(200) {
                eprintln!("{}: {done} of {}", self.scenario.name, self.seeds);
            }
        }
    }

    fn coverage(&self) -> Option<MutexGuard<'_, Coverage>> {
        self.coverage.as_ref().map(|coverage| coverage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Prints the shortest schedule that fails as this seed's does.
    fn report(&self, seed: u64, references: &mut References) {
        let all = schedule(self.scenario, seed);
        println!("{} fails with seed {seed}, of {} steps; shrinking", self.scenario.name, all.len());
        let steps = shortest(self.scenario, &all, seed, references);
        for step in &steps {
            println!("step at {:?}: {:?}", step.at, step.what);
        }
        tell(self.scenario, &steps, seed, references, Detail::Requests);
        println!("again, not shrunk: scripts/simulate --scenario {} --replay {seed}", self.scenario.name);
    }
}
