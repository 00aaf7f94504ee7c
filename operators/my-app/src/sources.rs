//! The ConfigMaps and Secrets whose content restarts pods: read by name, once a minute each. Of what is in them, nothing is
//! kept but a digest.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use api::my_app::RestartOn;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};
use sha2::{Digest, Sha256};

use crate::MyApp;
use crate::plan::Contents;

/// Each object is asked for once in so long, whoever names it.
const EVERY: Duration = Duration::from_secs(60);
/// Until the answer to another pass may be there.
const SOON: Duration = Duration::from_secs(1);
/// What nobody has asked for in so long is forgotten.
const KEPT: Duration = Duration::from_secs(600);

/// One object.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Source {
    namespace: Arc<str>,
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.name)
    }
}

/// What a look at an object gave.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    /// A digest of what is in it.
    Content([u8; 32]),
    Missing,
    /// The right is missing: the API server's words.
    Forbidden(String),
    /// Nothing can be said now.
    Unknown,
    /// Another pass asks for it for the first time.
    Asked,
}

#[derive(Clone)]
struct Held {
    next: Instant,
    /// The uid and version that the digest is of.
    version: Option<(String, String)>,
    found: Found,
}

/// Looks at them.
pub(crate) struct Sources {
    client: Client,
    held: Mutex<HashMap<Source, Held>>,
}

impl Sources {
    /// Nothing seen yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, held: Mutex::default() }
    }

    /// What there is of the objects that `app` names.
    pub(crate) async fn look(&self, app: &MyApp) -> Contents {
        let mut contents = Contents::default();
        let (mut sum, mut is_whole) = (Sha256::new(), true);
        for on in &app.spec.restart_on {
            let Some((source, optional)) = source(app, on) else { continue };
            let (found, due) = self.one(&source).await;
            contents.due = Some(contents.due.map_or(due, |sooner| sooner.min(due)));
            sum.update(format!("{source}\n"));
            match found {
                Found::Content(digest) => sum.update(digest),
                Found::Missing if optional => sum.update("-"),
                other => {
                    is_whole = false;
                    contents.trouble = contents.trouble.or_else(|| trouble(&source, &other));
                }
            }
        }
        let digest = || sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        contents.digest = (is_whole && contents.due.is_some()).then(digest);
        contents
    }

    /// What there is of one, and when to look again. Between two looks, the last one counts.
    async fn one(&self, source: &Source) -> (Found, Duration) {
        let now = Instant::now();
        let before = {
            let mut all = self.lock();
            all.retain(|_, held| now < held.next + KEPT);
            let unseen = || Held { next: now, version: None, found: Found::Asked };
            let held = all.entry(source.clone()).or_insert_with(unseen);
            if now < held.next {
                let due = held.next - now;
                return (held.found.clone(), if held.found == Found::Asked { due.min(SOON) } else { due });
            }
            held.next = now + EVERY;
            held.clone()
        };
        let (version, found, requests) = self.ask(source, before).await;
        // Two requests are those of two minutes.
        let next = now + EVERY * requests;
        self.lock().insert(source.clone(), Held { next, version, found: found.clone() });
        (found, next.saturating_duration_since(Instant::now()))
    }

    /// Asks for the metadata, and for the content if that may be another. Returns the number of requests as well.
    async fn ask(&self, source: &Source, before: Held) -> (Option<(String, String)>, Found, u32) {
        let mut requests = 1;
        if let (Some(seen), Found::Content(_)) = (&before.version, &before.found) {
            match self.metadata(source).await {
                Ok(Some(meta)) if version(&meta).as_ref() == Some(seen) => {
                    return (before.version, before.found, requests);
                }
                Ok(Some(_)) => requests += 1,
                Ok(None) => return (None, Found::Missing, requests),
                // What was seen last holds until something else is seen.
                Err(error) => return (before.version.clone(), unread(&error).unwrap_or(before.found), requests),
            }
        }
        match self.content(source).await {
            Ok(Some((meta, digest))) => (version(&meta), Found::Content(digest), requests),
            Ok(None) => (None, Found::Missing, requests),
            Err(error) => (None, unread(&error).unwrap_or(Found::Unknown), requests),
        }
    }

    async fn metadata(&self, source: &Source) -> Result<Option<ObjectMeta>, kube::Error> {
        let Source { namespace, kind, name } = source;
        let found = match kind {
            Kind::ConfigMap => {
                let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
                api.get_metadata_opt(name).await?.map(|found| found.metadata)
            }
            Kind::Secret => {
                let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
                api.get_metadata_opt(name).await?.map(|found| found.metadata)
            }
        };
        Ok(found)
    }

    async fn content(&self, source: &Source) -> Result<Option<(ObjectMeta, [u8; 32])>, kube::Error> {
        let Source { namespace, kind, name } = source;
        let found = match kind {
            Kind::ConfigMap => {
                let found = Api::<ConfigMap>::namespaced(self.client.clone(), namespace).get_opt(name).await?;
                found.map(|map| {
                    let text = map.data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes()));
                    let binary = map.binary_data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0));
                    let digest = digest("", text.chain(binary).collect());
                    (map.metadata, digest)
                })
            }
            Kind::Secret => {
                let found = Api::<Secret>::namespaced(self.client.clone(), namespace).get_opt(name).await?;
                found.map(|secret| {
                    let data = secret.data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0));
                    let uid = secret.metadata.uid.clone().unwrap_or_default();
                    (secret.metadata, digest(&uid, data.collect()))
                })
            }
        };
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Source, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object, and whether it may be missing.
fn source(app: &MyApp, on: &RestartOn) -> Option<(Source, bool)> {
    let (kind, of) = match (&on.config_map_ref, &on.secret_ref) {
        (Some(map), _) => (Kind::ConfigMap, map),
        (None, Some(secret)) => (Kind::Secret, secret),
        (None, None) => return None,
    };
    let source = Source { namespace: app.meta.key.namespace.clone(), kind, name: of.name.clone() };
    Some((source, of.optional == Some(true)))
}

