//! Deployments of ours.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::cache::View;
use crate::plan::drift::{Additions, Fingerprint};
use crate::plan::meta::{CONTENTS, Kind, Meta, RESTARTED_AT};

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
    /// Its pod template, as far as we made it.
    pub template: Template,
    /// Whether the number of pods is ours.
    pub owns_replicas: bool,
    /// The number of pods asked for, by us or by an autoscaler.
    pub replicas: i32,
    /// Whether it has a pace of rolling updates, given or filled in by the API server.
    pub has_pace: bool,
    /// Whether it is paused, so that its own controller replaces no pods.
    pub paused: bool,
    /// When we last changed what of it is ours, in the API server's time.
    pub applied: Option<Timestamp>,
    /// What the Deployment's own controller says.
    pub rollout: Rollout,
}

/// The pod template of a Deployment, as far as we made it.
#[derive(Debug)]
pub struct Template {
    /// What of it is ours.
    pub fingerprint: Fingerprint,
    /// Whether it has what managers give to pods by themselves since they name a default container.
    pub has_defaults: bool,
    /// When pods were last told to start again.
    pub restarted_at: Option<Box<str>>,
    /// A digest of the objects whose content pods were started with.
    pub contents: Option<Box<str>>,
}

impl Template {
    /// Of what was read of a Deployment.
    fn of(live: &Live<'_>, parts: &Value) -> Self {
        const PATH: &str = "/f:spec/f:template";
        // A `/` in a name is `~1` in a path.
        const DEFAULTS: [&str; 2] = [
            "/f:metadata/f:annotations/f:kubectl.kubernetes.io~1default-container",
            "/f:spec/f:topologySpreadConstraints",
        ];
        let template = parts.pointer("/spec/template");
        let annotation = |name: &str| template?["metadata"]["annotations"][name].as_str().map(Into::into);
        Self {
            fingerprint: live.fingerprint_within(template, PATH),
            has_defaults: DEFAULTS.iter().any(|path| live.owns(&format!("{PATH}{path}"), false)),
            restarted_at: annotation(RESTARTED_AT),
            contents: annotation(CONTENTS),
        }
    }
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
    /// What its conditions say.
    pub conditions: Conditions,
}

/// What a Deployment's conditions say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Option<Vec<RolloutCondition>>")]
pub struct Conditions {
    /// Those that tell of a failure.
    pub failures: Vec<RolloutCondition>,
    /// The ReplicaSet of the present template, if one is named: pods of another one are on their way out.
    pub newest: Option<Box<str>>,
}

impl From<Option<Vec<RolloutCondition>>> for Conditions {
    fn from(all: Option<Vec<RolloutCondition>>) -> Self {
        let mut failures = all.unwrap_or_default();
        let newest = failures.iter().find(|c| c.type_ == "Progressing").and_then(|c| replica_set(&c.message));
        failures.retain(|c| matches!((&*c.type_, &*c.status), ("ReplicaFailure", "True") | ("Progressing", "False")));
        failures.shrink_to_fit();
        Self { failures, newest }
    }
}

/// The ReplicaSet in the message of the condition `Progressing`, which is of the present template in each of its wordings (`Created
/// new replica set "a-1"`, `ReplicaSet "a-1" is progressing.`; kubernetes: pkg/controller/deployment/progress.go). The API names it
/// nowhere else.
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
    /// In one word.
    pub reason: String,
    /// In words.
    pub message: String,
    /// Since when it has its status.
    #[serde(rename = "lastTransitionTime")]
    pub since: Option<Timestamp>,
}

