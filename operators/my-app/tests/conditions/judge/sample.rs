//! A written status, and the objects by which it can be judged.

use std::fmt;

use serde_json::Value;

use crate::site::Answer;

/// A written status, and the objects by which it is judged.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The MyApp as the reconcile observed it, with its earlier status.
    pub app: Value,
    /// The written status.
    pub status: Value,
    pub children: Children,
    pub pods: Vec<Value>,
    /// The ReplicaSet of the Deployment's template.
    pub replica_set: String,
    /// Whether HTTPRoutes were visible.
    pub visibility: RouteVisibility,
    pub queried: QueryResults,
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

/// The child of the name, and what else is known of it.
#[derive(Clone, Debug)]
pub struct Child {
    /// As the store held it before the reconcile.
    pub shown: Option<Value>,
    /// As the store held it, or as this reconcile wrote it.
    pub live: Option<Value>,
    /// Whether this reconcile wrote it, so that the status of its controller is older.
    pub wrote: bool,
    /// Whether a foreign object has the name.
    pub is_foreign: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// Whether the API server rejects writes of it.
    pub is_rejected: bool,
}

/// What the manager knows of a kind that may not be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteVisibility {
    Served,
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
pub struct QueryResults {
    /// Whether it could not observe at all.
    pub is_blind: bool,
    /// Each object of `restartOn`, whether it is optional, and what was read.
    pub read: Vec<(String, bool, Read)>,
    /// The digest for new pods, if all objects could be read.
    pub digest: Option<String>,
    /// The answer to a dry run, if there was one.
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
        writeln!(f, "\n  observed {}\n  wrote {}", self.app, self.status)?;
        for (name, child) in names.iter().zip(self.children.all()) {
            let Child { wrote, is_foreign, is_terminating, is_rejected, .. } = child;
            write!(
                f,
                "  {name}: wrote {wrote}, foreign {is_foreign}, terminating {is_terminating}, rejected {is_rejected}"
            )?;
            let [shown, live] = [&child.shown, &child.live].map(|of| of.as_ref().map(plain).unwrap_or_default());
            writeln!(f, "\n    shown {shown}\n    live  {live}")?;
        }
        write!(f, "  HTTPRoutes {:?}, {:?}", self.visibility, self.queried)?;
        self.present_pods().try_for_each(|pod| write!(f, "\n  pod {}", pod["status"]))
    }
}

impl Child {
    /// The child, unless it is terminating.
    pub(super) fn stays(&self) -> Option<&Value> {
        self.live.as_ref().filter(|live| live["metadata"]["deletionTimestamp"].is_null())
    }

    /// Whether the store showed one that is being deleted.
    pub(super) fn was_terminating(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| !shown["metadata"]["deletionTimestamp"].is_null())
    }
}

impl Children {
    pub(super) fn all(&self) -> [&Child; 6] {
        [&self.deployment, &self.service, &self.budget, &self.autoscaler, &self.ingress, &self.http_route]
    }

    /// Those that the pods do not depend on.
    pub(super) fn independent(&self) -> [&Child; 3] {
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

    pub(super) fn desired(&self) -> i64 {
        let live = self.children.deployment.live.as_ref().and_then(|live| live["spec"]["replicas"].as_i64());
        let bounds = &self.app["spec"]["autoscaling"];
        match (self.app["spec"]["replicas"].as_i64(), bounds["max"].as_i64()) {
            (Some(replicas), _) => replicas,
            (None, Some(max)) => live.unwrap_or(0).min(max).max(bounds["min"].as_i64().unwrap_or(1)),
            (None, None) => live.unwrap_or(1),
        }
    }

    pub(super) fn count(&self, number: &str) -> i64 {
        self.children.deployment.live.as_ref().and_then(|live| live["status"][number].as_i64()).unwrap_or(0)
    }

    /// Whether the Deployment's controller speaks of the Deployment as it is.
    pub(super) fn is_observed(&self) -> bool {
        let Child { live, wrote, .. } = &self.children.deployment;
        let generation = live.as_ref().and_then(|live| live["metadata"]["generation"].as_i64());
        !wrote && generation.is_some_and(|generation| self.count("observedGeneration") >= generation)
    }

    /// Whether exactly the desired pods exist, of the current template, and are ready.
    pub(super) fn is_complete(&self) -> bool {
        let numbers = ["replicas", "updatedReplicas", "readyReplicas"];
        self.is_observed() && numbers.iter().all(|of| self.count(of) == self.desired())
    }

    /// Whether no pods are desired, and none were ever reported.
    pub(super) fn never_had_pods(&self) -> bool {
        self.desired() == 0 && self.app["status"]["replicas"].as_i64().unwrap_or(0) == 0 && self.count("replicas") == 0
    }

    pub(super) fn present_pods(&self) -> impl Iterator<Item = &Value> {
        self.pods.iter().filter(|pod| pod["metadata"]["ownerReferences"][0]["name"] == *self.replica_set)
    }

    pub(super) fn failure(&self, type_: &str, status: &str, reason: &str) -> bool {
        let judged = self.children.deployment.live.as_ref().and_then(|live| condition(&live["status"], type_));
        judged.is_some_and(|judged| judged["status"] == status && judged["reason"] == reason)
    }
}

pub(super) fn container(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

pub(super) fn waits_for(pod: &Value, reasons: &[&str]) -> bool {
    let reason = container(pod)["state"]["waiting"]["reason"].as_str().unwrap_or_default();
    reasons.contains(&reason)
}

pub(super) fn keeps_exiting(pod: &Value) -> bool {
    let ended = container(pod)["state"]["waiting"].is_object() || container(pod)["state"]["terminated"].is_object();
    container(pod)["restartCount"].as_i64().unwrap_or(0) >= 1 && ended && container(pod)["ready"] != true
}
