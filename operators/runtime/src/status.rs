//! Writes status, by server-side apply, and only if more than a timestamp changed. With `act`, the only file that
//! writes to objects.

use api::{ConditionStatus, Contract, Status, condition_type};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Error;
use crate::act::Writer;
use crate::cache::{Broken, Health};
use crate::events::Publisher;
use crate::metrics::stalled;
use crate::plan::conditions::{self, condition};
use crate::plan::crd::hold;
use crate::plan::meta::{Kind, Meta};
use crate::plan::report::{Came, report};
use crate::plan::undecodable::undecodable;
use crate::queue::At;
use crate::views::Resource;

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
}

impl StatusWriter {
    /// Writes what a pass over `object` came to; see [`report`].
    ///
    /// # Errors
    /// If the write failed. An object that is gone needs no status.
    pub async fn write<R: Resource>(
        &self,
        object: &R,
        planned: Option<R::Status>,
        came: Came<'_>,
        failures: u32,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (meta, before) = (object.meta(), object.status());
        let told = report(planned, came, before, meta, &self.managed_by, failures, now);
        stalled::tell(self.controller, &meta.key, told.as_ref().unwrap_or(before).contract());
        let version = self.release_conflict::<R>(meta, before.contract()).await?;
        let Some(status) = told else { return Ok(()) };
        if self.apply(&R::KIND, meta, Some(version), self.writer.manager(), &status).await?.is_none() {
            return Ok(());
        }
        for announcement in conditions::announcements(before.contract(), status.contract()) {
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
        for announcement in conditions::announcements(before, &contract) {
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
        let held = condition(condition_type::CONFLICT, ConditionStatus::True, "ManagedElsewhere", message, now);
        let status = json!({ "conditions": [held] });
        self.apply(&R::KIND, object.meta(), None, &self.conflict_manager(), &status).await.map(drop)
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
            Err(error) if error.reason() == "NotFound" || error.is_undeclared_field() => {
                // That there is no such subresource is answered as if there were no such object.
                if let Some(health) = health.filter(|_| !meta.deleting) {
                    health.refused();
                }
                let is_told = error.reason() == "NotFound" || crd.lacking().is_some();
                if is_told { Ok(None) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use futures::FutureExt;
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;

    use super::*;
    use crate::cache::{Entry, Store, View as _};
    use crate::leader::Fence;
    use crate::plan::crd::{Crd, Lack, Step};
    use crate::queue::Queue;
    use crate::views::Claim;

    type Sent = Arc<Mutex<Vec<(String, Value)>>>;

    /// A writer to an API server that takes everything, and what it was sent.
    fn writer() -> (StatusWriter, Sent) {
        let taken = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "8" } });
        let (writer, _, sent) = writer_to(200, taken);
        (writer, sent)
    }

    /// A writer to an API server that answers that, what it knows of the kind, and what it was sent.
    fn writer_to(code: u16, answer: Value) -> (StatusWriter, Arc<Health>, Sent) {
        let sent = Sent::default();
        let all = sent.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (all, answer) = (all.clone(), answer.to_string().into_bytes());
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect_bytes().await.unwrap();
                all.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
                Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(answer)).unwrap())
            }
        });
        let client = Client::new(service, "default");
        let events = crate::events::channel(client.clone(), "manager").0("test");
        let mut writer = Writer::new(client, Queue::new("test"), "test", Fence::open());
        let store = Arc::new(Store::<Claim>::new(1));
        writer.knows(&store);
        (
            StatusWriter { writer, events, managed_by: "ns/lease".to_owned(), controller: "test" },
            store.health().clone(),
            sent,
        )
    }

    /// An object that does not decode.
    fn broken(status: &Value) -> Arc<Broken> {
        let object = json!({ "metadata": { "namespace": "n", "name": "a", "uid": "u", "resourceVersion": "7",
            "generation": 2 }, "spec": "not what is expected", "status": status });
        let Ok(Entry::Broken(broken)) = Entry::<Claim>::decode(&object.to_string()) else { panic!("it decodes") };
        broken
    }

    fn refusal(code: u16, reason: &str, message: &str) -> Value {
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message })
    }

    /// An apply takes away whatever of this manager it does not name.
    #[tokio::test]
    async fn an_object_that_does_not_decode_keeps_its_whole_status() {
        let facts = json!({ "clusterID": "7", "members": ["a-1", "a-2"], "storage": { "claim": "data-a-17" } });
        let mut status = facts.clone();
        status["observedGeneration"] = json!(1);
        status["conditions"] = json!([{ "type": "UpToDate", "status": "True", "reason": "Current", "message": "m",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
        let (broken, (writer, sent)) = (broken(&status), writer());
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        writer.write_broken(&Claim::KIND, &broken, now).await.unwrap();
        let (path, body) = sent.lock().unwrap().first().cloned().expect("it is written");
        assert!(path.ends_with("/a/status"), "{path}");
        assert_eq!(body["metadata"]["resourceVersion"], "7", "only to what was judged");
        for (name, fact) in facts.as_object().unwrap() {
            assert_eq!(body["status"][name], *fact, "{name}");
        }
        let conditions = body["status"]["conditions"].as_array().unwrap();
        let of = |type_: &str| conditions.iter().find(|of| of["type"] == type_).unwrap_or_else(|| panic!("no {type_}"));
        assert_eq!((&of("Stalled")["reason"], &of("UpToDate")["reason"]), (&json!("Undecodable"), &json!("Current")));
    }
    /// An API server answers so if the CRD has no subresource status.
    #[tokio::test]
    async fn a_status_that_finds_no_object_is_no_error_and_reason_to_look_at_the_crd() {
        let (writer, health, sent) = writer_to(404, refusal(404, "NotFound", "samples.example.com \"a\" not found"));
        writer.write_broken(&Claim::KIND, &broken(&json!({})), Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(sent.lock().unwrap().len(), 1);
        assert!(health.refusal().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_field_that_the_crd_lacks_is_an_error_until_that_is_known_and_then_is_left_out() {
        let message = "failed to create typed patch object (n/a; example.com/v1, Kind=A): .status.extra: field not declared in schema";
        let (writer, health, sent) = writer_to(500, refusal(500, "InternalError", message));
        let broken = broken(&json!({ "extra": 1, "kept": 2 }));
        let write = async || writer.write_broken(&Claim::KIND, &broken, Timestamp::UNIX_EPOCH).await;
        write().await.unwrap_err();
        assert!(health.refusal().now_or_never().is_some());
        let extra = [Step::Field("status".into()), Step::Field("extra".into())];
        health.judged(&Crd::Lacks([Lack::Field(extra.to_vec())].into()));
        write().await.unwrap();
        let (_, body) = sent.lock().unwrap().pop().unwrap();
        assert_eq!((&body["status"]["extra"], &body["status"]["kept"]), (&json!(null), &json!(2)));
    }
}
