//! The kubelets of all nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::actor::{Actor, RETRY};
use super::super::client::{Client, Target, is_outdated};
use super::super::object::{is_deleting, items, later, namespace, number, set, text, uid};
use super::super::pod::is_ended;
use super::driven::Driver;
use super::exit;
use super::life::Life;
use super::needs::{Missing, missing};
use super::notes::Notes;
use super::program::Programs;
use super::{editors, status, unmodelled};
use crate::api_server::kinds::KindId;
use crate::api_server::request::{ApiError, DeleteOptions};
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

const USER: &str = "kubelet";

/// The longest time that containers take to stop, in seconds.
const LONGEST_STOP: i64 = 3;

/// How soon the kubelet looks again at programs that may change by themselves, and at others.
const PROBE: Duration = Duration::from_millis(500);
const STEADY_PROBE: Duration = Duration::from_secs(5);

/// The kubelets.
#[derive(Default)]
pub struct Kubelet {
    /// The pods that have a node, by uid.
    lives: BTreeMap<String, Life>,
    addresses: u64,
    notes: Notes,
    /// The models of what runs in pods.
    programs: Vec<Box<dyn Programs>>,
}

impl Actor for Kubelet {
    fn name(&self) -> &'static str {
        USER
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["pods", "configmaps", "secrets"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, USER);
        let (kind, maps, secrets) = (client.kind("pods")?, client.kind("configmaps")?, client.kind("secrets")?);
        let pods = client.list(kind);
        let present: BTreeSet<&str> = pods.iter().map(|pod| uid(pod)).collect();
        let programs = &mut self.programs;
        self.lives.retain(|uid, life| {
            let stays = present.contains(uid.as_str());
            if let Some(model) = life.model.and_then(|model| programs.get_mut(model)).filter(|_| !stays) {
                model.forget(uid);
            }
            stays
        });
        let mut again = None;
        for pod in pods.iter().filter(|pod| !text(&pod["spec"]["nodeName"]).is_empty()) {
            let next = if is_deleting(pod) {
                self.stop(&client, kind, pod, now, random)
            } else if is_ended(pod) {
                None
            } else {
                let find = |plural: &str, name: &str| {
                    client.get(if plural == "secrets" { secrets } else { maps }, namespace(pod), name)
                };
                self.run(&client, kind, pod, &missing(pod, &find), now, random)
            };
            again = again.into_iter().chain(next).min();
        }
        again
    }
}

impl Kubelet {
    /// Kubelets that run these programs as their models say.
    #[must_use]
    pub fn with(programs: Vec<Box<dyn Programs>>) -> Self {
        Self { programs, ..Self::default() }
    }

    /// Runs a pod, and reports its status.
    fn run(
        &mut self,
        client: &Client<'_>,
        kind: KindId,
        pod: &Arc<Value>,
        missing: &Missing,
        now: Timestamp,
        random: &mut Random,
    ) -> Option<Duration> {
        let lacks = self.advance(client, kind, pod, missing, now, random);
        self.notes.add(client, pod, lacks);
        let life = self.life(pod, now, random);
        let (reported, next, model) = (status::of(pod, life, now), life.next(now), life.model);
        let probe = model.and_then(|model| self.programs.get(model));
        let probe = probe.map(|model| if model.is_steady() { STEADY_PROBE } else { PROBE });
        let next = next.into_iter().chain(probe).min();
        if pod["status"] == reported {
            return next;
        }
        let mut body = Value::clone(pod);
        set(&mut body, &["status"], reported);
        retried(client.update_status(kind, body), next)
    }

