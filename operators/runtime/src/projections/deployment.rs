//! Pure: our Deployments.

use std::collections::BTreeMap;

use api::Reason;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::apply::drift::{Additions, CreatedFingerprint, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{CONTENTS, Meta, RESTARTED_AT, ResourceKind};

use super::managed_fields::ManagedFieldsReader;

/// A Deployment: identity, drift, and its rollout.
#[derive(Debug)]
pub struct Deployment {
    /// Its metadata.
    pub meta: Meta,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// Additions of others in exclusive places.
    pub additions: Additions,
    /// The owned part of its pod template.
    pub template: Template,
    /// Whether we own `replicas`.
    pub owns_replicas: bool,
    /// The desired number of pods, from us or an autoscaler.
    pub replicas: i32,
    /// Whether it has `rollingUpdate`, sent or filled in by the API server.
    pub has_pace: bool,
    /// Whether it is paused, so that the Deployment controller replaces no pods.
    pub paused: bool,
    /// When we last changed our part, by the clock of the API server.
    pub applied: Option<Timestamp>,
    /// What the Deployment controller reports.
    pub rollout: Rollout,
    /// The labels of a Deployment without a controller, from which its former owner is read; empty for any other.
    pub orphaned: BTreeMap<String, String>,
}

/// The owned part of the pod template of a Deployment.
#[derive(Debug)]
pub struct Template {
    /// The fingerprint of its owned part.
    pub created: CreatedFingerprint,
    /// Whether it has, or has had since this process observes it, the defaults that managers give to pods since they name a
    /// default container.
    pub has_defaults: bool,
    /// When a restart of the pods was last requested.
    pub restarted_at: Option<Box<str>>,
    /// A digest of the objects with whose content the pods were started.
    pub contents: Option<Box<str>>,
    /// The ports of its containers.
    pub ports: Box<[ContainerPort]>,
}

/// A port of a container.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// Its number.
    #[serde(rename = "containerPort")]
    pub number: i32,
    /// TCP, UDP or SCTP.
    #[serde(default = "tcp")]
    pub protocol: Box<str>,
}

fn tcp() -> Box<str> {
    "TCP".into()
}

impl Template {
    /// Reads the template of a Deployment.
    fn of(live: &ManagedFieldsReader<'_>, parts: &Value, ports: Box<[ContainerPort]>) -> Self {
        const PATH: &str = "/f:spec/f:template";
        // A `/` in a name is `~1` in a path.
        const DEFAULTS: [&str; 2] = [
            "/f:metadata/f:annotations/f:kubectl.kubernetes.io~1default-container",
            "/f:spec/f:topologySpreadConstraints",
        ];
        let template = parts.pointer("/spec/template");
        let annotation = |name: &str| template?["metadata"]["annotations"][name].as_str().map(Into::into);
        Self {
            created: live.created_within(&Deployment::KIND, parts, ["f:spec", "f:template"]),
            has_defaults: DEFAULTS.iter().any(|path| live.owns(&format!("{PATH}{path}"), false)),
            restarted_at: annotation(RESTARTED_AT),
            contents: annotation(CONTENTS),
            ports,
        }
    }

    /// The fingerprint of the template of a Deployment as we would send it.
    #[must_use]
    pub fn rendered(body: &Value) -> CreatedFingerprint {
        CreatedFingerprint::of_rendered(&Deployment::KIND, &json!({ "spec": { "template": body["spec"]["template"] } }))
    }
}

/// The status of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollout {
    /// The generation of these numbers.
    pub observed_generation: i64,
    /// Pods that exist.
    pub replicas: i32,
    /// Pods of the present template.
    pub updated_replicas: i32,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// Pods that have been ready for at least `minReadySeconds`.
    pub available_replicas: i32,
    /// Its conditions.
    pub conditions: Conditions,
}

/// The conditions of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Option<Vec<RolloutCondition>>")]
pub struct Conditions {
    /// The conditions that report a failure.
    pub failures: Vec<RolloutCondition>,
    /// The ReplicaSet of the present template, if one is named: pods of another one are being replaced.
    pub newest: Option<Box<str>>,
    /// When it was last named.
    pub named: Option<Timestamp>,
}

impl From<Option<Vec<RolloutCondition>>> for Conditions {
    fn from(all: Option<Vec<RolloutCondition>>) -> Self {
        let mut failures = all.unwrap_or_default();
        let progressing = failures.iter().find(|c| c.type_ == "Progressing");
        let (newest, named) = progressing.map_or((None, None), |c| (replica_set(&c.message), c.updated));
        failures.retain(|c| matches!((&*c.type_, &*c.status), ("ReplicaFailure", "True") | ("Progressing", "False")));
        failures.shrink_to_fit();
        Self { failures, newest, named }
    }
}

/// The ReplicaSet in the message of the condition `Progressing`, in each of its wordings (`Created new replica set "a-1"`,
/// `ReplicaSet "a-1" is progressing.`; kubernetes: pkg/controller/deployment/progress.go). Its template was the present one at
/// the last progress; see [`Deployment::unnamed_since`]. No other field of the API names it.
fn replica_set(message: &str) -> Option<Box<str>> {
    message.split('"').nth(1).filter(|name| !name.is_empty()).map(Into::into)
}

