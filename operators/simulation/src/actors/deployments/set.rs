//! But for its write: a ReplicaSet while its Deployment is brought up to date.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::client::{Client, Target, is_outdated};
use super::super::object::{annotation, name, number, seconds, set_shared};
use crate::api_server::kinds::KindId;
use crate::api_server::request::{ApiError, DeleteOptions};

/// The revision of a ReplicaSet and of its Deployment.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

/// Earlier revisions of a ReplicaSet.
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// The replicas of the Deployment when its ReplicaSets were scaled last.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";

/// The most pods of the Deployment then.
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// A ReplicaSet.
pub(super) struct Set {
    /// As the API server has it; none if it is to be created.
    before: Option<Arc<Value>>,
    /// As it is to be.
    pub(super) value: Arc<Value>,
    /// It is to be deleted.
    pub(super) deleted: bool,
}

impl Set {
    /// One that exists.
    pub(super) fn existing(before: Arc<Value>) -> Self {
        Self { value: before.clone(), before: Some(before), deleted: false }
    }

    /// One that is to be created.
    pub(super) fn created(value: Value) -> Self {
        Self { before: None, value: Arc::new(value), deleted: false }
    }

    /// Whether it is to be created.
    pub(super) fn is_created(&self) -> bool {
        self.before.is_none()
    }

    /// By which sets are sorted: their creation, then their name.
    pub(super) fn age(&self) -> (i64, String) {
        (seconds(&self.value["metadata"]["creationTimestamp"]), name(&self.value).to_owned())
    }

    /// How many pods it is to have.
    pub(super) fn replicas(&self) -> i64 {
        number(&self.value["spec"]["replicas"])
    }

    /// A number of its status.
    pub(super) fn status(&self, field: &str) -> i64 {
        number(&self.value["status"][field])
    }

    /// Its revision; 0 if it has none.
    pub(super) fn revision(&self) -> i64 {
        self.number(REVISION).unwrap_or_default()
    }

    /// The replicas of the Deployment when it was scaled last.
    pub(super) fn desired(&self) -> Option<i64> {
        self.number(DESIRED)
    }

    /// The most pods of the Deployment then.
    pub(super) fn most(&self) -> Option<i64> {
        self.number(MOST)
    }

    fn number(&self, name: &str) -> Option<i64> {
        annotation(&self.value, name).parse().ok()
    }

    /// Sets an annotation.
    pub(super) fn annotate(&mut self, name: &str, value: impl Into<String>) {
        set_shared(&mut self.value, &["metadata", "annotations", name], Value::String(value.into()));
    }

    /// Sets the size, and for which Deployment. Returns whether the size changed.
    pub(super) fn scale(&mut self, replicas: i64, desired: i64, most: i64) -> bool {
        let is_other = replicas != self.replicas();
        set_shared(&mut self.value, &["spec", "replicas"], json!(replicas));
        self.annotate(DESIRED, desired.to_string());
        self.annotate(MOST, most.to_string());
        is_other
    }

    /// Whether it has no pods, and is to have none.
    pub(super) fn is_empty(&self) -> bool {
        let is_observed = number(&self.value["metadata"]["generation"]) <= self.status("observedGeneration");
        self.status("replicas") == 0 && self.replicas() == 0 && is_observed
    }

    /// Creates, changes or deletes it.
    pub(super) fn write(&self, client: &Client<'_>, kind: KindId) -> Result<(), ApiError> {
        match &self.before {
            None => client.create(kind, Value::clone(&self.value)).map(drop),
            Some(before) if self.deleted => {
                let deleted = client.delete(Target::of(kind, before), deletion(before));
                deleted.map(drop).or_else(|refused| if is_outdated(&refused) { Ok(()) } else { Err(refused) })
            }
            Some(before) if *before != self.value => client.update(kind, Value::clone(&self.value)).map(drop),
            Some(_) => Ok(()),
        }
    }
}

/// The deletion of exactly this object.
fn deletion(of: &Value) -> DeleteOptions {
    DeleteOptions { uid: of["metadata"]["uid"].as_str().map(ToOwned::to_owned), ..DeleteOptions::default() }
}
