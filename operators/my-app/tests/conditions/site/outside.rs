//! Controllers of autoscalers, Gateways and Ingresses, and users who edit owned children.

use api::ReconcileReason;
use my_app::MyApp;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::ResourceKind;
use runtime::projections::{Autoscaler, Deployment, HttpRoute, Ingress, Service};
use serde_json::{Value, json};

use super::Site;
use super::step::{About, Scaled, Verdict};
use crate::judge::RouteVisibility;

/// The class that an Ingress without one is given.
pub const DEFAULT_CLASS: &str = "default";

/// The error while the CRD does not exist.
fn not_served() -> Error {
    Error::transient(ReconcileReason::KindNotServed, "the server could not find the requested resource")
}

/// The error of a webhook.
fn no() -> Error {
    Error::Invalid {
        reason: ReconcileReason::Rejected.into(),
        message: "admission webhook denied the request".to_owned(),
    }
}

impl Site {
    /// Whether the child exists and is owned by this MyApp.
    pub(super) fn is_owned(&self, kind: ResourceKind) -> bool {
        let app = self.cluster.get(MyApp::KIND, &self.key).map(|app| app["metadata"]["uid"].clone());
        let live = self.cluster.get(kind, &self.key);
        live.is_some_and(|live| Some(&live["metadata"]["ownerReferences"][0]["uid"]) == app.as_ref())
    }

    pub(super) fn scale(&mut self, scaled: Scaled, number: i64) {
        if !self.is_owned(Autoscaler::KIND) {
            return;
        }
        let condition = |type_: &str, status: &str, reason: &str| json!({ "type": type_, "status": status, "reason": reason, "message": "why" });
        let able = condition("AbleToScale", "True", "ReadyForNewScale");
        let works = matches!(scaled, Scaled::Works | Scaled::WorksNow);
        let conditions = match scaled {
            Scaled::Works | Scaled::WorksNow => json!([
                able,
                condition("ScalingActive", "True", "ValidMetricFound"),
                condition("ScalingLimited", "True", "TooManyReplicas")
            ]),
            Scaled::Blind | Scaled::BlindNow => {
                json!([able, condition("ScalingActive", "False", "FailedGetResourceMetric")])
            }
            Scaled::NoTarget => json!([
                condition("AbleToScale", "False", "FailedGetScale"),
                condition("ScalingActive", "True", "ValidMetricFound")
            ]),
        };
        let says_of_which = matches!(scaled, Scaled::WorksNow | Scaled::BlindNow);
        let mut bounds = (1, 1);
        self.cluster.edit(Autoscaler::KIND, &self.key.clone(), |live| {
            let generation = live["metadata"]["generation"].clone();
            let observed = if says_of_which { generation } else { Value::Null };
            live["status"] =
                json!({ "observedGeneration": observed, "currentReplicas": number, "conditions": conditions });
            let bound = |name: &str| live["spec"][name].as_i64().unwrap_or(1);
            bounds = (bound("minReplicas"), bound("maxReplicas"));
        });
        if works && self.is_owned(Deployment::KIND) {
            self.cluster.edit(Deployment::KIND, &self.key.clone(), |live| {
                live["spec"]["replicas"] = json!(number.min(bounds.1).max(bounds.0));
            });
        }
    }

    pub(super) fn judge_route(&mut self, verdict: Verdict, about: About) {
        if !self.is_owned(HttpRoute::KIND) {
            return;
        }
        self.cluster.edit(HttpRoute::KIND, &self.key.clone(), |live| {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or(1);
            let generation = if about == About::Before { generation - 1 } else { generation };
            let mut parent = live["spec"]["parentRefs"][0].clone();
            match about {
                About::Other => parent["name"] = json!("another"),
                About::Listener => parent["sectionName"] = json!("another"),
                About::Now | About::Before => {}
            }
            let condition = |type_: &str, status: &str, reason: &str| {
                json!({ "type": type_, "status": status,
                "reason": reason, "message": "why", "observedGeneration": generation })
            };
            let accepted = condition("Accepted", "True", "Accepted");
            let resolved = condition("ResolvedRefs", "True", "ResolvedRefs");
            let conditions = match verdict {
                Verdict::Accepted => json!([accepted, resolved]),
                Verdict::Refused => json!([condition("Accepted", "False", "NotAllowedByListeners"), resolved]),
                Verdict::Unresolved => json!([accepted, condition("ResolvedRefs", "False", "BackendNotFound")]),
                Verdict::Conflicted => json!([accepted, resolved, condition("Conflicted", "True", "HostnameConflict")]),
                Verdict::Silent => json!([condition("Accepted", "Unknown", "Pending")]),
            };
            live["status"] = json!({ "parents": [
                { "parentRef": parent, "controllerName": "example.com/gateway", "conditions": conditions }] });
        });
    }

