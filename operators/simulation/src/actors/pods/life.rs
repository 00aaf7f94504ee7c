//! How a pod lives on its node. A container starts when its time has come, and what it needs is there.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::object::{items, later, text};
use super::container::{Container, ProgramReport};
use super::content::containers;
use super::needs::Missing;
use super::restart_policy::RestartPolicy;
use crate::random::Random;

/// A pod on its node.
#[derive(Debug)]
pub(super) struct Life {
    /// When its volumes are mounted, at the earliest.
    begins: Timestamp,
    /// When its sandbox was created.
    pub(super) sandbox: Option<Timestamp>,
    /// When the kubelet first saw it.
    pub(super) seen: Timestamp,
    /// Its init containers, if a model knows what they do; otherwise they only take some time.
    pub(super) inits: Vec<Container>,
    /// Its containers.
    pub(super) containers: Vec<Container>,
    /// The model of what runs in its containers, by its number.
    pub(super) model: Option<usize>,
    /// Its address.
    pub(super) address: String,
    /// When its containers have stopped, once it is being deleted.
    pub(super) stops: Option<Timestamp>,
}

impl Life {
    /// A pod that has just got its node.
    pub(super) fn new(pod: &Value, address: String, now: Timestamp, random: &mut Random) -> Self {
        let has_init = !items(&pod["spec"]["initContainers"]).is_empty();
        let begins = later(now, random.between(200, 1500) + if has_init { 1000 } else { 0 });
        let policy = RestartPolicy::of(pod);
        let containers = containers(pod).iter().map(|container| Container::new(container, policy, random)).collect();
        Self { begins, sandbox: None, seen: now, inits: Vec::new(), containers, model: None, address, stops: None }
    }

    /// Lets that model decide what the containers do.
    pub(super) fn driven_by(mut self, model: usize, pod: &Value, random: &mut Random) -> Self {
        self.model = Some(model);
        let policy = RestartPolicy::of(pod);
        let inits = items(&pod["spec"]["initContainers"]);
        self.inits = inits.iter().map(|init| Container::new(init, policy, random)).collect();
        for container in self.inits.iter_mut().chain(&mut self.containers) {
            container.program = Some(ProgramReport::default());
        }
        self
    }

    /// Does what was due until now.
    pub(super) fn advance(&mut self, missing: &Missing, now: Timestamp, random: &mut Random) {
        if self.begin(missing, now) {
            for container in &mut self.containers {
                container.due = Some(later(now, random.between(500, 4000)));
            }
        }
        for container in &mut self.containers {
            container.advance(missing, now, random);
        }
    }

    /// Creates the sandbox, if it is time. Returns whether that has just happened.
    pub(super) fn begin(&mut self, missing: &Missing, now: Timestamp) -> bool {
        let begins = self.sandbox.is_none() && !missing.volumes && now >= self.begins;
        if begins {
            self.sandbox = Some(now);
        }
        begins
    }

    /// When it changes by itself.
    pub(super) fn next(&self, now: Timestamp) -> Option<Duration> {
        let begins = Some(self.begins).filter(|begins| self.sandbox.is_none() && *begins > now);
        let containers = self.inits.iter().chain(&self.containers).filter_map(|container| container.next(now));
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
