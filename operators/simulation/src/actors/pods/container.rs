//! A container of a pod: it starts when its time has come, and is restarted ever later if it ends.

use jiff::Timestamp;
use serde_json::Value;

use super::super::object::{later, text};
use super::needs::Missing;
use super::program::Exit;
use super::restart_policy::{RestartPolicy, exit_of};
use crate::random::Random;

/// The longest time between two starts of a container, in seconds.
const LONGEST_BACKOFF: u64 = 300;

/// A container.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    /// How long it takes to get ready, in milliseconds.
    pub(super) ready_after: u64,
    /// How it ends by itself, if it does and no model knows its program.
    exit: Option<Exit>,
    pub(super) policy: RestartPolicy,
    pub(super) state: ContainerState,
    /// When the state changes by itself.
    pub(super) due: Option<Timestamp>,
    pub(super) restarts: u64,
    /// Its last end.
    pub(super) last: Option<End>,
    /// What a model of its program says, if there is one.
    pub(super) program: Option<ProgramReport>,
}

/// What is known of a program that a model knows.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramReport {
    /// Whether it is ready.
    pub(super) ready: bool,
    /// Until when the kubelet still reports the readiness of the container before: it restarts the startup probe late.
    pub(super) stale_until: Option<Timestamp>,
    /// How often it failed with its present image.
    pub(super) failures: u64,
}

/// The state of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContainerState {
    /// The image is pulled.
    Creating,
    /// A reference of its environment is missing.
    Unconfigured(String),
    /// The image could not be pulled.
    PullFailed,
    /// The image could not be pulled, and is tried again later.
    PullBackOff,
    /// It runs.
    Running(Timestamp),
    /// It has ended, and is restarted at once.
    Ended,
    /// It has ended repeatedly, and is restarted after so many seconds.
    CrashBackOff(u64),
    /// It has ended for good.
    Done,
}

/// The end of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
    pub(super) exit: Exit,
}

impl Container {
    pub(super) fn new(container: &Value, policy: RestartPolicy, random: &mut Random) -> Self {
        let ready_after = if container["readinessProbe"].is_null() { 0 } else { random.between(500, 3000) };
        Self {
            name: text(&container["name"]).to_owned(),
            image: text(&container["image"]).to_owned(),
            ready_after,
            exit: exit_of(container, policy),
            policy,
            state: ContainerState::Creating,
            due: None,
            restarts: 0,
            last: None,
            program: None,
        }
    }

    /// Whether it was ever started.
    pub(super) fn has_started(&self) -> bool {
        matches!(self.state, ContainerState::Running(_)) || self.last.is_some()
    }

    /// Whether it is ready.
    pub(super) fn is_ready(&self, now: Timestamp) -> bool {
        let runs = matches!(self.state, ContainerState::Running(_));
        if self.program.as_ref().and_then(|program| program.stale_until).is_some_and(|until| runs && now < until) {
            return true;
        }
        self.program.as_ref().is_none_or(|program| program.ready) && self.ready_at().is_some_and(|at| at <= now)
    }

    /// Whether it has ended for good, with success.
    pub(super) fn has_succeeded(&self) -> bool {
        self.state == ContainerState::Done && self.last.as_ref().is_some_and(|end| end.exit.code == 0)
    }

    fn ready_at(&self) -> Option<Timestamp> {
        // The probe of a container that soon crashes never succeeds.
        let never = self.crashes() && self.ready_after > 0;
        if let ContainerState::Running(since) = self.state {
            Some(later(since, self.ready_after)).filter(|_| !never)
        } else {
            None
        }
    }

    fn crashes(&self) -> bool {
        self.exit.as_ref().is_some_and(|exit| exit.code != 0)
    }

    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let ready = self.ready_at().filter(|at| *at > now);
        let waits = matches!(self.state, ContainerState::Unconfigured(_));
        let stale = self.program.as_ref().and_then(|program| program.stale_until).filter(|until| *until > now);
        self.due.filter(|_| !waits).into_iter().chain(ready).chain(stale).min()
    }

    pub(super) fn advance(&mut self, missing: &Missing, now: Timestamp, random: &mut Random) {
        // What is due at the same time or before happens in its order.
        while let Some(due) = self.due.filter(|due| *due <= now) {
            let at = if matches!(self.state, ContainerState::Unconfigured(_)) { now } else { due };
            if !self.proceed(missing, at, random) {
                return;
            }
        }
    }

    /// Enters the next state. Returns false if it must wait for an object.
    fn proceed(&mut self, missing: &Missing, at: Timestamp, random: &mut Random) -> bool {
        match self.state.clone() {
            ContainerState::Creating | ContainerState::Unconfigured(_) if self.image.contains("nope") => {
                (self.state, self.due) = (ContainerState::PullFailed, Some(later(at, 10_000)));
            }
            ContainerState::PullFailed | ContainerState::PullBackOff => {
                (self.state, self.due) = (ContainerState::PullBackOff, None)
            }
            ContainerState::Running(started) => self.end(started, at),
            ContainerState::Done => self.due = None,
            ContainerState::Creating
            | ContainerState::Unconfigured(_)
            | ContainerState::Ended
            | ContainerState::CrashBackOff(_) => {
                if let Some(message) = missing.message(&self.name) {
                    self.state = ContainerState::Unconfigured(message.to_owned());
                    return false;
                }
                self.restarts += u64::from(self.last.is_some());
                self.state = ContainerState::Running(at);
                self.due = self.exit.is_some().then(|| later(at, random.between(1000, 5000)));
            }
        }
        true
    }

    /// Ends. Unless that is for good, it is restarted at once the first time, then after 10, 20, 40 seconds and so on.
    fn end(&mut self, started: Timestamp, finished: Timestamp) {
        let exit = self.exit.clone().unwrap_or_default();
        let is_final = self.policy.is_final(exit.code);
        self.last = Some(End { started, finished, exit });
        if is_final {
            (self.state, self.due) = (ContainerState::Done, None);
        } else {
            self.back_off(self.restarts, finished);
        }
    }

    /// Waits for its next start, after it has failed that often before.
    pub(super) fn back_off(&mut self, failures: u64, finished: Timestamp) {
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let seconds = 10_u64.saturating_mul(2_u64.saturating_pow(doublings)).min(LONGEST_BACKOFF);
        let is_first = failures == 0;
        self.state = if is_first { ContainerState::Ended } else { ContainerState::CrashBackOff(seconds) };
        self.due = Some(later(finished, if is_first { 1000 } else { seconds * 1000 }));
    }
}
