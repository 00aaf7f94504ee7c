//! The ConfigMaps and Secrets whose content restarts pods. The operator reads each by name once a minute, and keeps only a digest of its
//! content.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

mod message;
mod named;
mod source;

pub(crate) use message::{failure, unread};
pub(crate) use named::sources;
use source::SourceKind;
pub use source::{RestartSource, SourceState};

/// How often an object is read, no matter how many MyApps name it.
pub(crate) const READ_INTERVAL: Duration = Duration::from_secs(60);
/// How long new pods wait for the first answer, and how long each request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a reconcile waits for a request; the request itself continues.
const WAIT_LIMIT: Duration = Duration::from_secs(1);
/// How often an object is read until the first answer.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// How long the cache keeps an answer that no reconcile reads.
const CACHE_TTL: Duration = Duration::from_secs(600);

#[derive(Clone)]
struct CachedRead {
    /// When it was first read.
    since: Instant,
    next: Instant,
    /// Canceled once the request in flight has ended. (Those that wait wake in their order.)
    in_flight: Option<CancellationToken>,
    /// The uid and resourceVersion that the digest is of.
    version: Option<(String, String)>,
    found: SourceState,
}

/// What a reconcile does for an object.
enum Lookup {
    /// It uses the cached state, which is valid for this long.
    Cached(SourceState, Duration),
    /// It waits for a request in flight. Until then the previous state is valid.
    Pending(CancellationToken, SourceState),
    /// It sends the request. Other reconciles wait until the guard is dropped.
    Request(CachedRead, DropGuard),
}

/// Reads these objects, and caches their state.
#[derive(Clone)]
pub(crate) struct SourceReader {
    client: Client,
    cache: Arc<Mutex<HashMap<RestartSource, CachedRead>>>,
}

impl SourceReader {
    /// An empty cache.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, cache: Arc::default() }
    }

    /// What is known of `source`, whose name is valid, and for how long that is valid. The last answer counts until the next one.
    pub(crate) async fn read(&self, source: &RestartSource) -> (SourceState, Duration) {
        loop {
            match self.lookup(source) {
                Lookup::Cached(found, due) => return (found, due),
                Lookup::Pending(in_flight, known) => {
                    if tokio::time::timeout(WAIT_LIMIT, in_flight.cancelled()).await.is_err() {
                        let due = if matches!(known, SourceState::Awaited) { RETRY_INTERVAL } else { REQUEST_TIMEOUT };
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

    /// Sends the requests, and caches the result.
    async fn refresh(self, source: RestartSource, before: CachedRead, pending: DropGuard) {
        let (since, sent) = (before.since, Instant::now());
        let timed_out = (before.version.clone(), before.found.clone(), 1);
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, self.request(&source, before)).await;
        let (version, found, requests) = answer.unwrap_or(timed_out);
        let (found, interval) = rated(found, since.elapsed(), requests);
        let next = (sent + interval).max(Instant::now() + RETRY_INTERVAL);
        let cached = CachedRead { since, next, in_flight: None, version, found };
        self.lock().insert(source, cached);
        drop(pending);
    }

    fn lookup(&self, source: &RestartSource) -> Lookup {
        let now = Instant::now();
        let mut all = self.lock();
        all.retain(|_, cached| now < cached.next + CACHE_TTL);
        let unread =
            || CachedRead { since: now, next: now, in_flight: None, version: None, found: SourceState::Awaited };
        let cached = all.entry(source.clone()).or_insert_with(unread);
        match cached.in_flight.clone() {
            Some(in_flight) if !in_flight.is_cancelled() => {
                return Lookup::Pending(in_flight, cached.found.clone());
            }
            None if now < cached.next => return Lookup::Cached(cached.found.clone(), cached.next - now),
            // The task that sent the request has ended without an answer, or the answer has expired.
            Some(_) | None => {}
        }
        let in_flight = CancellationToken::new();
        let before = cached.clone();
        cached.next = now;
        cached.in_flight = Some(in_flight.clone());
        Lookup::Request(before, in_flight.drop_guard())
    }

    /// Reads the metadata, and the content if that may have changed. Also returns the number of requests.
    async fn request(
        &self,
        source: &RestartSource,
        before: CachedRead,
    ) -> (Option<(String, String)>, SourceState, u32) {
        let mut requests = 1;
        if let (Some(seen), SourceState::Content(_)) = (&before.version, &before.found) {
            match self.metadata(source).await {
                Ok(Some(meta)) if version(&meta).as_ref() == Some(seen) => {
                    return (before.version, before.found, requests);
                }
                Ok(Some(_)) => requests += 1,
                Ok(None) => return (None, SourceState::Missing, requests),
                // The last answer is valid until there is another one.
                Err(error) => return (before.version, forbidden(&error).unwrap_or(before.found), requests),
            }
        }
        match self.content(source).await {
            Ok(Some((meta, digest))) => (version(&meta), SourceState::Content(digest), requests),
            Ok(None) => (None, SourceState::Missing, requests),
            Err(error) => (before.version, forbidden(&error).unwrap_or(before.found), requests),
        }
    }

    async fn metadata(&self, source: &RestartSource) -> Result<Option<ObjectMeta>, kube::Error> {
        let RestartSource { namespace, kind, name } = source;
        let found = match kind {
            SourceKind::ConfigMap => {
                let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
                api.get_metadata_opt(name).await?.map(|found| found.metadata)
            }
            SourceKind::Secret => {
                let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
                api.get_metadata_opt(name).await?.map(|found| found.metadata)
            }
        };
        Ok(found)
    }

    async fn content(&self, source: &RestartSource) -> Result<Option<(ObjectMeta, [u8; 32])>, kube::Error> {
        let RestartSource { namespace, kind, name } = source;
        let found = match kind {
            SourceKind::ConfigMap => {
                let found = Api::<ConfigMap>::namespaced(self.client.clone(), namespace).get_opt(name).await?;
                found.map(|map| {
                    let text = map.data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes()));
                    let binary = map.binary_data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0));
                    let digest = digest("", text.chain(binary).collect());
                    (map.metadata, digest)
                })
            }
            SourceKind::Secret => {
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

    fn lock(&self) -> MutexGuard<'_, HashMap<RestartSource, CachedRead>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version(meta: &ObjectMeta) -> Option<(String, String)> {
    Some((meta.uid.clone()?, meta.resource_version.clone()?))
}

/// A salted digest of `entries`. The salt of a Secret is its uid, which is random and known only to clients that may read the Secret. So a
/// digest in a pod's annotations can neither be used to guess the content of a Secret, nor shows which Secrets are equal.
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

/// The state after a read with the result `found`, this long after the first read, and how long after the request to read again.
fn rated(found: SourceState, since: Duration, requests: u32) -> (SourceState, Duration) {
    match found {
        SourceState::Awaited | SourceState::Unknown if since < REQUEST_TIMEOUT.saturating_sub(RETRY_INTERVAL) => {
            (SourceState::Awaited, RETRY_INTERVAL)
        }
        SourceState::Awaited | SourceState::Unknown => (SourceState::Unknown, READ_INTERVAL),
        // Two requests use up the budget of two intervals.
        found => (found, READ_INTERVAL * requests),
    }
}

/// The state `Forbidden`, if the error reports a missing permission.
fn forbidden(error: &kube::Error) -> Option<SourceState> {
    match error {
        kube::Error::Api(status) if status.code == 403 => Some(SourceState::Forbidden(status.message.clone())),
        error => {
            tracing::debug!(%error, "cannot read an object of restartOn; retrying");
            None
        }
    }
}

#[cfg(test)]
mod tests;
