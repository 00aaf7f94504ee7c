//! An API server for tests of its verbs.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api_server::kinds::{KindId, Kinds};
use crate::api_server::request::{Answer, ApiError, ApiRequest, DeleteOptions, ListOptions, Patch, Subresource, Verb};
use crate::api_server::state::StoredState;

/// An API server with the namespace `n`, and the time.
pub(crate) struct Bench {
    pub(crate) state: StoredState,
    pub(crate) now: Timestamp,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let now = "2026-01-01T00:00:00.5Z".parse().unwrap();
        let mut bench = Self { state: StoredState::new(Kinds::all()), now };
        bench.create("namespaces", &json!({ "metadata": { "name": "n" } }));
        bench
    }

    pub(crate) fn id(&self, plural: &str) -> KindId {
        self.state.kinds().plural(plural).unwrap()
    }

    /// A request of the user `user` about an object in the namespace `n`, if the kind is in namespaces.
    pub(crate) fn request(&self, plural: &str, name: Option<&str>, verb: Verb) -> ApiRequest {
        let kind = self.id(plural);
        let namespaced = self.state.kinds().get(kind).unwrap().namespaced;
        ApiRequest {
            user: "user".to_owned(),
            kind,
            namespace: namespaced.then(|| "n".to_owned()),
            name: name.map(str::to_owned),
            subresource: None,
            verb,
            manager: "user".to_owned(),
            metadata_only: false,
            sent: None,
        }
    }

    pub(crate) fn perform(&mut self, request: &ApiRequest) -> Result<Answer, ApiError> {
        self.state.perform(request, self.now)
    }

    pub(crate) fn send(&mut self, plural: &str, name: &str, verb: Verb) -> Result<Value, ApiError> {
        let request = self.request(plural, Some(name), verb);
        self.perform(&request).map(|answer| Arc::unwrap_or_clone(answer.body))
    }

    pub(crate) fn send_to(
        &mut self,
        part: Subresource,
        plural: &str,
        name: &str,
        verb: Verb,
    ) -> Result<Value, ApiError> {
        let request = ApiRequest { subresource: Some(part), ..self.request(plural, Some(name), verb) };
        self.perform(&request).map(|answer| Arc::unwrap_or_clone(answer.body))
    }

    pub(crate) fn try_create(&mut self, plural: &str, body: &Value) -> Result<Answer, ApiError> {
        let request = self.request(plural, None, Verb::Create { body: body.clone(), strict: true });
        self.perform(&request)
    }

    pub(crate) fn create(&mut self, plural: &str, body: &Value) -> Value {
        let answer = self.try_create(plural, body).unwrap();
        assert_eq!(answer.code, 201);
        Arc::unwrap_or_clone(answer.body)
    }

    pub(crate) fn update(&mut self, plural: &str, name: &str, body: &Value) -> Result<Value, ApiError> {
        self.send(plural, name, Verb::Update { body: body.clone() })
    }

    pub(crate) fn merge(&mut self, plural: &str, name: &str, patch: &Value) -> Result<Value, ApiError> {
        self.send(plural, name, Verb::Patch(Patch::Merge(patch.clone())))
    }

    pub(crate) fn delete(&mut self, plural: &str, name: &str, options: DeleteOptions) -> Result<Value, ApiError> {
        self.send(plural, name, Verb::Delete(options))
    }

    pub(crate) fn get(&mut self, plural: &str, name: &str) -> Result<Value, ApiError> {
        self.send(plural, name, Verb::Get)
    }

    pub(crate) fn list(&mut self, plural: &str, options: ListOptions) -> Result<Value, ApiError> {
        let request = self.request(plural, None, Verb::List(options));
        self.perform(&request).map(|answer| Arc::unwrap_or_clone(answer.body))
    }

    /// The changes since a version, as the kind of change and the name.
    pub(crate) fn changes(&self, since: u64) -> Vec<String> {
        let changes = self.state.changes(since).unwrap();
        changes.iter().map(|change| format!("{:?} {}", change.event, change.key.1)).collect()
    }
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": value } })
}

pub(crate) fn sample(name: &str, text: &str) -> Value {
    json!({ "apiVersion": "example.com/v1alpha1", "kind": "Sample", "metadata": { "name": name }, "testString": text })
}

pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": {
        "replicas": replicas,
        "selector": { "matchLabels": { "app": name } },
        "template": {
            "metadata": { "labels": { "app": name } },
            "spec": { "containers": [{ "name": "main", "image": "image:1" }] },
        },
    } })
}

pub(crate) fn pod(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": {
        "terminationGracePeriodSeconds": 20,
        "containers": [{ "name": "main", "image": "image:1" }],
    } })
}

/// A text at a JSON pointer.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
