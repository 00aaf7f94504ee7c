//! Another writer, which edits a child one field at a time, and the outcome of each edit.

use std::time::Duration;

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::By;
use super::schema::{Edit, Schemas};
use crate::audit::Audit;
use crate::call::{Call, lines};
use crate::namespace::Namespace;
use crate::patience::{Deadline, Moment};

const OTHER_WRITER: &str = "other-writer";
/// An edit that the manager has kept for this long, in normal time, is kept for good.
const REACTION: Duration = Duration::from_secs(1);
/// The promise is 1 s; a failure is what is far from it.
const BACK: Duration = Duration::from_secs(10);

/// What a Deployment's controller notes down.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// What came of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The API server did not take it.
    Refused,
    /// The API server took it, and changed nothing.
    Nothing,
    /// The object is as it was before.
    Back,
    /// The object is as it was edited.
    Stays,
}

/// A child of one object, and who edits it.
pub struct OtherWriter<'a> {
    pub ns: &'a Namespace,
    pub audit: &'a Audit,
    pub schemas: &'a Schemas,
    pub resource: &'a ApiResource,
    pub api: Api<DynamicObject>,
    pub name: &'a str,
}

/// The most writes that may revert an edit. The watch does not see a child without its label, so it counts as deleted: the
/// manager finds it when creating it fails, and may first have to take over its own fields before it applies them. A child with
/// an owner that does not exist may be deleted by the garbage collector, although its owner was restored.
fn most_writes(edit: &Edit) -> usize {
    let twice = ["metadata.labels", "metadata.ownerReferences"].iter().any(|field| edit.place().starts_with(field));
    if twice { 2 } else { 1 }
}

/// What an object is, without what changes with every write and what controllers note down.
pub fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    let metadata = &object["metadata"];
    let mut annotations = metadata["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove(REVISION);
    }
    let annotations = if annotations == json!({}) { Value::Null } else { annotations };
    if let Some(spec) = content["spec"].as_object_mut().filter(|_| object["kind"] == "Service") {
        // It gets others when its type comes back.
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    content["metadata"] = json!({
        "labels": metadata["labels"], "annotations": annotations, "finalizers": metadata["finalizers"],
        "ownerReferences": metadata["ownerReferences"],
    });
    content
}

impl OtherWriter<'_> {
    /// The child as it is now; a deleted one is recreated.
    pub async fn live(&self) -> Value {
        let deadline = Deadline::after(BACK);
        loop {
            match self.api.get_opt(self.name).await {
                Ok(Some(live)) => return serde_json::to_value(live).expect("objects are JSON"),
                Ok(None) if !deadline.is_over() => tokio::time::sleep(Duration::from_millis(20)).await,
                other => panic!("{}: {other:?}", self.name),
            }
        }
    }

    /// Makes an edit, waits for the outcome, and restores the object. The second value says what is wrong with the outcome.
    pub async fn makes(&self, edit: &Edit, by: By, foreign: bool) -> (Outcome, Option<String>) {
        let before = content(&self.live().await);
        let mark = self.audit.mark().expect("the audit log is there");
        let edited = match self.edit(edit, by).await {
            Some(Ok(edited)) => content(&edited),
            Some(Err(kube::Error::Api(_))) | None => return (Outcome::Refused, None),
            Some(Err(error)) => panic!("{edit}: {error}"),
        };
        if edited == before {
            return (Outcome::Nothing, None);
        }
        let (begun, deadline) = (Moment::now(), Deadline::after(BACK));
        loop {
            let now = content(&self.live().await);
            let passed = begun.passed();
            if now == before {
                let written = self.written(&mark);
                let wrong = if foreign {
                    Some("is listed as of others, and was taken back".to_owned())
                } else if written.len() > most_writes(edit) {
                    Some(format!("by {} writes:\n{}", written.len(), lines(&written)))
                } else {
                    None
                };
                return (Outcome::Back, wrong);
            }
            if foreign && passed.normal >= REACTION && now == edited || deadline.is_over() {
                let wrong = (!foreign || now != edited).then(|| format!("is now {now}; before: {before}"));
                self.takes_back(&before, by).await;
                return (Outcome::Stays, wrong);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What the manager has written to such children since then.
    fn written(&self, since: &Audit) -> Vec<Call> {
        let calls = since.calls().expect("the audit log can be read").into_iter();
        let is_one = |call: &Call| {
            call.namespace == self.ns.name
                && call.is_write()
                && call.target() == self.resource.plural
                && call.code.is_none_or(|code| code < 300)
        };
        calls.filter(is_one).collect()
    }

    async fn edit(&self, edit: &Edit, by: By) -> Option<Result<Value, kube::Error>> {
        let answer = match by {
            By::Update => loop {
                let edited = edit.applied_to(&self.live().await);
                match self.put(edited).await {
                    // Another writer (a controller) has written between the two.
                    Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "Conflict" => {}
                    other => break other,
                }
            },
            By::Patch => {
                let parameters = PatchParams { field_manager: Some(OTHER_WRITER.to_owned()), ..PatchParams::default() };
                let patch = edit.merge_patch(&edit.applied_to(&self.live().await));
                self.api.patch(self.name, &parameters, &Patch::Merge(patch)).await
            }
            By::ForcedApply => {
                let schema = self.schemas.kind(&self.resource.kind);
                let body = self.schemas.body(schema, &edit.applied_to(&self.live().await), edit)?;
                self.apply(body).await
            }
        };
        Some(answer.map(|object| serde_json::to_value(object).expect("objects are JSON")))
    }

    async fn put(&self, object: Value) -> Result<DynamicObject, kube::Error> {
        let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        let parameters = PostParams { field_manager: Some(OTHER_WRITER.to_owned()), ..PostParams::default() };
        self.api.replace(self.name, &parameters, &object).await
    }

    async fn apply(&self, mut body: Value) -> Result<DynamicObject, kube::Error> {
        body["apiVersion"] = json!(self.resource.api_version);
        body["kind"] = json!(self.resource.kind);
        self.api.patch(self.name, &PatchParams::apply(OTHER_WRITER).force(), &Patch::Apply(body)).await
    }

    /// `immutable` of a ConfigMap cannot be reverted: the ConfigMap is recreated.
    async fn delete(&self) {
        drop(self.api.delete(self.name, &DeleteParams::default()).await);
    }

    /// Has the object as it was.
    async fn takes_back(&self, before: &Value, by: By) {
        if matches!(by, By::ForcedApply) {
            match self.apply(json!({})).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 422 => self.delete().await,
                Err(error) => panic!("what was applied is not taken back: {error}"),
            }
        }
        let deadline = Deadline::after(BACK);
        loop {
            let live = self.live().await;
            if content(&live) == *before {
                return;
            }
            assert!(!deadline.is_over(), "{live} does not become {before}");
            let mut object = before.clone();
            let fields =
                ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"];
            for field in fields {
                object["metadata"][field] = live["metadata"][field].clone();
            }
            let revision = &live["metadata"]["annotations"][REVISION];
            if !revision.is_null() {
                object["metadata"]["annotations"][REVISION] = revision.clone();
            }
            match self.put(object).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(kube::Error::Api(status)) if status.code == 422 => self.delete().await,
                Err(error) => panic!("{before} is not taken back: {error}"),
            }
        }
    }
}
