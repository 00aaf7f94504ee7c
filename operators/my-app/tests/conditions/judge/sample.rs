//! A status that was written, and what it can be judged by.

use std::fmt;

use serde_json::Value;

use crate::site::Answer;

/// A status that was written, and what it could be judged by.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The MyApp as the reconcile observed it, with its earlier status.
    pub app: Value,
    /// What was written.
    pub status: Value,
    pub children: Children,
    pub pods: Vec<Value>,
    /// The ReplicaSet of the Deployment's template.
    pub replica_set: String,
    /// Whether HTTPRoutes were seen.
    pub sight: Sight,
    pub asking: Asking,
}

#[derive(Clone, Debug)]
pub struct Children {
    pub deployment: Child,
    pub service: Child,
    pub budget: Child,
    pub autoscaler: Child,
    pub ingress: Child,
    pub http_route: Child,
}

/// A child of the name, and who else has to do with it.
#[derive(Clone, Debug)]
pub struct Child {
    /// As the store held it before the reconcile.
    pub shown: Option<Value>,
    /// As the store held it, or as this reconcile wrote it.
    pub live: Option<Value>,
    /// Whether this reconcile wrote it, so that the status of its controller is older.
    pub wrote: bool,
    /// Whether an object that is not this MyApp's bears the name.
    pub is_foreign: bool,
    /// Whether it is being deleted.
    pub leaves: bool,
    /// Whether the API server refuses writes of it.
    pub is_refused: bool,
}

/// What is seen of a kind that may not be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    ChildState,
    NotServed,
    Unknown,
}

/// What was last read of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    Content(u8),
    Missing,
    Forbidden,
    /// No answer so far.
    Awaited,
    /// No answer for so long that no pod waits for it.
    Unknown,
}

/// What the operator queried in this reconcile.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// Whether it could not observe at all.
    pub is_blind: bool,
    /// Each object of `restartOn`, whether it may be missing, and what was read of it.
    pub read: Vec<(String, bool, Read)>,
    /// What pods are to be started with, if all of that could be read.
    pub digest: Option<String>,
    /// How a dry run was answered, if there was one.
    pub dry_run: Option<Answer>,
}

pub(super) fn condition<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

pub(super) fn is_true(status: &Value, type_: &str) -> bool {
    condition(status, type_).is_some_and(|condition| condition["status"] == "True")
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["Deployment", "Service", "budget", "autoscaler", "Ingress", "HTTPRoute"];
        let plain = |value: &Value| {
            let mut plain = value.clone();
            ["managedFields", "labels", "ownerReferences"]
                .iter()
                .for_each(|part| drop(plain["metadata"][*part].take()));
            plain
        };
        writeln!(f, "\n  saw {}\n  wrote {}", self.app, self.status)?;
        for (name, child) in names.iter().zip(self.children.all()) {
            let Child { wrote, is_foreign, leaves, is_refused, .. } = child;
            write!(f, "  {name}: wrote {wrote}, stranger {is_foreign}, leaves {leaves}, refused {is_refused}")?;
            let [shown, live] = [&child.shown, &child.live].map(|of| of.as_ref().map(plain).unwrap_or_default());
            writeln!(f, "\n    shown {shown}\n    live  {live}")?;
        }
        write!(f, "  HTTPRoutes {:?}, {:?}", self.sight, self.asking)?;
        self.present_pods().try_for_each(|pod| write!(f, "\n  pod {}", pod["status"]))
    }
}

impl Child {
    /// One that is there to stay.
    pub(super) fn stays(&self) -> Option<&Value> {
        self.live.as_ref().filter(|live| live["metadata"]["deletionTimestamp"].is_null())
    }

    /// Whether the store showed one that is being deleted.
    pub(super) fn is_seen_leaving(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| !shown["metadata"]["deletionTimestamp"].is_null())
    }
}

impl Children {
    pub(super) fn all(&self) -> [&Child; 6] {
        [&self.deployment, &self.service, &self.budget, &self.autoscaler, &self.ingress, &self.http_route]
    }

    /// Those that the pods can do without.
    pub(super) fn beside(&self) -> [&Child; 3] {
        [&self.autoscaler, &self.ingress, &self.http_route]
    }
}

impl Sample {
    /// Whether it reports Ready or Stalled.
    pub fn is_summary(&self) -> bool {
        is_true(&self.status, "Ready") || is_true(&self.status, "Stalled")
    }

    /// Whether that was reported for this very spec before.
    pub(super) fn was_true(&self, type_: &str) -> bool {
        let before = condition(&self.app["status"], type_).filter(|before| before["status"] == "True");
        before.is_some_and(|before| before["observedGeneration"] == self.app["metadata"]["generation"])
    }

    pub(super) fn is_paused(&self) -> bool {
        self.app["spec"]["paused"] == true
    }

    pub(super) fn wanted(&self) -> i64 {
        let live = self.children.deployment.live.as_ref().and_then(|live| live["spec"]["replicas"].as_i64());
        let bounds = &self.app["spec"]["autoscaling"];
        match (self.app["spec"]["replicas"].as_i64(), bounds["max"].as_i64()) {
            (Some(replicas), _) => replicas,
            (None, Some(max)) => live.unwrap_or(0).min(max).max(bounds["min"].as_i64().unwrap_or(1)),
            (None, None) => live.unwrap_or(1),
        }
    }

    pub(super) fn says(&self, number: &str) -> i64 {
        self.children.deployment.live.as_ref().and_then(|live| live["status"][number].as_i64()).unwrap_or(0)
    }

    /// Whether the Deployment's controller speaks of the Deployment as it is.
    pub(super) fn is_observed(&self) -> bool {
        let Child { live, wrote, .. } = &self.children.deployment;
        let generation = live.as_ref().and_then(|live| live["metadata"]["generation"].as_i64());
        !wrote && generation.is_some_and(|generation| self.says("observedGeneration") >= generation)
    }

    /// Whether exactly the desired pods exist, of the current template, and are ready.
    pub(super) fn is_complete(&self) -> bool {
        let numbers = ["replicas", "updatedReplicas", "readyReplicas"];
        self.is_observed() && numbers.iter().all(|of| self.says(of) == self.wanted())
    }

    /// Whether no pods are desired, and none were ever reported.
    pub(super) fn never_had_pods(&self) -> bool {
        self.wanted() == 0 && self.app["status"]["replicas"].as_i64().unwrap_or(0) == 0 && self.says("replicas") == 0
    }

    pub(super) fn present_pods(&self) -> impl Iterator<Item = &Value> {
        self.pods.iter().filter(|pod| pod["metadata"]["ownerReferences"][0]["name"] == *self.replica_set)
    }

    pub(super) fn failure(&self, type_: &str, status: &str, reason: &str) -> bool {
        let said = self.children.deployment.live.as_ref().and_then(|live| condition(&live["status"], type_));
        said.is_some_and(|said| said["status"] == status && said["reason"] == reason)
    }
}

pub(super) fn container(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

pub(super) fn waits_for(pod: &Value, reasons: &[&str]) -> bool {
    let reason = container(pod)["state"]["waiting"]["reason"].as_str().unwrap_or_default();
    reasons.contains(&reason)
}

pub(super) fn keeps_ending(pod: &Value) -> bool {
    let ended = container(pod)["state"]["waiting"].is_object() || container(pod)["state"]["terminated"].is_object();
    container(pod)["restartCount"].as_i64().unwrap_or(0) >= 1 && ended && container(pod)["ready"] != true
}
