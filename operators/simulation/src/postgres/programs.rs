//! What runs in the pods of SampleDBs: the agent's commands, one after the other, and the server.

use std::collections::BTreeMap;

use agent_protocol::{Command, FailureMessage, FailureReason};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::commands;
use super::connection::{Unfinished, version};
use super::model::{PostgresServer, PostgresServers};
use crate::actors::pods::program::{ContainerRun, ProgramState, Programs};

/// How long a command takes.
const WORK: SignedDuration = SignedDuration::from_secs(2);
/// How long a command waits for a server that does not answer, or for data that another one uses.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);

/// The model of these programs.
pub(super) struct PostgresPrograms(PostgresServers);

impl PostgresPrograms {
    pub(super) fn new(servers: PostgresServers) -> Self {
        Self(servers)
    }

    /// What a container does; `server`, if it has the server.
    fn run(&self, run: &ContainerRun<'_>, server: fn(&Self, &ContainerRun<'_>) -> ProgramState) -> ProgramState {
        let command = run.command();
        match Command::parse(&command) {
            Ok(Command::Install(_)) => ProgramState::succeeded(""),
            Ok(Command::PgRun(_)) => server(self, run),
            Ok(command) => self.work(run, &command),
            Err(error) => ProgramState::Unmodelled(format!("the command {command:?}: {error}")),
        }
    }

    /// Lets a command that has begun come to its end.
    fn work(&self, run: &ContainerRun<'_>, command: &Command) -> ProgramState {
        let (now, key) = (runtime::clock::now(), key(run));
        let begun = *self.0.lock().commands.entry(key.clone()).or_insert(now);
        let took = now.duration_since(begun);
        if took < WORK {
            return ProgramState::Running { ready: false };
        }
        let state = match commands::perform(&self.0, run, command) {
            Ok(result) => ProgramState::succeeded(result.to_string()),
            Err(Unfinished::Waits(..)) if took < PATIENCE => ProgramState::Running { ready: false },
            Err(Unfinished::Waits(reason, message) | Unfinished::Failed(reason, message)) => failed(reason, message),
            Err(Unfinished::Unmodelled(what)) => ProgramState::Unmodelled(what),
        };
        if !matches!(state, ProgramState::Running { .. }) {
            self.0.lock().commands.remove(&key);
        }
        state
    }

    fn serve(&self, run: &ContainerRun<'_>) -> ProgramState {
        let (Some(volume), Some(version)) = (run.claim("data"), version(run)) else {
            return ProgramState::Unmodelled(format!("a server without a PVC, or of the image {}", run.image));
        };
        if self.0.data(&volume).is_none() {
            return failed(FailureReason::DataMissing, "the data directory is empty".to_owned());
        }
        let server = PostgresServer { volume, version, mounted: parameters(run) };
        match self.0.start(uid(run.pod), server) {
            true => ProgramState::Running { ready: true },
            false => failed(FailureReason::DataInUse, "another server uses the data".to_owned()),
        }
    }

    fn served(&self, run: &ContainerRun<'_>) -> ProgramState {
        let pod = uid(run.pod);
        let was_killed = self.0.lock().killed.remove(pod);
        if was_killed || !self.0.lock().servers.contains_key(pod) {
            self.0.stop(pod);
            return ProgramState::failed(137, "");
        }
        self.0.mount(pod, parameters(run));
        ProgramState::Running { ready: true }
    }
}

impl Programs for PostgresPrograms {
    fn knows(&self, pod: &Value) -> bool {
        pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "multi-operator"
            && pod["spec"]["initContainers"][0]["command"][1] == "install"
    }

    fn start(&mut self, run: &ContainerRun<'_>) -> ProgramState {
        self.0.lock().commands.remove(&key(run));
        self.run(run, Self::serve)
    }

    fn state(&mut self, run: &ContainerRun<'_>) -> ProgramState {
        self.run(run, Self::served)
    }

    fn stop(&mut self, run: &ContainerRun<'_>, _user: &str) {
        self.forget(uid(run.pod));
    }

    fn forget(&mut self, pod_uid: &str) {
        self.0.stop(pod_uid);
        let mut state = self.0.lock();
        state.killed.remove(pod_uid);
        state.commands.retain(|(pod, _), _| pod != pod_uid);
    }

    fn is_steady(&self) -> bool {
        let state = self.0.lock();
        state.commands.is_empty() && state.killed.is_empty()
    }
}

fn failed(reason: FailureReason, message: String) -> ProgramState {
    let code = reason.exit() as i64;
    ProgramState::failed(code, json!(FailureMessage { reason, message, closed: None }).to_string())
}

fn uid(pod: &Value) -> &str {
    pod["metadata"]["uid"].as_str().unwrap_or_default()
}

fn key(run: &ContainerRun<'_>) -> (String, String) {
    (uid(run.pod).to_owned(), run.container["name"].as_str().unwrap_or_default().to_owned())
}

/// The parameters in the mounted file.
fn parameters(run: &ContainerRun<'_>) -> BTreeMap<String, String> {
    let file = run.file("configuration", "operator.conf").unwrap_or_default();
    let pairs = file.lines().filter_map(|line| line.split_once(" = '"));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_end_matches('\'').to_owned())).collect()
}