fn version(meta: &ObjectMeta) -> Option<(String, String)> {
    Some((meta.uid.clone()?, meta.resource_version.clone()?))
}

/// A digest that cannot be tried against guesses without `salt`. A Secret's uid is random, and known to those who may read it:
/// so a digest in a pod's annotations tells others neither what is in a Secret nor which of them are equal.
fn digest(salt: &str, entries: BTreeMap<String, Vec<u8>>) -> [u8; 32] {
    let mut sum = Sha256::new();
    let mut part = |bytes: &[u8]| {
        sum.update((bytes.len() as u64).to_be_bytes());
        sum.update(bytes);
    };
    part(salt.as_bytes());
    for (key, value) in entries {
        part(key.as_bytes());
        part(&value);
    }
    sum.finalize().into()
}

/// That a right is missing; nothing, if that is not what the failure says.
fn unread(error: &kube::Error) -> Option<Found> {
    match error {
        kube::Error::Api(status) if status.code == 403 => Some(Found::Forbidden(status.message.clone())),
        error => {
            tracing::debug!(%error, "an object of restartOn cannot be read now");
            None
        }
    }
}

/// What a person is told of it.
fn trouble(source: &Source, found: &Found) -> Option<(&'static str, String)> {
    match found {
        Found::Missing => Some((
            "RestartSourceMissing",
            format!(
                "restartOn: {source} does not exist; create it, or set optional: true; the operator restarts the pods once it exists"
            ),
        )),
        Found::Forbidden(why) => Some((
            "Forbidden",
            format!(
                "restartOn: {source} cannot be read: the manager lacks the right to get {} in namespace {} ({why})",
                source.kind.plural(),
                source.namespace
            ),
        )),
        Found::Content(_) | Found::Unknown | Found::Asked => None,
    }
}

#[cfg(test)]
mod tests;
