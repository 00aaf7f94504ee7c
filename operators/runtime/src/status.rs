//! Writes status, by server-side apply, and only if more than a timestamp changed. With `apply`, the only file that
//! writes to objects.

use api::{ConditionStatus, Contract, ReconcileReason, Status, condition_type};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::conditions::condition;
use crate::Error;
use crate::apply::Writer;
use crate::cache::{Broken, Health};
use crate::crd::schema::hold;
use crate::events::Publisher;
use crate::metrics::stalled;
use crate::plan::meta::{Key, Kind, Meta};
use crate::projections::Resource;
use crate::status::outcome::{ReconcileOutcome, next_status};
use crate::status::undecodable::undecodable;
use crate::workqueue::At;

pub mod conditions;
pub mod outcome;
mod undecodable;
mod vain;

pub use vain::Vain;

/// Writes the status of objects of one controller.
pub struct StatusWriter {
    /// Sends the writes.
    pub writer: Writer,
    /// Gets an Event for each transition.
    pub events: Publisher,
    /// This manager, as namespace/name of its Lease.
    pub managed_by: String,
    /// The controller's name.
    pub controller: &'static str,
    /// What would change nothing.
    pub vain: Vain,
}

impl StatusWriter {
    /// Writes what a pass over `object` came to; see [`next_status`].
    ///
    /// # Errors
    /// If the write failed. An object that is gone needs no status.
    pub async fn write<R: Resource>(
        &self,
        object: &R,
        planned: Option<R::Status>,
        came: ReconcileOutcome<'_>,
        failures: u32,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (meta, before) = (object.meta(), object.status());
        let told = next_status(planned, came, before, meta, &self.managed_by, failures, now);
        stalled::tell(self.controller, &meta.key, told.as_ref().unwrap_or(before).contract());
        let version = self.release_conflict::<R>(meta, before.contract()).await?;
        let Some(status) = told.filter(|status| !self.vain.is(&meta.key, before, status)) else { return Ok(()) };
        let Some(now) = self.apply(&R::KIND, meta, Some(version), self.writer.manager(), &status).await? else {
            return Ok(());
        };
        self.vain.note(&meta.key, before, &status, now == version);
        for announcement in conditions::transitions(before.contract(), status.contract()) {
            self.events.publish(&R::KIND, meta, announcement);
        }
        Ok(())
    }

    /// Says of an object that does not decode why nothing is done for it. All else that its status holds stays: an apply
    /// takes away whatever of this manager it does not name.
    ///
    /// # Errors
    /// If the write failed.
    pub async fn write_broken(&self, kind: &Kind, broken: &Broken, now: Timestamp) -> Result<(), Error> {
        let Broken { meta, error, contract: before, status, .. } = broken;
        let told = undecodable(before, error, meta.generation, &self.managed_by, now);
        stalled::tell(self.controller, &meta.key, told.as_ref().unwrap_or(before));
        let Some(contract) = told else { return Ok(()) };
        let mut status = status.clone();
        if let Ok(Value::Object(fields)) = serde_json::to_value(&contract) {
            status.extend(fields);
        }
        if self.apply(kind, meta, Some(meta.version), self.writer.manager(), &status).await?.is_none() {
            return Ok(());
        }
        for announcement in conditions::transitions(before, &contract) {
            self.events.publish(kind, meta, announcement);
        }
        Ok(())
    }

    /// Says that another live manager holds the object. Only that condition is written, by a field manager of its own,
    /// so that what the other manager wrote stays.
    ///
    /// # Errors
    /// If the write failed.
    pub async fn write_conflict<R: Resource>(&self, object: &R, message: String, now: Timestamp) -> Result<(), Error> {
        self.disown(object.meta());
        if object.status().contract().condition(condition_type::CONFLICT).is_some_and(|c| c.message == message) {
            return Ok(());
        }
        let held =
            condition(condition_type::CONFLICT, ConditionStatus::True, ReconcileReason::ManagedElsewhere, message, now);
        let status = json!({ "conditions": [held] });
        self.apply(&R::KIND, object.meta(), None, &self.conflict_manager(), &status).await.map(drop)
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &Key) {
        self.writer.forget(key);
        self.vain.forget(key);
    }

    /// Measures no more of an object that is not ours.
    pub fn disown(&self, meta: &Meta) {
        stalled::forget(self.controller, &meta.key);
    }

    /// Takes back a Conflict of ours, once the object is ours. Returns the version that the object is at.
    async fn release_conflict<R: Resource>(&self, meta: &Meta, before: &Contract) -> Result<u64, Error> {
        // Another manager's word is its own to take back; to take back nothing would be a write that changes nothing,
        // whose answer names a version that somebody else wrote.
        if before.condition(condition_type::CONFLICT).is_none_or(|c| !c.message.contains(&self.stands_back())) {
            return Ok(meta.version);
        }
        let manager = self.conflict_manager();
        let now = self.apply(&R::KIND, meta, Some(meta.version), &manager, &json!({})).await?;
        Ok(now.unwrap_or(meta.version))
    }

    /// The words by which this manager's Conflict is known.
    #[must_use]
    pub fn stands_back(&self) -> String {
        format!("{} stands back", self.managed_by)
    }

    fn conflict_manager(&self) -> String {
        format!("{}/{}", self.managed_by, self.writer.manager())
    }

    /// Applies a status, if need be only to the version of the object that it was judged by: what is latched in a status is
    /// not taken back by a pass that has not seen it. What the kind's CRD is known to lack is left out; returns the object's
    /// version, or nothing if the object is gone or the CRD lets no status be written.
    async fn apply(
        &self,
        kind: &Kind,
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
        let crd = health.map(Health::crd).unwrap_or_default();
        if let Some(lacks) = crd.lacking() {
            hold(&mut body, lacks);
        }
        let path = format!("{}/status", kind.path_of(key));
        match self.writer.send(&path, manager, true, &body).await {
            Ok(answer) => {
                self.writer.wrote(key, *kind, key, At::Version(answer.metadata.version));
                Ok(Some(answer.metadata.version))
            }
            Err(error) if error.reason() == ReconcileReason::NotFound || error.is_undeclared_field() => {
                // That there is no such subresource is answered as if there were no such object.
                if let Some(health) = health.filter(|_| !meta.deleting) {
                    health.refused();
                }
                let is_told = error.reason() == ReconcileReason::NotFound || crd.lacking().is_some();
                if is_told { Ok(None) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
