//! Fault injection: runs a scenario once, and again with a fault at each of the points where one is possible. Each run must have
//! the same result.

use std::slice::Iter;

/// A simulated cluster with a manager.
pub trait TestSystem: Sized {
    /// A step of a scenario.
    type Step;

    /// A copy of the system in its present state.
    fn copy(&self) -> Self;
    /// Takes a step.
    fn take(&mut self, step: &Self::Step) -> AfterStep;
    /// Advances everything except for the manager, and delivers all events to its stores.
    fn advance(&mut self);
    /// Runs one reconcile of the manager with these faults.
    fn reconcile(&mut self, faults: ReconcileFaults);
    /// The number of writes and acts so far.
    fn writes(&self) -> WriteCounts;
    /// Whether the manager crashed in the last reconcile.
    fn has_crashed(&self) -> bool;
    /// Whether the desired state is reached.
    fn is_settled(&self) -> bool;
    /// Advances until the desired state is reached and stays.
    ///
    /// # Errors
    /// Why it is not reached, or which invariant was violated.
    fn settle(&mut self) -> Result<(), String>;
    /// The part of the final state that must be the same with and without a fault.
    fn final_state(&self) -> Vec<String>;
    /// What happened, as a text.
    fn trace(&self) -> String;
}

/// What follows a step.
#[derive(Clone, Copy, Debug)]
pub enum AfterStep {
    /// The next step, at once.
    Next,
    /// This number of rounds without a step.
    IdleRounds(u8),
    /// Rounds without a step until the system is settled.
    UntilSettled,
}

/// What happens to the answer to an act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActAnswer {
    /// It arrives.
    #[default]
    Delivered,
    /// The act is performed, and the answer is lost.
    Lost,
    /// The request is lost, so the act is not performed.
    RequestLost,
}

/// The faults of one reconcile.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReconcileFaults {
    /// After how many writes the manager crashes.
    pub crash_after: Option<usize>,
    /// What happens to the answers to its acts.
    pub act_answer: ActAnswer,
    /// Whether it does not wait until its stores have received its own writes.
    pub stale_caches: bool,
}

/// A fault that is injected wherever it is possible.
#[derive(Clone, Copy, Debug)]
pub enum InjectedFault {
    /// The manager crashes after each write.
    Crash,
    /// This happens to the answer to each act.
    Answer(ActAnswer),
}

/// Numbers of writes and acts.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteCounts {
    /// Writes to the API server.
    pub writes: usize,
    /// Acts on live systems.
    pub acts: usize,
}

/// A scenario under way.
struct ScenarioRun<'a, S: TestSystem> {
    system: S,
    steps: Iter<'a, S::Step>,
    /// The number of remaining rounds without a step.
    idle_rounds: u8,
    /// Whether no step is taken until the system is settled.
    settling: bool,
}

impl<S: TestSystem> ScenarioRun<'_, S> {
    /// A copy in the present state.
    fn copy(&self) -> Self {
        Self { system: self.system.copy(), steps: self.steps.clone(), ..*self }
    }

    /// Advances to the next reconcile of the manager.
    fn advance(&mut self) {
        while self.idle_rounds == 0
            && !self.settling
            && let Some(step) = self.steps.next()
        {
            match self.system.take(step) {
                AfterStep::Next => {}
                AfterStep::IdleRounds(rounds) => self.idle_rounds = rounds,
                AfterStep::UntilSettled => self.settling = true,
            }
        }
        if self.idle_rounds > 0 {
            self.idle_rounds -= 1;
        } else if self.settling {
            self.settling = !self.system.is_settled();
        }
        self.system.advance();
    }

    /// Whether all steps have been taken.
    fn is_complete(&self) -> bool {
        self.steps.len() == 0 && self.idle_rounds == 0 && !self.settling
    }

    /// Runs one reconcile without faults. Returns its numbers of writes and acts.
    fn reconcile(&mut self) -> WriteCounts {
        let before = self.system.writes();
        self.system.reconcile(ReconcileFaults::default());
        let after = self.system.writes();
        WriteCounts { writes: after.writes - before.writes, acts: after.acts - before.acts }
    }

    /// Runs the rest without faults.
    fn end(mut self, what: &str) -> S {
        for _ in 0..MAX_ROUNDS {
            if self.is_complete() {
                break;
            }
            self.advance();
            self.reconcile();
        }
        if let Err(why) = self.system.settle() {
            panic!("{what}: {why}\n{}", self.system.trace());
        }
        self.system
    }

    /// A copy that runs the next reconcile with these faults.
    fn branch(&self, faults: ReconcileFaults) -> Self {
        let mut branch = self.copy();
        branch.system.reconcile(faults);
        branch
    }
}

impl InjectedFault {
    /// The possible faults of a reconcile that has these numbers of writes and acts without any.
    fn of(self, counts: WriteCounts) -> Vec<ReconcileFaults> {
        match self {
            Self::Crash => {
                let crash = |after| ReconcileFaults { crash_after: Some(after), ..ReconcileFaults::default() };
                (0..counts.writes).map(crash).collect()
            }
            Self::Answer(answer) if counts.acts > 0 => {
                vec![ReconcileFaults { act_answer: answer, ..ReconcileFaults::default() }]
            }
            Self::Answer(_) => Vec::new(),
        }
    }
}

/// The maximum number of rounds of a scenario.
const MAX_ROUNDS: usize = 2000;
/// For how many rounds in a row the system must be settled at the end: an undelivered event may still change it.
const SETTLED_ROUNDS: usize = 3;

/// Injects the fault at the chosen ones of the points of the scenario that starts with `system` and has these steps.
///
/// # Panics
/// If a run with a fault does not settle, or has another result.
pub fn inject<S: TestSystem>(
    name: &str,
    system: S,
    steps: &[S::Step],
    fault: InjectedFault,
    is_chosen: impl Fn(usize) -> bool,
) {
    let begun = ScenarioRun { system, steps: steps.iter(), idle_rounds: 0, settling: false };
    let (mut run, mut reconciles, mut settled) = (begun.copy(), Vec::new(), 0);
    for _ in 0..MAX_ROUNDS {
        run.advance();
        reconciles.push(run.reconcile());
        settled = if run.is_complete() && run.system.is_settled() { settled + 1 } else { 0 };
        if settled >= SETTLED_ROUNDS {
            break;
        }
    }
    let expected = run.end(name).final_state();
    let (mut run, mut points) = (begun, 0..);
    for counts in reconciles {
        run.advance();
        for (faults, point) in fault.of(counts).into_iter().zip(&mut points).filter(|(_, point)| is_chosen(*point)) {
            let branch = run.branch(faults);
            let what = format!("{name}, point {point}");
            assert!(branch.system.has_crashed() || matches!(fault, InjectedFault::Answer(_)), "{what}: no crash");
            let end = branch.end(&what);
            assert_eq!(end.final_state(), expected, "{what}\n{}", end.trace());
        }
        run.reconcile();
    }
    println!("{name}: {} points", points.start);
}