/// A condition of a Deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RolloutCondition {
    /// `ReplicaFailure` (pods cannot be created) or `Progressing` (being False: the deadline has passed).
    #[serde(rename = "type")]
    pub type_: String,
    /// True, False or Unknown.
    pub status: String,
    /// The reason.
    pub reason: Reason,
    /// The message.
    pub message: String,
    /// Its transition time.
    #[serde(rename = "lastTransitionTime")]
    pub since: Option<Timestamp>,
    /// When the Deployment controller last wrote it, as it does with each progress.
    #[serde(rename = "lastUpdateTime")]
    pub updated: Option<Timestamp>,
}

impl Rollout {
    /// Whether a pod has an earlier template, so that its diagnosis is irrelevant for the present one. A pod whose template
    /// cannot be determined counts as one of the present template.
    #[must_use]
    pub fn is_past(&self, pod: &Meta) -> bool {
        let of = pod.controller.as_ref().map(|controller| &controller.owner.name);
        let named = self.conditions.newest.as_deref().zip(of).is_some_and(|(newest, of)| **of != *newest);
        // Without an updated pod, the ReplicaSet of the present template may not exist yet.
        named || self.updated_replicas == 0
    }
}

impl Deployment {
    /// Since when the named ReplicaSet may be that of an earlier template, if it may.
    ///
    /// For a template that existed before, the Deployment controller reuses its ReplicaSet, and names it only at the next
    /// progress; the ReplicaSet of an image that cannot be pulled is named until its pods are deleted (kubernetes:
    /// pkg/controller/deployment/sync.go, `getNewReplicaSet`, and progress.go, `syncRolloutStatus`).
    #[must_use]
    pub fn unnamed_since(&self) -> Option<Timestamp> {
        let Rollout { replicas, updated_replicas, conditions, .. } = &self.rollout;
        let is_earlier = |applied: &Timestamp| conditions.named.is_some_and(|named| named < *applied);
        self.applied.filter(|applied| is_earlier(applied) && replicas != updated_replicas)
    }
}

impl Projection for Deployment {
    const KIND: ResourceKind = ResourceKind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        #[derive(Default, Deserialize)]
        struct Spec {
            replicas: Option<i32>,
            #[serde(default)]
            strategy: Strategy,
            #[serde(default)]
            paused: bool,
            #[serde(default)]
            template: PodTemplate,
        }
        #[derive(Default, Deserialize)]
        struct PodTemplate {
            #[serde(default)]
            spec: Pods,
        }
        #[derive(Default, Deserialize)]
        struct Pods {
            #[serde(default)]
            containers: Vec<Container>,
        }
        #[derive(Deserialize)]
        struct Container {
            #[serde(default)]
            ports: Vec<ContainerPort>,
        }
        #[derive(Default, Deserialize)]
        struct Strategy {
            #[serde(rename = "rollingUpdate")]
            pace: Option<IgnoredAny>,
        }
        #[derive(Default, Deserialize)]
        struct Labeled {
            labels: Option<BTreeMap<String, String>>,
        }
        let live = ManagedFieldsReader::read(json)?;
        let orphan = live.meta.controller.is_none();
        let orphaned = if orphan { live.field::<Labeled>("metadata")?.labels } else { None };
        let (fingerprint, additions, parts) = live.compare_parts(&Self::KIND)?;
        let spec = live.field::<Spec>("spec")?;
        let replicas = spec.replicas.unwrap_or(1);
        let ports = spec.template.spec.containers.into_iter().flat_map(|container| container.ports).collect();
        Ok(Self {
            fingerprint,
            additions,
            template: Template::of(&live, &parts, ports),
            owns_replicas: live.owns("/f:spec/f:replicas", replicas == 1),
            replicas,
            has_pace: spec.strategy.pace.is_some(),
            paused: spec.paused,
            applied: live.applied(),
            rollout: live.field::<Option<Rollout>>("status")?.unwrap_or_default(),
            orphaned: orphaned.unwrap_or_default(),
            meta: live.meta,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn carry_over(&mut self, before: Option<&Self>, _now: Instant) {
        self.additions.carry_over(before.map(|before| &before.additions));
        // A client that replaces the complete template removes the fields by which the defaults are detected.
        let same = before.filter(|before| before.meta.uid == self.meta.uid);
        self.template.has_defaults |= same.is_some_and(|before| before.template.has_defaults);
    }

    fn only_own_fields_changed(&self, before: &Self) -> bool {
        self.rollout == before.rollout && (self.owns_replicas || self.replicas == before.replicas)
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.owns_replicas == before.owns_replicas
            && self.replicas == before.replicas
            && self.has_pace == before.has_pace
            && self.paused == before.paused
            && self.template.restarted_at == before.template.restarted_at
            && self.template.contents == before.template.contents
            && self.applied == before.applied
            && self.rollout == before.rollout
            && self.orphaned == before.orphaned
    }
}

#[cfg(test)]
mod tests;