impl Rollout {
    /// Whether a pod is of an earlier template, so that what ails it says nothing about what is asked for now. One whose
    /// template cannot be told counts as of the present one.
    #[must_use]
    pub fn is_past(&self, pod: &Meta) -> bool {
        let of = pod.controller.as_ref().map(|controller| &controller.owner.name);
        let named = self.conditions.newest.as_deref().zip(of).is_some_and(|(newest, of)| **of != *newest);
        // After a change of the number of pods as well, the template's is observed before its ReplicaSet is made.
        named || self.updated_replicas == 0
    }
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
        let live = Live::read(json)?;
        let (fingerprint, additions, parts) = live.compare_parts(&Self::KIND)?;
        let spec = live.field::<Spec>("spec")?;
        let replicas = spec.replicas.unwrap_or(1);
        Ok(Self {
            fingerprint,
            additions,
            template: Template::of(&live, &parts),
            owns_replicas: live.owns("/f:spec/f:replicas", replicas == 1),
            replicas,
            has_pace: spec.strategy.pace.is_some(),
            paused: spec.paused,
            applied: live.applied(),
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

    fn succeed(&mut self, before: &Self) {
        self.additions.succeed(&before.additions);
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
            && self.template.restarted_at == before.template.restarted_at
            && self.template.contents == before.template.contents
            && self.applied == before.applied
            && self.rollout == before.rollout
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rollout(updated: i32, conditions: &serde_json::Value) -> Rollout {
        serde_json::from_value(json!({ "updatedReplicas": updated, "conditions": conditions })).unwrap()
    }

    fn pod(of: &str) -> Meta {
        let owner =
            json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": of, "uid": "r", "controller": true }]);
        serde_json::from_value(json!({ "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1",
            "ownerReferences": owner }))
        .unwrap()
    }

    #[test]
    fn pods_of_an_earlier_template_are_told_by_the_replica_set_that_is_named() {
        for message in [
            "ReplicaSet \"a-2\" is progressing.",
            "Created new replica set \"a-2\"",
            "Found new replica set \"a-2\"",
            "ReplicaSet \"a-2\" has successfully progressed.",
            "ReplicaSet \"a-2\" has timed out progressing.",
        ] {
            for status in ["True", "False"] {
                let named = rollout(1, &json!([{ "type": "Progressing", "status": status, "message": message }]));
                assert!(named.is_past(&pod("a-1")) && !named.is_past(&pod("a-2")), "{message}");
                assert_eq!(named.conditions.failures.len(), usize::from(status == "False"));
            }
        }
        let unnamed = json!([{ "type": "Progressing", "status": "True", "message": "Deployment is progressing." }]);
        assert!(!rollout(1, &unnamed).is_past(&pod("a-1")) && !rollout(1, &json!(null)).is_past(&pod("a-1")));
        assert!(rollout(0, &unnamed).is_past(&pod("a-1")), "no pod is of the present template");
    }

    #[test]
    fn a_template_is_read_as_far_as_we_made_it() {
        let annotations =
            json!({ "kubectl.kubernetes.io/default-container": "app", RESTARTED_AT: "now", CONTENTS: "c" });
        let read = |template: &serde_json::Value, owned: &serde_json::Value| {
            let managed = json!([{ "manager": "multi-operator-my-app", "operation": "Apply",
                "fieldsV1": { "f:spec": { "f:template": owned } } }]);
            let metadata =
                json!({ "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "managedFields": managed });
            let object = json!({ "metadata": metadata, "spec": { "template": template } });
            Deployment::decode(&object.to_string()).unwrap().template
        };
        let contents = json!({ format!("f:{CONTENTS}"): {} });
        let ours = json!({ "f:metadata": { "f:annotations": contents }, "f:spec": { "f:hostname": {} } });
        // What others have added is not in it.
        let theirs =
            json!({ "metadata": { "annotations": annotations }, "spec": { "hostname": "h", "subdomain": "s" } });
        let plain = read(&theirs, &ours);
        let sent = json!({ "metadata": { "annotations": { CONTENTS: "c" } }, "spec": { "hostname": "h" } });
        assert_eq!(plain.fingerprint, Fingerprint::of_rendered(&sent));
        assert_eq!((plain.restarted_at.as_deref(), plain.contents.as_deref()), (Some("now"), Some("c")));
        assert!(!plain.has_defaults, "a name of others' is no default of ours");

        let named = json!({ "f:metadata": { "f:annotations": { "f:kubectl.kubernetes.io/default-container": {} } } });
        let spread = json!({ "f:spec": { "f:topologySpreadConstraints": {} } });
        assert!([named, spread].iter().all(|ours| read(&theirs, ours).has_defaults));
    }
}
