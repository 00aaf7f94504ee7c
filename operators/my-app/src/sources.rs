//! The ConfigMaps and Secrets whose content restarts pods: each is read by name once a minute, and only a digest of its content is
//! kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

mod message;
mod named;
mod source;

pub(crate) use message::{failure, unread};
pub(crate) use named::sources;
use source::Kind;
pub use source::{Found, Source};

/// How often an object is read, no matter how many MyApps name it.
pub(crate) const READ_INTERVAL: Duration = Duration::from_secs(60);
/// How long new pods wait for the first answer, and how long each request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reconcile waits for a request; the request itself continues.
const WAIT_LIMIT: Duration = Duration::from_secs(1);
/// How often an object is read while the first answer is awaited.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// An answer that no reconcile has read for this long is forgotten.
const CACHE_TTL: Duration = Duration::from_secs(600);

#[derive(Clone)]
struct CachedRead {
    /// When it was first read.
    since: Instant,
    next: Instant,
    /// Closed once the request in flight has ended.
    answer: Option<watch::Receiver<()>>,
    /// The uid and resourceVersion that the digest is of.
    version: Option<(String, String)>,
    found: Found,
}

/// What a reconcile does for an object.
enum Lookup {
    /// It takes the cached answer, which holds for this long.
    Cached(Found, Duration),
    /// It waits for a request in flight. Until then the earlier answer counts.
    Pending(watch::Receiver<()>, Found),
    /// It sends the request. Others wait until the sender is dropped.
    Request(CachedRead, watch::Sender<()>),
}

/// Reads these objects, and caches the answers.
#[derive(Clone)]
pub(crate) struct Sources {
    client: Client,
    cache: Arc<Mutex<HashMap<Source, CachedRead>>>,
}

impl Sources {
    /// An empty cache.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, cache: Arc::default() }
    }

    /// What is known of `source`, whose name is valid, and for how long that holds: the last answer counts until the next one.
    pub(crate) async fn read(&self, source: &Source) -> (Found, Duration) {
        loop {
            match self.lookup(source) {
                Lookup::Cached(found, due) => return (found, due),
                // The channel carries nothing: it closes with the answer.
                Lookup::Pending(mut answer, known) => {
                    if tokio::time::timeout(WAIT_LIMIT, answer.changed()).await.is_err() {
                        let due = if matches!(known, Found::Awaited) { RETRY_INTERVAL } else { REQUEST_TIMEOUT };
                        return (known, due);
                    }
                }
                // A separate task, so that the reconcile does not wait for it, and the next one does not send another request.
                Lookup::Request(before, pending) => {
                    drop(tokio::spawn(self.clone().refresh(source.clone(), before, pending)));
                }
            }
        }
    }

    /// Sends the requests, and caches the answer.
    async fn refresh(self, source: Source, before: CachedRead, pending: watch::Sender<()>) {
        let (since, sent) = (before.since, Instant::now());
        let late = (before.version.clone(), before.found.clone(), 1);
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, self.request(&source, before)).await;
        let (version, found, requests) = answer.unwrap_or(late);
        let (found, pause) = judged(found, since.elapsed(), requests);
        let next = (sent + pause).max(Instant::now() + RETRY_INTERVAL);
        let held = CachedRead { since, next, answer: None, version, found };
        self.lock().insert(source, held);
        drop(pending);
    }

    fn lookup(&self, source: &Source) -> Lookup {
        let now = Instant::now();
        let mut all = self.lock();
        all.retain(|_, held| now < held.next + CACHE_TTL);
        let unread = || CachedRead { since: now, next: now, answer: None, version: None, found: Found::Awaited };
        let held = all.entry(source.clone()).or_insert_with(unread);
        match held.answer.clone() {
            Some(answer) if answer.has_changed().is_ok() => return Lookup::Pending(answer, held.found.clone()),
            None if now < held.next => return Lookup::Cached(held.found.clone(), held.next - now),
            // The task that sent the request has ended without an answer, or the answer has expired.
            Some(_) | None => {}
        }
        let (pending, answer) = watch::channel(());
        let before = held.clone();
        held.next = now;
        held.answer = Some(answer);
        Lookup::Request(before, pending)
    }

    /// Reads the metadata, and the content if that may have changed. Also returns the number of requests.
    async fn request(&self, source: &Source, before: CachedRead) -> (Option<(String, String)>, Found, u32) {
        let mut requests = 1;
        if let (Some(seen), Found::Content(_)) = (&before.version, &before.found) {
            match self.metadata(source).await {
                Ok(Some(meta)) if version(&meta).as_ref() == Some(seen) => {
                    return (before.version, before.found, requests);
                }
                Ok(Some(_)) => requests += 1,
                Ok(None) => return (None, Found::Missing, requests),
                // The last answer holds until there is another one.
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Source, CachedRead>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version(meta: &ObjectMeta) -> Option<(String, String)> {
    Some((meta.uid.clone()?, meta.resource_version.clone()?))
}

/// A digest against which guesses cannot be checked without `salt`. A Secret's uid is random, and known only to clients that may read
/// the Secret: so a digest in a pod's annotations reveals neither the content of a Secret nor which Secrets are equal.
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

/// What counts after an answer `found`, this long after the first read, and when to read again after the request was sent.
fn judged(found: Found, since: Duration, requests: u32) -> (Found, Duration) {
    match found {
        Found::Awaited | Found::Unknown if since < REQUEST_TIMEOUT.saturating_sub(RETRY_INTERVAL) => {
            (Found::Awaited, RETRY_INTERVAL)
        }
        Found::Awaited | Found::Unknown => (Found::Unknown, READ_INTERVAL),
        // Two requests use up the budget of two intervals.
        found => (found, READ_INTERVAL * requests),
    }
}

/// That a permission is missing, if that is what the error reports.
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
