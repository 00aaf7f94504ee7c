//! Users: they create, edit and delete objects, and try again as long as they are refused for a passing reason.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api_server::SimulatedApiServer;
use crate::api_server::request::{ApiError, ApiRequest, DeleteOptions, Patch, Propagation, Subresource, Verb};
use crate::objects::{NAMESPACE, claims_ready, is_status_current, objects};
use crate::random::Random;

/// How long a user waits before the next try.
const RETRY: Duration = Duration::from_secs(2);
/// How often a user tries: a database may take minutes to end, or to be upgraded.
const TRIES: usize = 600;

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
    /// The same, unless its status lacks that field: what was not recorded yet cannot be recovered.
    EraseStatusWith(&'static str),
    /// One of the pods that it controls is deleted, unless its status lacks that field.
    DeletePod {
        /// Which one, modulo their count.
        which: u64,
        /// That field.
        unless_lacks: &'static str,
    },
    /// The user waits until its present generation is Ready, or Stalled for one of these reasons.
    Await(&'static [&'static str]),
}

impl Deed {
    /// In one of ten cases, what is put is paused too.
    pub(crate) fn maybe_paused(mut self, random: &mut Random) -> Self {
        if let Self::Put(content) = &mut self
            && random.chance(100)
        {
            content["spec"]["paused"] = json!(true);
        }
        self
    }
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
            Deed::EraseStatusWith(field) if live["status"][*field].is_null() => Ok(format!("leaves {about} alone")),
            Deed::DeletePod { which, unless_lacks } => self.delete_pod(server, &live, *which, unless_lacks),
            Deed::Await(reasons) if is_awaited(&live, reasons) => Ok(format!("has waited for {about}")),
            Deed::Await(_) => Err(refusal(format!("{about} is neither Ready nor Stalled"))),
            Deed::EraseStatus | Deed::EraseStatusWith(_) => {
                let patch = json!({ "status": null });
                self.send(server, Some(Subresource::Status), Verb::Patch(Patch::Merge(patch)))?;
                Ok(format!("erases the status of {about}"))
            }
        }
    }

    fn delete_pod(
        &self,
        server: &SimulatedApiServer,
        live: &Value,
        which: u64,
        unless_lacks: &str,
    ) -> Result<String, ApiError> {
        let is_owner = |owner: &Value| owner["uid"] == live["metadata"]["uid"] && owner["controller"] == true;
        let pods: Vec<String> = server.read(|state| {
            let is_owned =
                |pod: &Value| pod["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.iter().any(is_owner));
            objects(state, "pods").filter(|(_, pod)| is_owned(pod)).map(|(name, _)| name.to_owned()).collect()
        });
        let place = which.checked_rem(u64::try_from(pods.len()).unwrap_or_default());
        let pod = place.and_then(|place| pods.get(usize::try_from(place).ok()?));
        match pod.filter(|_| !live["status"][unless_lacks].is_null()) {
            None => Ok(format!("leaves the pods of {} alone", self.name)),
            Some(pod) => {
                let of = Self { plural: "pods", name: pod.clone(), what: self.what.clone() };
                of.send(server, None, Verb::Delete(DeleteOptions::default()))?;
                Ok(format!("deletes pods {pod}"))
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
            sent: None,
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
    refusal(format!("{about} is terminating"))
}

/// What a user retries later.
fn refusal(message: String) -> ApiError {
    ApiError { code: 409, reason: "Conflict", message, causes: Vec::new() }
}

/// Whether an object is Ready in its present generation, or Stalled for one of these reasons.
fn is_awaited(live: &Value, reasons: &[&str]) -> bool {
    let conditions = live["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_stalled = conditions.iter().any(|condition| {
        let reason = condition["reason"].as_str().unwrap_or_default();
        condition["type"] == "Stalled" && condition["status"] == "True" && reasons.contains(&reason)
    });
    claims_ready(live) || (is_stalled && is_status_current(live))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::testing;

    #[test]
    fn a_user_waits_for_ready_or_for_a_refusal() {
        let object = |observed: u64, type_: &str, reason: &str| {
            let condition = json!({ "type": type_, "status": "True", "reason": reason });
            json!({ "metadata": { "generation": 2 }, "status": { "observedGeneration": observed, "conditions": [condition] } })
        };
        let is_awaited = |object: &Value| super::is_awaited(object, &["Refused"]);
        assert!(is_awaited(&object(2, "Ready", "")) && is_awaited(&object(2, "Stalled", "Refused")));
        assert!(!is_awaited(&object(1, "Ready", "")) && !is_awaited(&object(1, "Stalled", "Refused")));
        assert!(!is_awaited(&object(2, "Stalled", "Other")) && !is_awaited(&json!({})));
    }

    #[test]
    fn a_pod_is_deleted_only_once_status_has_the_field() {
        let server = testing::server();
        testing::create(&server, "namespaces", json!({ "metadata": { "name": NAMESPACE } }));
        let cluster = json!({ "metadata": { "name": "data", "namespace": NAMESPACE }, "spec": { "size": 1 } });
        let cluster = testing::create(&server, "etcdclusters", cluster);
        let owner = json!({ "apiVersion": "v1", "kind": "EtcdCluster", "name": "data", "controller": true,
            "uid": cluster["metadata"]["uid"] });
        for (name, owners) in [("data-0", json!([owner])), ("other", json!([]))] {
            let metadata = json!({ "name": name, "namespace": NAMESPACE, "ownerReferences": owners });
            let spec = json!({ "containers": [{ "name": "app", "image": "app:1" }] });
            testing::create(&server, "pods", json!({ "metadata": metadata, "spec": spec }));
        }
        let what = Deed::DeletePod { which: 3, unless_lacks: "clusterID" };
        let act = UserAct { plural: "etcdclusters", name: "data".to_owned(), what };
        let pods = || testing::list(&server, "pods").len();
        act.attempt(&server).unwrap();
        assert_eq!(pods(), 2);
        let status = Verb::Patch(Patch::Merge(json!({ "status": { "clusterID": "a" } })));
        act.send(&server, Some(Subresource::Status), status).unwrap();
        assert_eq!(act.attempt(&server).unwrap(), "deletes pods data-0");
        assert_eq!(pods(), 1);
    }
}
