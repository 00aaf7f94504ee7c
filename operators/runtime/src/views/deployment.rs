//! Deployments of ours.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::cache::View;
use crate::plan::drift::{Additions, Fingerprint};
use crate::plan::meta::{Kind, Meta};

use super::live::Live;

/// A Deployment of ours: identity, drift, and how its rollout goes.
#[derive(Debug)]
pub struct Deployment {
    /// Who it is.
    pub meta: Meta,
    /// What of it is ours.
    pub fingerprint: Fingerprint,
    /// What others have added where all is ours.
    pub additions: Additions,
    /// Whether the number of pods is ours.
    pub owns_replicas: bool,
    /// The number of pods asked for, by us or by an autoscaler.
    pub replicas: i32,
    /// Whether it has a pace of rolling updates, given or filled in by the API server.
    pub has_pace: bool,
    /// Whether it is paused, so that its own controller replaces no pods.
    pub paused: bool,
    /// What the Deployment's own controller says.
    pub rollout: Rollout,
}

/// What a Deployment's status says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollout {
    /// The generation that the numbers speak of.
    pub observed_generation: i64,
    /// Pods that exist.
    pub replicas: i32,
    /// Pods of the present template.
    pub updated_replicas: i32,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// Pods that have been ready for as long as the Deployment asks for.
    pub available_replicas: i32,
    /// Only those that tell of a failure.
    #[serde(deserialize_with = "failures_only")]
    pub conditions: Vec<RolloutCondition>,
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
    /// In one word.
    pub reason: String,
    /// In words.
    pub message: String,
}

fn failures_only<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<RolloutCondition>, D::Error> {
    let mut conditions = Option::<Vec<RolloutCondition>>::deserialize(deserializer)?.unwrap_or_default();
    conditions.retain(|c| matches!((&*c.type_, &*c.status), ("ReplicaFailure", "True") | ("Progressing", "False")));
    conditions.shrink_to_fit();
    Ok(conditions)
}

impl View for Deployment {
    const KIND: Kind = Kind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        #[derive(Default, Deserialize)]
        struct Spec {
            replicas: Option<i32>,
            #[serde(default)]
            strategy: Strategy,
            #[serde(default)]
            paused: bool,
        }
        #[derive(Default, Deserialize)]
        struct Strategy {
            #[serde(rename = "rollingUpdate")]
            pace: Option<IgnoredAny>,
        }
        let mut live = Live::read(json)?;
        let (fingerprint, additions) = live.compare(&Self::KIND)?;
        let spec = live.field::<Spec>("spec")?;
        Ok(Self {
            fingerprint,
            additions,
            owns_replicas: live.owns("/f:spec/f:replicas"),
            replicas: spec.replicas.unwrap_or(1),
            has_pace: spec.strategy.pace.is_some(),
            paused: spec.paused,
            rollout: live.field::<Option<Rollout>>("status")?.unwrap_or_default(),
            meta: live.meta,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn untouched_by_others(&self, before: &Self) -> bool {
        self.rollout == before.rollout && (self.owns_replicas || self.replicas == before.replicas)
    }

    fn same(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.owns_replicas == before.owns_replicas
            && self.replicas == before.replicas
            && self.has_pace == before.has_pace
            && self.paused == before.paused
            && self.rollout == before.rollout
    }
}