    /// Does what was due in a pod. Returns what the model lacks.
    fn advance(
        &mut self,
        client: &Client<'_>,
        kind: KindId,
        pod: &Value,
        missing: &Missing,
        now: Timestamp,
        random: &mut Random,
    ) -> Vec<String> {
        let life = self.life(pod, now, random);
        let Some(model) = life.model else {
            life.advance(missing, now, random);
            return life.changed_images(pod).into_iter().chain(unmodelled::of_containers(pod)).collect();
        };
        let (lives, programs) = (&mut self.lives, &mut self.programs);
        let (Some(life), Some(programs)) = (lives.get_mut(uid(pod)), programs.get_mut(model)) else {
            return Vec::new();
        };
        let (object, editor) = (finder(client, pod), || editors::last_editor(client, kind, pod));
        let programs = &mut **programs;
        let mut driver = Driver { pod, programs, object: &object, editor: &editor, now, random, lacks: Vec::new() };
        life.drive(&mut driver, missing);
        driver.lacks
    }

    /// Stops the programs of a pod that is being deleted.
    fn end_programs(&mut self, client: &Client<'_>, kind: KindId, pod: &Value, now: Timestamp, random: &mut Random) {
        let (lives, programs) = (&mut self.lives, &mut self.programs);
        let Some(life) = lives.get_mut(uid(pod)) else { return };
        let Some(programs) = life.model.and_then(|model| programs.get_mut(model)) else { return };
        let (object, editor) = (finder(client, pod), String::new);
        let programs = &mut **programs;
        let mut driver = Driver { pod, programs, object: &object, editor: &editor, now, random, lacks: Vec::new() };
        life.stop(&mut driver, &editors::deleter(client, kind, pod));
        driver.programs.forget(uid(pod));
    }

    /// Stops the containers of a pod that is being deleted, and then removes it.
    fn stop(
        &mut self,
        client: &Client<'_>,
        kind: KindId,
        pod: &Value,
        now: Timestamp,
        random: &mut Random,
    ) -> Option<Duration> {
        let grace = number(&pod["metadata"]["deletionGracePeriodSeconds"]);
        if grace == 0 {
            // It has stopped, and a finalizer holds it.
            return None;
        }
        let longest = u64::try_from(grace.min(LONGEST_STOP)).unwrap_or_default() * 1000;
        let life = self.life(pod, now, random);
        let stops = *life.stops.get_or_insert_with(|| later(now, random.between(200, longest)));
        if now < stops {
            return life.next(now);
        }
        self.end_programs(client, kind, pod, now, random);
        // The controller that holds the pod reads how it ended.
        if !items(&pod["metadata"]["finalizers"]).is_empty() && !is_ended(pod) {
            let mut ended = pod.clone();
            set(&mut ended, &["status"], exit::stopped(pod, self.life(pod, now, random), now));
            if client.update_status(kind, ended).is_err() {
                return Some(RETRY);
            }
        }
        let options = DeleteOptions { uid: Some(uid(pod).to_owned()), grace: Some(0), ..DeleteOptions::default() };
        retried(client.delete(Target::of(kind, pod), options), None)
    }

    fn life(&mut self, pod: &Value, now: Timestamp, random: &mut Random) -> &mut Life {
        let (addresses, programs) = (&mut self.addresses, &self.programs);
        self.lives.entry(uid(pod).to_owned()).or_insert_with(|| {
            *addresses += 1;
            let address = format!("10.244.{}.{}", *addresses / 250, *addresses % 250 + 1);
            let life = Life::new(pod, address, now, random);
            match programs.iter().position(|model| model.knows(pod)) {
                Some(model) => life.driven_by(model, pod, random),
                None => life,
            }
        })
    }
}

/// Finds objects in the namespace of a pod.
fn finder<'a>(client: &'a Client<'_>, pod: &'a Value) -> impl Fn(&str, &str) -> Option<Arc<Value>> + 'a {
    move |plural, name| client.get(client.kind(plural)?, namespace(pod), name)
}

/// When to go on after a request.
fn retried(answer: Result<Value, ApiError>, next: Option<Duration>) -> Option<Duration> {
    match answer {
        Err(refused) if !is_outdated(&refused) => Some(RETRY),
        _ => next,
    }
}
