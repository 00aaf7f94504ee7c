//! How a pod lives on its node. A container starts when its time has come, and what it needs is there.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::super::object::{items, text};
use super::content::containers;
use super::exit::{self, Exit, RestartPolicy};
use super::needs::Missing;
use crate::random::Random;

/// The longest time between two starts of a container, in seconds.
const LONGEST_BACKOFF: u64 = 300;

/// A pod on its node.
#[derive(Debug)]
pub(super) struct Life {
    /// When its volumes are mounted, at the earliest.
    begins: Timestamp,
    /// When its sandbox was created.
    pub(super) sandbox: Option<Timestamp>,
    /// When the kubelet first saw it.
    pub(super) seen: Timestamp,
    /// Its containers.
    pub(super) containers: Vec<Container>,
    /// Its address.
    pub(super) address: String,
    /// When its containers have stopped, once it is being deleted.
    pub(super) stops: Option<Timestamp>,
}

/// A container.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    /// How long it takes to get ready, in milliseconds.
    ready_after: u64,
    /// How it ends by itself, if it does.
    exit: Option<Exit>,
    policy: RestartPolicy,
    pub(super) state: ContainerState,
    /// When the state changes by itself.
    due: Option<Timestamp>,
    pub(super) restarts: u64,
    /// Its last end.
    pub(super) last: Option<End>,
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
    /// It has ended, and is restarted at once or never.
    Ended,
    /// It has ended repeatedly, and is restarted after so many seconds.
    CrashBackOff(u64),
}

/// The end of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
    pub(super) exit: Exit,
}

impl Life {
    /// A pod that has just got its node.
    pub(super) fn new(pod: &Value, address: String, now: Timestamp, random: &mut Random) -> Self {
        let has_init = !items(&pod["spec"]["initContainers"]).is_empty();
        let begins = later(now, random.between(200, 1500) + if has_init { 1000 } else { 0 });
        let policy = RestartPolicy::of(pod);
        let containers = containers(pod).iter().map(|container| Container::new(container, policy, random)).collect();
        Self { begins, sandbox: None, seen: now, containers, address, stops: None }
    }

    /// Does what was due until now.
    pub(super) fn advance(&mut self, missing: &Missing, now: Timestamp, random: &mut Random) {
        if self.sandbox.is_none() {
            if missing.volumes || now < self.begins {
                return;
            }
            self.sandbox = Some(now);
            for container in &mut self.containers {
                container.due = Some(later(now, random.between(500, 4000)));
            }
        }
        for container in &mut self.containers {
            container.advance(missing, now, random);
        }
    }

    /// When it changes by itself.
    pub(super) fn next(&self, now: Timestamp) -> Option<Duration> {
        let begins = Some(self.begins).filter(|begins| self.sandbox.is_none() && *begins > now);
        let containers = self.containers.iter().filter_map(|container| container.next(now));
        let at = if self.stops.is_some() { self.stops } else { containers.chain(begins).min() };
        at.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
    }

    /// The containers whose image is not that of the pod anymore.
    pub(super) fn changed_images(&self, pod: &Value) -> Vec<String> {
        let is_other = |(container, spec): &(&Container, &Value)| container.image != text(&spec["image"]);
        let changed = self.containers.iter().zip(containers(pod)).filter(is_other);
        changed.map(|(container, _)| format!("the image of the running container {} changed", container.name)).collect()
    }
}

impl Container {
    fn new(container: &Value, policy: RestartPolicy, random: &mut Random) -> Self {
        let ready_after = if container["readinessProbe"].is_null() { 0 } else { random.between(500, 3000) };
        Self {
            name: text(&container["name"]).to_owned(),
            image: text(&container["image"]).to_owned(),
            ready_after,
            exit: exit::of(container, policy),
            policy,
            state: ContainerState::Creating,
            due: None,
            restarts: 0,
            last: None,
        }
    }

    /// Whether it was ever started.
    pub(super) fn has_started(&self) -> bool {
        matches!(self.state, ContainerState::Running(_)) || self.last.is_some()
    }

    /// Whether it is ready.
    pub(super) fn is_ready(&self, now: Timestamp) -> bool {
        self.ready_at().is_some_and(|at| at <= now)
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

    /// The code that it ended with, if it is not started again.
    pub(super) fn final_code(&self) -> Option<i64> {
        let code = self.last.as_ref().filter(|_| self.state == ContainerState::Ended)?.exit.code;
        Some(code).filter(|code| self.policy.is_final(*code))
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let ready = self.ready_at().filter(|at| *at > now);
        let waits = matches!(self.state, ContainerState::Unconfigured(_));
        self.due.filter(|_| !waits).into_iter().chain(ready).min()
    }

    fn advance(&mut self, missing: &Missing, now: Timestamp, random: &mut Random) {
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
        let exit = self.exit.clone().unwrap_or(Exit { code: 0, message: String::new() });
        let is_final = self.policy.is_final(exit.code);
        self.last = Some(End { started, finished, exit });
        if is_final {
            (self.state, self.due) = (ContainerState::Ended, None);
            return;
        }
        let doublings = u32::try_from(self.restarts.saturating_sub(1)).unwrap_or(u32::MAX);
        let seconds = 10_u64.saturating_mul(2_u64.saturating_pow(doublings)).min(LONGEST_BACKOFF);
        let is_first = self.restarts == 0;
        self.state = if is_first { ContainerState::Ended } else { ContainerState::CrashBackOff(seconds) };
        self.due = Some(later(finished, if is_first { 1000 } else { seconds * 1000 }));
    }
}

/// That time, so many milliseconds later.
pub(super) fn later(at: Timestamp, milliseconds: u64) -> Timestamp {
    let by = SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}
