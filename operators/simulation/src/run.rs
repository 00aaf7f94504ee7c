//! A run: a world, what happens to it, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use manager::ManagerError;
use runtime::clock;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until};

use crate::api_server::SimulatedApiServer;
use crate::api_server::fate::Rates;
use crate::api_server::kinds::Kinds;
use crate::api_server::request::{ApiRequest, Verb};
use crate::api_server::state::StoredState;
use crate::call_faults::CallRates;
use crate::coverage::{self, Reachable};
use crate::happening::Happening;
use crate::objects::NAMESPACE;
use crate::operands::SimulatedOperands;
use crate::process::{ManagerCommand, supervise};
use crate::random::Random;
use crate::scenario::Scenario;
use crate::schedule::Step;
use crate::story::Story;
use crate::user::UserAct;
use crate::{actors, content, oracle};

/// The namespace of the managers and their Lease.
pub const MANAGERS_NAMESPACE: &str = "operators";
/// The kinds that are written while all is well.
const ALWAYS_WRITTEN: [&str; 2] = ["leases", "events"];
/// A world in which nothing else was written for this time has converged: longer than any delay of the manager.
const SILENCE: Duration = Duration::from_secs(90);
/// A world has to converge within this time after the last fault.
const DEADLINE: Duration = Duration::from_secs(1800);
/// How often the world looks whether it has converged.
const LOOK: Duration = Duration::from_secs(5);

/// What became of a world.
#[derive(Debug)]
pub struct Outcome {
    /// What happened.
    pub story: Vec<String>,
    /// Which properties were violated, if any.
    pub violations: Vec<String>,
    /// The objects at the end.
    pub content: BTreeMap<String, Value>,
    /// How many requests the managers sent.
    pub requests: usize,
    /// What the managers said and wrote.
    pub reached: BTreeSet<Reachable>,
}

/// How much of a run its story has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What happened to the world, and all writes.
    #[default]
    Writes,
    /// All requests of the managers too.
    Requests,
}

/// Runs a world, to which these steps happen.
///
/// # Errors
/// Tokio's runtime cannot be built, or the world has no such namespace or flag.
pub fn run(scenario: &Scenario, steps: &[Step], seed: u64, detail: Detail) -> Result<Outcome, ManagerError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let mut random = Random::new(seed);
        let mut numbers = random.fork();
        let _clock = clock::simulated::begin(begin(), move || numbers.number());
        let world = World::start(scenario, random)?;
        if detail == Detail::Requests {
            world.server.record_requests();
        }
        world.play(steps).await
    })
}

/// When every world begins: 2026-01-01.
fn begin() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap_or_default()
}

struct World<'a> {
    scenario: &'a Scenario,
    server: SimulatedApiServer,
    operands: SimulatedOperands,
    story: Story,
    managers: Vec<Manager>,
    begun: Instant,
}

