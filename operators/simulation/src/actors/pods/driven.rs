//! How a pod lives whose programs a model knows: init containers one after the other, then the containers, each restarted as the
//! pod's policy says, and at once when its image changes.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::object::{items, later, text};
use super::container::{Container, ContainerState, End, ProgramReport};
use super::life::Life;
use super::needs::Missing;
use super::program::{ContainerRun, Exit, ProgramState, Programs};
use crate::random::Random;

/// What a step of a pod's life depends on.
pub(super) struct Driver<'a> {
    /// The pod.
    pub(super) pod: &'a Value,
    /// The model of its programs.
    pub(super) programs: &'a mut dyn Programs,
    /// Finds an object by its plural and name.
    pub(super) object: &'a dyn Fn(&str, &str) -> Option<Arc<Value>>,
    /// Who changed the pod last.
    pub(super) editor: &'a dyn Fn() -> String,
    /// The time.
    pub(super) now: Timestamp,
    /// Draws how long things take.
    pub(super) random: &'a mut Random,
    /// What the model lacks.
    pub(super) lacks: Vec<String>,
}

impl Life {
    /// Does what was due until now.
    pub(super) fn drive(&mut self, driver: &mut Driver<'_>, missing: &Missing) {
        self.begin(missing, driver.now);
        if self.sandbox.is_none() {
            return;
        }
        let Self { inits, containers, address, .. } = self;
        let pod = driver.pod;
        for (container, spec) in inits.iter_mut().zip(items(&pod["spec"]["initContainers"])) {
            container.drive(driver, spec, address, true);
            if !container.has_succeeded() {
                return;
            }
        }
        for (container, spec) in containers.iter_mut().zip(items(&pod["spec"]["containers"])) {
            container.drive(driver, spec, address, false);
        }
    }

    /// Stops what runs, because of a write of `user`.
    pub(super) fn stop(&self, driver: &mut Driver<'_>, user: &str) {
        let specs = items(&driver.pod["spec"]["initContainers"]).iter().chain(items(&driver.pod["spec"]["containers"]));
        for (container, spec) in self.inits.iter().chain(&self.containers).zip(specs) {
            if matches!(container.state, ContainerState::Running(_)) {
                driver.programs.stop(&run(driver.pod, driver.object, container, spec, &self.address), user);
            }
        }
    }
}

fn run<'a>(
    pod: &'a Value,
    object: &'a dyn Fn(&str, &str) -> Option<Arc<Value>>,
    container: &'a Container,
    spec: &'a Value,
    address: &'a str,
) -> ContainerRun<'a> {
    ContainerRun { pod, container: spec, image: &container.image, address, object }
}

impl Container {
    fn drive(&mut self, driver: &mut Driver<'_>, spec: &Value, address: &str, is_init: bool) {
        let wanted = text(&spec["image"]);
        let is_changed = self.image != wanted;
        if self.state == ContainerState::Done {
            return;
        }
        if let ContainerState::Running(started) = self.state {
            if is_changed {
                driver.programs.stop(&run(driver.pod, driver.object, self, spec, address), &(driver.editor)());
                self.last = Some(End { started, finished: driver.now, exit: Exit::default() });
                (self.state, self.due) =
                    (ContainerState::Ended, Some(later(driver.now, driver.random.between(200, 2000))));
                self.program = Some(ProgramReport { ready: self.was_ready(), ..ProgramReport::default() });
                return;
            }
            let state = driver.programs.state(&run(driver.pod, driver.object, self, spec, address));
            return self.apply(state, driver, is_init);
        }
        if is_changed && self.last.is_some() {
            // The wait after a failure is that of an image.
            self.report().failures = 0;
            let soon = later(driver.now, 2000);
            self.due = self.due.map(|due| due.min(soon));
        }
        let due = *self.due.get_or_insert_with(|| later(driver.now, driver.random.between(200, 2500)));
        if due <= driver.now {
            self.start(driver, spec, address, is_init);
        }
    }

    fn start(&mut self, driver: &mut Driver<'_>, spec: &Value, address: &str, is_init: bool) {
        text(&spec["image"]).clone_into(&mut self.image);
        self.due = None;
        if self.image.contains("nope") {
            let has_failed = matches!(self.state, ContainerState::PullFailed | ContainerState::PullBackOff);
            self.state = if has_failed { ContainerState::PullBackOff } else { ContainerState::PullFailed };
            self.due = Some(later(driver.now, 10_000));
            return;
        }
        self.restarts += u64::from(self.last.is_some());
        self.state = ContainerState::Running(driver.now);
        let was_ready = self.report().ready;
        let is_stale = was_ready && driver.random.chance(500);
        self.report().ready = false;
        self.report().stale_until = is_stale.then(|| later(driver.now, driver.random.between(200, 2000)));
        let state = driver.programs.start(&run(driver.pod, driver.object, self, spec, address));
        self.apply(state, driver, is_init);
    }

    fn apply(&mut self, state: ProgramState, driver: &mut Driver<'_>, is_init: bool) {
        let ContainerState::Running(started) = self.state else { return };
        let exit = match state {
            ProgramState::Running { ready } => {
                self.report().ready = ready;
                return;
            }
            ProgramState::Unmodelled(what) => {
                driver.lacks.push(format!("container {}: {what}", self.name));
                return;
            }
            ProgramState::Ended(exit) => exit,
        };
        // Whatever the policy is, an init container that succeeded has done its work.
        let is_final = self.policy.is_final(exit.code) || (is_init && exit.code == 0);
        self.last = Some(End { started, finished: driver.now, exit });
        self.report().stale_until = None;
        if is_final {
            (self.state, self.due) = (ContainerState::Done, None);
        } else {
            let failures = self.report().failures;
            self.back_off(failures, driver.now);
            self.report().failures += 1;
        }
    }

    fn report(&mut self) -> &mut ProgramReport {
        self.program.get_or_insert_default()
    }

    fn was_ready(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.ready)
    }
}

#[cfg(test)]
mod tests;
