//! Writes the status with server-side apply, and only if more than a timestamp changed. Only this module and `apply` write to
//! objects.

use api::{ConditionStatus, Contract, ObjectStatus, ReconcileReason, condition_type};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::conditions::condition;
use crate::Error;
use crate::apply::ObjectWriter;
use crate::cache::{KindHealth, Undecodable};
use crate::crd::schema::retain_known_fields;
use crate::events::Publisher;
use crate::metrics::stalled;
use crate::plan::meta::{Key, Meta, ResourceKind};
use crate::projections::Resource;
use crate::status::outcome::{ReconcileOutcome, next_status};
use crate::status::undecodable::undecodable;
use crate::workqueue::ResourceVersion;

pub mod conditions;
mod no_op_writes;
pub mod outcome;
mod undecodable;

pub use no_op_writes::NoOpWrites;

/// Writes the status of objects of one controller.
pub struct StatusWriter {
    /// Sends the writes.
    pub writer: ObjectWriter,
    /// Publishes an Event for each transition.
    pub events: Publisher,
    /// This manager, as namespace/name of its Lease.
    pub managed_by: String,
    /// The controller's name.
    pub controller: &'static str,
    /// The statuses whose write changed nothing.
    pub no_op_writes: NoOpWrites,
}

impl StatusWriter {
    /// Writes the status after a reconcile of `object`; see [`next_status`].
    ///
    /// # Errors
    /// If the write failed. A deleted object needs no status.
    pub async fn write<R: Resource>(
        &self,
        object: &R,
        planned: Option<R::Status>,
        outcome: ReconcileOutcome<'_>,
        failures: u32,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (meta, before) = (object.meta(), object.status());
        let next = next_status(planned, outcome, before, meta, &self.managed_by, failures, now);
        stalled::record(self.controller, &meta.key, next.as_ref().unwrap_or(before).contract());
        let version = self.release_conflict::<R>(meta, before.contract()).await?;
        let Some(status) = next.filter(|status| !self.no_op_writes.contains(&meta.key, before, status)) else {
            return Ok(());
        };
        let Some(now) = self.apply(&R::KIND, meta, Some(version), self.writer.manager(), &status).await? else {
            return Ok(());
        };
        self.no_op_writes.record(&meta.key, before, &status, now == version);
        for event in conditions::transitions(before.contract(), status.contract()) {
            self.events.publish(&R::KIND, meta, event);
        }
        Ok(())
    }

    /// Reports that an object does not decode and is not reconciled. The rest of its status is sent as well: an apply would
    /// remove the fields of this manager that it does not contain.
    ///
    /// # Errors
    /// If the write failed.
    pub async fn write_undecodable(
        &self,
        kind: &ResourceKind,
        entry: &Undecodable,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Undecodable { meta, error, contract: before, status, .. } = entry;
        let next = undecodable(before, error, meta.generation, &self.managed_by, now);
        stalled::record(self.controller, &meta.key, next.as_ref().unwrap_or(before));
        let Some(contract) = next else { return Ok(()) };
        let mut status = status.clone();
        if let Ok(Value::Object(fields)) = serde_json::to_value(&contract) {
            status.extend(fields);
        }
        if self.apply(kind, meta, Some(meta.resource_version), self.writer.manager(), &status).await?.is_none() {
            return Ok(());
        }
        for event in conditions::transitions(before, &contract) {
            self.events.publish(kind, meta, event);
        }
        Ok(())
    }

    /// Reports that another manager manages the object. Only this condition is written, with a field manager of its own, so that
    /// the status of the other manager stays.
    ///
    /// # Errors
    /// If the write failed.
    pub async fn write_conflict<R: Resource>(&self, object: &R, message: String, now: Timestamp) -> Result<(), Error> {
        self.stop_reporting(object.meta());
        if object.status().contract().condition(condition_type::CONFLICT).is_some_and(|c| c.message == message) {
            return Ok(());
        }
        let conflict =
            condition(condition_type::CONFLICT, ConditionStatus::True, ReconcileReason::ManagedElsewhere, message, now);
        let status = json!({ "conditions": [conflict] });
        self.apply(&R::KIND, object.meta(), None, &self.conflict_manager(), &status).await.map(drop)
    }

    /// Forgets a deleted object.
    pub fn forget(&self, key: &Key) {
        self.writer.forget(key);
        self.no_op_writes.forget(key);
    }

    /// Removes the metric of an object that this install does not manage.
    pub fn stop_reporting(&self, meta: &Meta) {
        stalled::forget(self.controller, &meta.key);
    }

    /// Removes this manager's condition Conflict once it manages the object. Returns the version of the object.
    async fn release_conflict<R: Resource>(&self, meta: &Meta, before: &Contract) -> Result<u64, Error> {
        // The condition of another manager stays. Without a condition of its own, the write would change nothing, and the
        // response would have the version of another client's write.
        if before.condition(condition_type::CONFLICT).is_none_or(|c| !c.message.contains(&self.conflict_marker())) {
            return Ok(meta.resource_version);
        }
        let manager = self.conflict_manager();
        let now = self.apply(&R::KIND, meta, Some(meta.resource_version), &manager, &json!({})).await?;
        Ok(now.unwrap_or(meta.resource_version))
    }

    /// The part of a message that identifies this manager's condition Conflict, also one of an earlier version.
    #[must_use]
    pub fn conflict_marker(&self) -> String {
        format!(", and {} ", self.managed_by)
    }

    fn conflict_manager(&self) -> String {
        format!("{}/{}", self.managed_by, self.writer.manager())
    }

    /// Applies a status, optionally only to the version of the object that was observed: a reconcile that has not observed a
    /// latched decision must not remove it. Fields that the CRD does not have are left out. Returns the version of the object, or
    /// `None` if the object was deleted or the CRD has no subresource status.
    async fn apply(
        &self,
        kind: &ResourceKind,
        meta: &Meta,
        version: Option<u64>,
        manager: &str,
        status: &impl serde::Serialize,
    ) -> Result<Option<u64>, Error> {
        let key = &meta.key;
        let mut body: Value = json!({
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "metadata": { "name": &*key.name, "namespace": &*key.namespace, "uid": meta.uid },
            "status": status,
        });
        if let Some(version) = version {
            body["metadata"]["resourceVersion"] = json!(version.to_string());
        }
        let health = self.writer.health(kind);
        let crd = health.map(KindHealth::crd).unwrap_or_default();
        if let Some(mismatches) = crd.mismatches() {
            retain_known_fields(&mut body, mismatches);
        }
        let path = format!("{}/status", kind.path_of(key));
        match self.writer.send(&path, manager, true, &body).await {
            Ok(answer) => {
                self.writer.wrote(key, *kind, key, ResourceVersion::Exact(answer.metadata.resource_version));
                Ok(Some(answer.metadata.resource_version))
            }
            Err(error) if error.reason() == ReconcileReason::NotFound || error.is_undeclared_field() => {
                // Without the subresource, the response is the same as without the object.
                if let Some(health) = health.filter(|_| !meta.deleting) {
                    health.status_rejected();
                }
                let is_reported = error.reason() == ReconcileReason::NotFound || crd.mismatches().is_some();
                if is_reported { Ok(None) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