struct Manager {
    commands: mpsc::UnboundedSender<ManagerCommand>,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl<'a> World<'a> {
    fn start(scenario: &'a Scenario, mut random: Random) -> Result<Self, ManagerError> {
        let story = Story::begin();
        let server = SimulatedApiServer::new(StoredState::new(Kinds::all()), random.fork());
        for namespace in ["default", MANAGERS_NAMESPACE, NAMESPACE] {
            create(&server, "namespaces", json!({ "metadata": { "name": namespace } }))?;
        }
        create(&server, "storageclasses", default_class())?;
        // Theirs is a sequence beside those that are forked here: worlds of other scenarios stay as they were.
        let operands = SimulatedOperands::new(Random::new(random.clone().number().rotate_left(32)));
        for actor in actors::all(operands.programs()).into_iter().chain(operands.actors()) {
            spawn_local(actors::run(actor, server.clone(), random.fork()));
        }
        let flags: Arc<[String]> = [
            format!("--controllers={}", scenario.controllers),
            format!("--lease-namespace={MANAGERS_NAMESPACE}"),
            "--agent-image=localhost/agent:1".to_owned(),
        ]
        .into();
        let managers = (0..2).map(|index| Manager::start(index, &flags, &server, &operands, &story)).collect();
        Ok(Self { scenario, server, operands, story, managers, begun: Instant::now() })
    }

    /// Lets the steps happen, then waits until the world has converged.
    async fn play(self, steps: &[Step]) -> Result<Outcome, ManagerError> {
        let (acts, users) = mpsc::unbounded_channel();
        let users = spawn_local(act(users, self.server.clone(), self.story.clone()));
        for step in steps {
            sleep_until(self.begun + step.at).await;
            match &step.what {
                Happening::User(act) => acts.send(act.clone())?,
                fault => self.strike(fault),
            }
        }
        drop(acts);
        let mut violations = users.await?;
        self.server.faults(|faults| faults.rates = Rates::NONE);
        self.operands.set_rates(&CallRates::NONE);
        let settled = self.settle().await;
        violations.extend(settled.err());
        violations.extend(self.server.read(|state| oracle::violations(state, self.scenario)));
        violations.extend(self.server.read(|state| self.operands.violations(state)));
        let (writes, content) = self.server.read(|state| (oracle::writes(state), content::of(state, self.scenario)));
        for (seconds, who, what) in writes {
            self.story.tell_at(seconds, &who, what);
        }
        for request in self.server.recorded() {
            self.story.tell_at(request.now.duration_since(begin()).as_secs_f64(), &request.user, request.what);
        }
        let reached = self.server.read(coverage::reached);
        let (requests, story) = (self.server.requests(), self.story.lines());
        violations.extend(self.dead_managers().await);
        Ok(Outcome { story, violations, content, requests, reached })
    }

    fn strike(&self, fault: &Happening) {
        match fault {
            Happening::User(_) => {}
            Happening::Manager(index, command) => {
                // A manager whose task has ended is reported at the end.
                let _ = self.managers.get(*index).map(|manager| manager.commands.send(*command));
            }
            Happening::Away(time) => {
                self.story.tell("API server", format!("is away for {time:?}"));
                let until = Instant::now() + *time;
                self.server.faults(|faults| faults.away_until = Some(until));
            }
            Happening::Storm(rates, time) => {
                self.story.tell("network", format!("fails for {time:?}: {rates:?}"));
                let rates = rates.clone();
                self.server.faults(|faults| faults.rates = rates);
                let (server, time) = (self.server.clone(), *time);
                spawn_local(async move {
                    sleep(time).await;
                    server.faults(|faults| faults.rates = Rates::NONE);
                });
            }
            Happening::OperandStorm(rates, time) => {
                self.story.tell("network", format!("fails for {time:?} before operands: {rates:?}"));
                self.operands.set_rates(rates);
                let (operands, time) = (self.operands.clone(), *time);
                spawn_local(async move {
                    sleep(time).await;
                    operands.set_rates(&CallRates::NONE);
                });
            }
            Happening::KillOperand(number) => {
                if let Some(server) = self.operands.kill(*number) {
                    self.story.tell("node", format!("kills {server}"));
                }
            }
            Happening::Compaction => {
                self.story.tell("API server", "forgets earlier changes");
                self.server.edit(StoredState::compact);
            }
            Happening::CutWatches => {
                self.story.tell("network", "cuts all watches");
                self.server.cut_watches();
            }
        }
    }

    /// Waits until nothing is written any more. While managers do not reach the API server, silence says nothing.
    async fn settle(&self) -> Result<(), String> {
        if let Some(away_until) = self.server.faults(|faults| faults.away_until) {
            sleep_until(away_until).await;
        }
        let since = Instant::now();
        loop {
            let last = self.server.read(|state| oracle::last_write(state, &ALWAYS_WRITTEN)).unwrap_or_else(begin);
            let silent = clock::now().duration_since(last);
            if since.elapsed() >= SILENCE && silent >= SILENCE.try_into().unwrap_or_default() {
                return Ok(());
            }
            if since.elapsed() > DEADLINE {
                return Err(format!("did not converge within {DEADLINE:?} after the last fault"));
            }
            sleep(LOOK).await;
        }
    }

    /// How managers ended that were not asked to end.
    async fn dead_managers(self) -> Vec<String> {
        let mut dead = Vec::new();
        for (index, manager) in self.managers.into_iter().enumerate() {
            if manager.task.is_finished() {
                let why = match manager.task.await {
                    Ok(Ok(())) => "without an error".to_owned(),
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                };
                dead.push(format!("manager-{index} ended: {why}"));
            }
        }
        dead
    }
}

impl Manager {
    fn start(
        index: usize,
        flags: &Arc<[String]>,
        server: &SimulatedApiServer,
        operands: &SimulatedOperands,
        story: &Story,
    ) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let name = format!("manager-{index}");
        let (server, operands) = (server.clone(), operands.clone());
        let task = spawn_local(supervise(name, flags.clone(), server, operands, receiver, story.clone()));
        Self { commands, task }
    }
}

/// Users act one after the other: an act may have to wait until an object is gone.
async fn act(mut acts: mpsc::UnboundedReceiver<UserAct>, server: SimulatedApiServer, story: Story) -> Vec<String> {
    let mut failures = Vec::new();
    while let Some(act) = acts.recv().await {
        match act.perform(&server).await {
            Ok(done) => story.tell("user", done),
            Err(why) => failures.push(format!("a user's act was refused: {why}")),
        }
    }
    failures
}

/// The StorageClass of PVCs that name none.
fn default_class() -> Value {
    let annotations = json!({ "storageclass.kubernetes.io/is-default-class": "true" });
    json!({ "metadata": { "name": "standard", "annotations": annotations }, "provisioner": "example.com/disk" })
}

/// Creates an object that is in no namespace.
fn create(server: &SimulatedApiServer, plural: &str, mut body: Value) -> Result<(), ManagerError> {
    let found = server.read(|state| {
        let id = state.kinds().plural(plural)?;
        state.kinds().get(id).map(|kind| (id, kind.api_version(), kind.kind.clone()))
    });
    let (kind, api_version, name) = found.ok_or("the model lacks a kind of every world")?;
    (body["apiVersion"], body["kind"]) = (json!(api_version), json!(name));
    let request = ApiRequest {
        user: "user".to_owned(),
        kind,
        namespace: None,
        name: None,
        subresource: None,
        verb: Verb::Create { body, strict: false },
        manager: "kubectl".to_owned(),
        metadata_only: false,
        sent: None,
    };
    server.perform(&request).map(drop).map_err(|error| error.message.into())
}
