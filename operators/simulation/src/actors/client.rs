//! The requests of actors. They read the present state, and no fault hits them: the latency before each step stands for the delay
//! of their informers. A write that a real controller never gets refused for its content fails the schedule.

use std::sync::Arc;

use serde_json::Value;

use super::object;
use crate::api_server::kinds::KindId;
use crate::api_server::request::{Answer, ApiError, ApiRequest, DeleteOptions, Patch, Subresource, Verb};
use crate::api_server::service::SimulatedApiServer;
use crate::api_server::state::AuditEntry;

/// The user and field manager of the controllers of Kubernetes.
pub const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// Why an object cannot be created in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "because it is being terminated";

/// The requests of one component.
pub struct Client<'a> {
    server: &'a SimulatedApiServer,
    user: &'static str,
}

/// An object that a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub kind: KindId,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Target {
    /// That object.
    pub fn of(kind: KindId, object: &Value) -> Self {
        Self { kind, namespace: object::namespace(object).to_owned(), name: object::name(object).to_owned() }
    }
}

impl<'a> Client<'a> {
    /// The requests of `user`, which is also the owner of the fields that it changes.
    pub fn new(server: &'a SimulatedApiServer, user: &'static str) -> Self {
        Self { server, user }
    }

    /// The kind of that plural name. A kind that the API server lacks fails the schedule.
    pub fn kind(&self, plural: &str) -> Option<KindId> {
        let kind = self.server.read(|state| state.kinds().plural(plural));
        if kind.is_none() {
            self.note_unmodelled(format!("{} needs the kind {plural}", self.user));
        }
        kind
    }

    /// All objects of a kind.
    pub fn list(&self, kind: KindId) -> Vec<Arc<Value>> {
        self.server.read(|state| state.all(kind).map(|(_, object)| Arc::clone(object)).collect())
    }

    /// One object.
    pub fn get(&self, kind: KindId, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.server.read(|state| state.get(kind, namespace, name).cloned())
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As the API server refuses it.
    pub fn create(&self, kind: KindId, body: Value) -> Result<Value, ApiError> {
        let mut target = Target::of(kind, &body);
        target.name.clear();
        self.send(target, None, Verb::Create { body, strict: false })
    }

    /// Replaces an object.
    ///
    /// # Errors
    /// As the API server refuses it.
    pub fn update(&self, kind: KindId, body: Value) -> Result<Value, ApiError> {
        self.send(Target::of(kind, &body), None, Verb::Update { body })
    }

    /// Replaces the status of an object.
    ///
    /// # Errors
    /// As the API server refuses it.
    pub fn update_status(&self, kind: KindId, body: Value) -> Result<Value, ApiError> {
        self.send(Target::of(kind, &body), Some(Subresource::Status), Verb::Update { body })
    }

    /// Changes an object with a merge patch.
    ///
    /// # Errors
    /// As the API server refuses it.
    pub fn merge(&self, target: Target, patch: Value) -> Result<Value, ApiError> {
        self.send(target, None, Verb::Patch(Patch::Merge(patch)))
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As the API server refuses it.
    pub fn delete(&self, target: Target, options: DeleteOptions) -> Result<Value, ApiError> {
        self.send(target, None, Verb::Delete(options))
    }

    /// The user of the last request that changed something, or tried to, for which `wanted` holds.
    pub fn last_write(&self, wanted: impl Fn(&AuditEntry) -> bool) -> Option<String> {
        self.server.read(|state| state.audit().iter().rev().find(|entry| wanted(entry)).map(|entry| entry.user.clone()))
    }

    /// Fails the schedule.
    pub fn note_unmodelled(&self, what: String) {
        self.server.edit(|state| state.note_unmodelled(what));
    }

    fn send(&self, target: Target, subresource: Option<Subresource>, verb: Verb) -> Result<Value, ApiError> {
        let request = ApiRequest {
            user: self.user.to_owned(),
            kind: target.kind,
            namespace: Some(target.namespace).filter(|namespace| !namespace.is_empty()),
            name: Some(target.name).filter(|name| !name.is_empty()),
            subresource,
            verb,
            manager: self.user.to_owned(),
            metadata_only: false,
            sent: None,
        };
        let refused = match self.server.perform(&request) {
            Ok(Answer { body, .. }) => return Ok(Arc::unwrap_or_clone(body)),
            Err(refused) => refused,
        };
        if !is_ordinary(&refused) {
            self.note_unmodelled(format!("{} {}, to {request:?}", refused.code, refused.message));
        }
        Err(refused)
    }
}

/// Whether a real controller can get this refusal too: of a quota or a namespace, of a missing or a changed object. The API server
/// records what it does not model itself.
fn is_ordinary(refused: &ApiError) -> bool {
    matches!(refused.code, 403 | 404 | 409 | 501)
}

/// Whether the namespace of the object is being deleted.
pub fn is_terminating(refused: &ApiError) -> bool {
    refused.code == 403 && refused.message.contains(NAMESPACE_TERMINATING)
}

/// Whether the object is gone, or is another one by now: there is nothing to do anymore.
pub fn is_outdated(refused: &ApiError) -> bool {
    matches!(refused.code, 404 | 409)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::testing::{self, NAMESPACE};
    use serde_json::json;

    #[test]
    fn an_unexpected_refusal_fails_the_schedule_and_an_ordinary_one_does_not() {
        let server = testing::server();
        let client = Client::new(&server, CONTROLLER_MANAGER);
        let maps = client.kind("configmaps").unwrap();
        let absent = Target { kind: maps, namespace: NAMESPACE.to_owned(), name: "absent".to_owned() };
        let refused = client.delete(absent, DeleteOptions::default()).unwrap_err();
        assert!(is_outdated(&refused));
        assert!(server.read(|state| state.unmodelled().is_empty()));
        assert_eq!(client.kind("unicorns"), None);
        assert_eq!(server.read(|state| state.unmodelled().len()), 1);
    }

    #[test]
    fn written_objects_are_read_back() {
        let server = testing::server();
        let client = Client::new(&server, CONTROLLER_MANAGER);
        let maps = client.kind("configmaps").unwrap();
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": NAMESPACE }, "data": { "k": "v" },
        });
        let created = client.create(maps, body).unwrap();
        client.merge(Target::of(maps, &created), json!({ "data": { "k": "w" } })).unwrap();
        let live = client.get(maps, NAMESPACE, "a").unwrap();
        assert_eq!(live["data"], json!({ "k": "w" }));
        assert_eq!(live["metadata"]["managedFields"][0]["manager"], CONTROLLER_MANAGER);
        assert_eq!(client.list(maps).len(), 1);
    }
}