    pub(super) fn address(&mut self, given: bool) {
        if self.is_owned(Ingress::KIND) {
            let addresses = if given { json!([{ "ip": "192.0.2.1" }]) } else { json!([]) };
            self.cluster.edit(Ingress::KIND, &self.key.clone(), |live| {
                live["status"] = json!({ "loadBalancer": { "ingress": addresses } });
            });
        }
    }

    /// Gives the cluster's default class to an Ingress that was created without one, before any store receives it. The
    /// API server gives it to no other.
    pub(super) fn give_class(&mut self, before: &Value) {
        let live = self.cluster.get(Ingress::KIND, &self.key).unwrap_or(&Value::Null);
        if live.is_object() && live["metadata"]["uid"] != *before && live["spec"]["ingressClassName"].is_null() {
            self.cluster.edit(Ingress::KIND, &self.key.clone(), |live| {
                live["spec"]["ingressClassName"] = json!(DEFAULT_CLASS);
            });
            self.cluster.deliver_events_of(Ingress::KIND, usize::MAX);
        }
    }

    /// The CRD is created, or deleted with all objects of its kind. The manager has not noticed it yet.
    pub(super) fn crd(&mut self, is_there: bool) {
        if !is_there {
            self.cluster.remove(HttpRoute::KIND, &self.key.clone());
        }
        self.cluster.refuse(HttpRoute::KIND, (!is_there).then(not_served));
        self.served = is_there;
    }

    pub(super) fn discover(&mut self, fails: bool) {
        self.visibility = match (fails, self.served) {
            (true, _) => RouteVisibility::Unknown,
            (false, true) => RouteVisibility::Served,
            (false, false) => RouteVisibility::NotServed,
        };
        match self.visibility {
            RouteVisibility::Unknown => self.cluster.fail_watch(&self.routes, "forbidden"),
            RouteVisibility::Served => self.cluster.relist(&self.routes),
            RouteVisibility::NotServed => self.cluster.stop_serving(&self.routes),
        }
    }

    pub(super) fn webhook(&mut self, kind: ResourceKind) {
        if kind == HttpRoute::KIND && !self.served {
            return;
        }
        let refuses = self.cluster.refusal(kind).is_none();
        self.cluster.refuse(kind, refuses.then(no));
    }

    pub(super) fn hand_edit(&mut self, kind: ResourceKind) {
        if !self.is_owned(kind) {
            return;
        }
        self.cluster.edit_by_hand(kind, &self.key.clone(), |live| {
            let spec = &mut live["spec"];
            match kind {
                Deployment::KIND => spec["template"]["spec"]["containers"][0]["image"] = json!("app:by-hand"),
                Service::KIND => spec["type"] = json!("ExternalName"),
                Autoscaler::KIND => spec["maxReplicas"] = json!(9),
                Ingress::KIND => spec["rules"][0]["host"] = json!("theirs.example.com"),
                HttpRoute::KIND => spec["hostnames"] = json!(["theirs.example.com"]),
                _ => spec["minAvailable"] = json!(7),
            }
        });
    }

    pub(super) fn hand_label(&mut self, kind: ResourceKind) {
        if self.is_owned(kind) {
            self.cluster.edit_by_hand(kind, &self.key.clone(), |live| {
                live["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("theirs");
            });
        }
    }

    /// Deletes a child that a finalizer blocks, or removes the finalizer.
    pub(super) fn leave(&mut self, kind: ResourceKind) {
        let Some(live) = self.cluster.get(kind, &self.key) else { return };
        if live["metadata"]["deletionTimestamp"].is_string() {
            self.cluster.remove(kind, &self.key.clone());
        } else if self.is_owned(kind) {
            let now = self.cluster.now;
            self.cluster.edit(kind, &self.key.clone(), |live| live["metadata"]["deletionTimestamp"] = json!(now));
        }
    }

    pub(super) fn foreign_object(&mut self, kind: ResourceKind) {
        match self.cluster.get(kind, &self.key) {
            None if kind != HttpRoute::KIND || self.served => {
                self.cluster.create(kind, &self.key.clone(), json!({ "metadata": {}, "spec": { "stranger": true } }));
            }
            Some(live) if live["spec"]["stranger"] == true => self.cluster.remove(kind, &self.key.clone()),
            _ => {}
        }
    }
}
