//! The ConfigMaps and Secrets whose content restarts pods: read by name, once a minute each. Of what is in them, nothing is
//! kept but a digest.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};
use runtime::plan::names::is_dns_subdomain;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::MyApp;
use crate::plan::{Contents, Unread};

mod named;
mod source;
mod words;

use named::sources;
use source::{Found, Kind, Source};
use words::{trouble, unread};

/// Each object is asked for once in so long, whoever names it.
const EVERY: Duration = Duration::from_secs(60);
/// For so long pods that are yet to be made wait for the first answer, and so long each request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is known, or will not be awaited any more, makes a pass wait no longer than this; the request goes on.
const HURRY: Duration = Duration::from_secs(1);
/// Meanwhile it is asked for this often.
const SOON: Duration = Duration::from_secs(2);
/// What nobody has asked for in so long is forgotten.
const KEPT: Duration = Duration::from_secs(600);

#[derive(Clone)]
struct Held {
    /// When it was asked for first.
    since: Instant,
    next: Instant,
    /// Closed once the request that is under way is over.
    answer: Option<watch::Receiver<()>>,
    /// The uid and version that the digest is of.
    version: Option<(String, String)>,
    found: Found,
}

/// Whose turn it is.
enum Turn {
    /// Nobody's: this holds for so long.
    Told(Found, Duration),
    /// A request is under way, and that was known before.
    Waits(watch::Receiver<()>, Found),
    /// This pass's, which knew that. All wait until the sender is gone.
    Asks(Held, watch::Sender<()>),
}

/// Looks at them.
#[derive(Clone)]
pub(crate) struct Sources {
    client: Client,
    held: Arc<Mutex<HashMap<Source, Held>>>,
}

impl Sources {
    /// Nothing seen yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, held: Arc::default() }
    }

    /// What there is of the objects that `app` names.
    pub(crate) async fn look(&self, app: &MyApp) -> Contents {
        let mut contents = Contents::default();
        let (mut sum, mut is_whole) = (Sha256::new(), true);
        let sources = sources(app);
        let found = join_all(sources.keys().map(|source| self.one(source))).await;
        for ((source, optional), (found, due)) in sources.into_iter().zip(found) {
            contents.due = Some(contents.due.map_or(due, |sooner| sooner.min(due)));
            sum.update(format!("{source}\n"));
            match found {
                Found::Content(digest) => sum.update(digest),
                Found::Missing if optional => sum.update("-"),
                other => {
                    is_whole = false;
                    contents.trouble = contents.trouble.or_else(|| trouble(&source, &other));
                    contents.unread = Unread::more(contents.unread, unread(&source, &other));
                }
            }
        }
        let digest = || sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        contents.digest = (is_whole && contents.due.is_some()).then(digest);
        contents
    }

    /// What there is of one, and when to look again. Between two looks, the last one counts.
    async fn one(&self, source: &Source) -> (Found, Duration) {
        // What is no name would be another path, or a query, in the URL of a request.
        if !is_dns_subdomain(&source.name) {
            return (Found::Missing, EVERY);
        }
        loop {
            match self.turn(source) {
                Turn::Told(found, due) => return (found, due),
                // It is never sent to: it closes with the answer.
                Turn::Waits(mut answer, known) => {
                    if tokio::time::timeout(HURRY, answer.changed()).await.is_err() {
                        let due = if matches!(known, Found::Awaited) { SOON } else { PATIENCE };
                        return (known, due);
                    }
                }
                // A task of its own: a pass must not be held up, nor the next one begin anew.
                Turn::Asks(before, asking) => {
                    drop(tokio::spawn(self.clone().refresh(source.clone(), before, asking)));
                }
            }
        }
    }

    /// Asks, and keeps the answer.
    async fn refresh(self, source: Source, before: Held, asking: watch::Sender<()>) {
        let (since, asked) = (before.since, Instant::now());
        let late = (before.version.clone(), before.found.clone(), 1);
        let answer = tokio::time::timeout(PATIENCE, self.ask(&source, before)).await;
        let (version, found, requests) = answer.unwrap_or(late);
        let (found, pause) = judged(found, since.elapsed(), requests);
        let next = (asked + pause).max(Instant::now() + SOON);
        let held = Held { since, next, answer: None, version, found };
        self.lock().insert(source, held);
        drop(asking);
    }

    fn turn(&self, source: &Source) -> Turn {
        let now = Instant::now();
        let mut all = self.lock();
        all.retain(|_, held| now < held.next + KEPT);
        let unseen = || Held { since: now, next: now, answer: None, version: None, found: Found::Awaited };
        let held = all.entry(source.clone()).or_insert_with(unseen);
        match held.answer.clone() {
            Some(answer) if answer.has_changed().is_ok() => return Turn::Waits(answer, held.found.clone()),
            None if now < held.next => return Turn::Told(held.found.clone(), held.next - now),
            // What has asked is gone, or it is time to ask.
            Some(_) | None => {}
        }
        let (asking, answer) = watch::channel(());
        let before = held.clone();
        held.next = now;
        held.answer = Some(answer);
        Turn::Asks(before, asking)
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
                Err(error) => return (before.version, forbidden(&error).unwrap_or(before.found), requests),
            }
        }
        match self.content(source).await {
            Ok(Some((meta, digest))) => (version(&meta), Found::Content(digest), requests),
            Ok(None) => (None, Found::Missing, requests),
            Err(error) => (before.version, forbidden(&error).unwrap_or(before.found), requests),
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

/// What counts after that look, so long after the first one, and when to look again after it began.
fn judged(found: Found, since: Duration, requests: u32) -> (Found, Duration) {
    match found {
        Found::Awaited | Found::Unknown if since < PATIENCE.saturating_sub(SOON) => (Found::Awaited, SOON),
        Found::Awaited | Found::Unknown => (Found::Unknown, EVERY),
        // Two requests are those of two minutes.
        found => (found, EVERY * requests),
    }
}

/// That a right is missing; nothing, if that is not what the failure says.
fn forbidden(error: &kube::Error) -> Option<Found> {
    match error {
        kube::Error::Api(status) if status.code == 403 => Some(Found::Forbidden(status.message.clone())),
        error => {
            tracing::debug!(%error, "an object of restartOn cannot be read now");
            None
        }
    }
}

#[cfg(test)]
mod tests;
