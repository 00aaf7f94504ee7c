//! The ReplicaSet of the present template (kubernetes: `sync.go`, `getNewReplicaSet`).

use serde_json::{Value, json};

use super::super::conditions;
use super::super::object::{annotation, controller_reference, name, namespace, number, set, set_shared};
use super::Rollout;
use super::condition::PROGRESSING;
use super::set::{DESIRED, MOST, REVISION, REVISION_HISTORY, Set};
use super::template::{hash, is_same, selector_with_hash, with_hash};

/// Annotations of a Deployment that its ReplicaSets do not get.
const OWN_ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MOST,
    "deprecated.deployment.rollback.to",
];

impl Rollout<'_> {
    /// Finds the ReplicaSet of the present template and brings its revision up to date; creates it if there is none and it is to
    /// be created.
    pub(super) fn find_new(&mut self, create: bool) {
        let template = &self.deployment["spec"]["template"];
        self.new = self.sets.iter().position(|set| is_same(&set.value["spec"]["template"], template));
        let revision =
            self.old().iter().filter_map(|old| self.sets.get(*old)).map(Set::revision).max().unwrap_or_default() + 1;
        match self.new {
            Some(place) => self.reuse(place, revision),
            None if create => self.create(revision),
            None => {}
        }
    }

    fn reuse(&mut self, place: usize, revision: i64) {
        let Some(found) = self.sets.get_mut(place) else { return };
        annotate(found, &self.deployment, revision);
        let min_ready = &self.deployment["spec"]["minReadySeconds"];
        if number(&found.value["spec"]["minReadySeconds"]) != number(min_ready) {
            set_shared(&mut found.value, &["spec", "minReadySeconds"], min_ready.clone());
        }
        let (message, revision) = (format!("Found new replica set {:?}", name(&found.value)), found.revision());
        self.record_revision(revision);
        if conditions::find(&self.deployment["status"], PROGRESSING).is_none() {
            self.report_step("FoundNewReplicaSet", &message);
        }
    }

    fn create(&mut self, revision: i64) {
        let spec = &self.deployment["spec"];
        let hash = hash(&spec["template"], self.deployment["status"]["collisionCount"].as_i64());
        let template = with_hash(&spec["template"], &hash);
        let mut value = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": format!("{}-{hash}", name(&self.deployment)),
                "namespace": namespace(&self.deployment),
                "labels": template["metadata"]["labels"],
                "ownerReferences": [controller_reference(&self.deployment, "apps/v1", "Deployment")],
            },
            "spec": {
                "replicas": self.size_of_new(0),
                "selector": selector_with_hash(&spec["selector"], &hash),
                "template": template,
            },
        });
        if !spec["minReadySeconds"].is_null() {
            set(&mut value, &["spec", "minReadySeconds"], spec["minReadySeconds"].clone());
        }
        let mut created = Set::created(value);
        annotate(&mut created, &self.deployment, revision);
        created.annotate(DESIRED, self.replicas().to_string());
        created.annotate(MOST, self.most().to_string());
        let message = format!("Created new replica set {:?}", name(&created.value));
        self.new = Some(self.sets.len());
        self.sets.push(created);
        self.record_revision(revision);
        self.report_step("NewReplicaSetCreated", &message);
    }

    /// How many pods the new ReplicaSet may have that has so many.
    pub(super) fn size_of_new(&self, present: i64) -> i64 {
        let replicas = self.replicas();
        if !self.is_rolling() {
            return replicas;
        }
        let room = (self.most() - self.total()).max(0);
        if room == 0 { present } else { present + room.min(replicas - present) }
    }

    fn record_revision(&mut self, revision: i64) {
        let revision = revision.to_string();
        if annotation(&self.deployment, REVISION) != revision {
            set_shared(&mut self.deployment, &["metadata", "annotations", REVISION], json!(revision));
        }
    }
}

/// Gives a ReplicaSet the annotations of its Deployment, and its revision if that is a later one.
fn annotate(set: &mut Set, deployment: &Value, revision: i64) {
    let annotations = deployment["metadata"]["annotations"].as_object().into_iter().flatten();
    for (name, value) in annotations.filter(|(name, _)| !OWN_ANNOTATIONS.contains(&name.as_str())) {
        set.annotate(name, value.as_str().unwrap_or_default());
    }
    if set.revision() >= revision {
        return;
    }
    let former = annotation(&set.value, REVISION).to_owned();
    set.annotate(REVISION, revision.to_string());
    if former.is_empty() {
        return;
    }
    let history = annotation(&set.value, REVISION_HISTORY);
    let history = if history.is_empty() { former } else { format!("{history},{former}") };
    set.annotate(REVISION_HISTORY, history);
}
