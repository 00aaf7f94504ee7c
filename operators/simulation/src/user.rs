//! Users: they create, edit and delete objects, and try again as long as they are refused for a passing reason.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api_server::SimulatedApiServer;
use crate::api_server::request::{ApiError, ApiRequest, DeleteOptions, Patch, Propagation, Subresource, Verb};
use crate::objects::NAMESPACE;

/// How long a user waits before the next try.
const RETRY: Duration = Duration::from_secs(2);
/// How often a user tries: a database may take minutes to end.
const TRIES: usize = 300;

/// What a user does to one object.
#[derive(Clone, Debug, PartialEq)]
pub struct UserAct {
    /// The plural of its kind.
    pub plural: &'static str,
    /// Its name.
    pub name: String,
    /// What is done.
    pub what: Deed,
}

/// What is done to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// It is created with that content beside its metadata, or that content replaces its own: `kubectl replace`.
    Put(Value),
    /// It is deleted, if it exists.
    Delete(Propagation),
    /// It is edited by hand, if it exists, with a merge patch.
    Edit(Value),
    /// Its status is lost, as after a restore from a backup.
    EraseStatus,
}

impl UserAct {
    /// Does it. Returns what came of it.
    pub async fn perform(&self, server: &SimulatedApiServer) -> Result<String, String> {
        for _ in 0..TRIES {
            match self.attempt(server) {
                Ok(done) => return Ok(done),
                // Someone else wrote meanwhile, or it is terminating.
                Err(error) if error.code == 409 => tokio::time::sleep(RETRY).await,
                Err(error) => return Err(format!("{} {}: {} {}", self.plural, self.name, error.code, error.message)),
            }
        }
        Err(format!("{} {} could not be changed in {TRIES} tries", self.plural, self.name))
    }

    fn attempt(&self, server: &SimulatedApiServer) -> Result<String, ApiError> {
        let Some(live) = self.read(server) else { return self.create(server) };
        let about = format!("{} {}", self.plural, self.name);
        match &self.what {
            Deed::Put(_) if !live["metadata"]["deletionTimestamp"].is_null() => Err(terminating(&about)),
            Deed::Put(content) => {
                let mut body = live;
                merge_top(&mut body, content);
                self.send(server, None, Verb::Update { body })?;
                Ok(format!("replaces {about} by {content}"))
            }
            Deed::Delete(propagation) => {
                let options = DeleteOptions { propagation: *propagation, ..DeleteOptions::default() };
                self.send(server, None, Verb::Delete(options))?;
                Ok(format!("deletes {about}, {propagation:?}"))
            }
            Deed::Edit(patch) => {
                self.send(server, None, Verb::Patch(Patch::Merge(patch.clone())))?;
                Ok(format!("edits {about}: {patch}"))
            }
            Deed::EraseStatus => {
                let patch = json!({ "status": null });
                self.send(server, Some(Subresource::Status), Verb::Patch(Patch::Merge(patch)))?;
                Ok(format!("erases the status of {about}"))
            }
        }
    }

    fn create(&self, server: &SimulatedApiServer) -> Result<String, ApiError> {
        let Deed::Put(content) = &self.what else { return Ok(format!("finds no {} {}", self.plural, self.name)) };
        let kind = server.read(|state| {
            let kinds = state.kinds();
            kinds.plural(self.plural).and_then(|id| kinds.get(id)).map(|kind| (kind.api_version(), kind.kind.clone()))
        });
        let Some((api_version, kind)) = kind else { return Err(unknown(self.plural)) };
        let mut body = json!({ "apiVersion": api_version, "kind": kind,
                               "metadata": { "name": self.name, "namespace": NAMESPACE } });
        merge_top(&mut body, content);
        let request = ApiRequest { name: None, ..self.request(server, None, Verb::Create { body, strict: true })? };
        server.perform(&request)?;
        Ok(format!("creates {} {}: {content}", self.plural, self.name))
    }

    fn read(&self, server: &SimulatedApiServer) -> Option<Value> {
        server.read(|state| {
            let kind = state.kinds().plural(self.plural)?;
            state.get(kind, NAMESPACE, &self.name).map(|object| Value::clone(object))
        })
    }

    fn send(&self, server: &SimulatedApiServer, subresource: Option<Subresource>, verb: Verb) -> Result<(), ApiError> {
        server.perform(&self.request(server, subresource, verb)?).map(drop)
    }

    fn request(
        &self,
        server: &SimulatedApiServer,
        part: Option<Subresource>,
        verb: Verb,
    ) -> Result<ApiRequest, ApiError> {
        let kind = server.read(|state| state.kinds().plural(self.plural)).ok_or_else(|| unknown(self.plural))?;
        Ok(ApiRequest {
            user: "user".to_owned(),
            kind,
            namespace: Some(NAMESPACE.to_owned()),
            name: Some(self.name.clone()),
            subresource: part,
            verb,
            manager: "kubectl-edit".to_owned(),
            metadata_only: false,
        })
    }
}

/// Replaces the fields at the top of `body` by those of `content`; labels and annotations too.
fn merge_top(body: &mut Value, content: &Value) {
    let (Some(body), Some(content)) = (body.as_object_mut(), content.as_object()) else { return };
    for (field, value) in content {
        body.insert(field.clone(), value.clone());
    }
}

fn unknown(plural: &str) -> ApiError {
    ApiError { code: 404, reason: "NotFound", message: format!("the model has no kind {plural}"), causes: Vec::new() }
}

fn terminating(about: &str) -> ApiError {
    ApiError { code: 409, reason: "Conflict", message: format!("{about} is terminating"), causes: Vec::new() }
}
