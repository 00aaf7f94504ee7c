//! One watch: lists, watches, and feeds a store forever.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::client::Body;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::watched_object::WatchedObject;
use super::{KindHealth, Projection, Store};
use crate::cache::watch_health::{UnwatchedKind, WatchFailure, message, user_of};
use crate::client::{SentIntoOutage, is_watch};
use crate::error::{innermost, is_caused_by};
use crate::metrics;
use crate::outage::Outages;
use crate::plan::meta::{Key, MANAGED_BY, MANAGER, ResourceKind};
use crate::retry::Backoff;

mod served;
mod watched_object;

/// The API server ends a watch after this time, and kube's watcher gives up a silent one 5 s later: so a half-open connection is
/// noticed within 50 s even behind a proxy that keeps TCP alive. Resuming costs one request and no list, since the API server
/// sends a bookmark before it ends a watch.
const WATCH_SECONDS: u32 = 45;

/// A watch that ends sooner was interrupted.
const UNINTERRUPTED_AFTER: Duration = Duration::from_secs(WATCH_SECONDS as u64 - 5);

/// Objects per page of a list. A page is decoded as a whole, and dominates the memory that a start takes.
const PAGE: u32 = 100;

/// Lists and watches `namespace`, or all, until `stop`.
pub(super) async fn run<V: Projection>(
    store: Arc<Store<V>>,
    client: Client,
    namespace: Option<Arc<str>>,
    outages: Outages,
    stop: CancellationToken,
) {
    while while_served(&store, client.clone(), namespace.clone(), &outages, &stop).await.is_err() {
        // In this order: no object of such a kind may be taken for absent only.
        if store.health().not_served(namespace.as_ref()) {
            tracing::info!(
                kind = V::KIND.kind,
                "{} is not served: no children of this kind are created until it is",
                V::KIND.api_version()
            );
        }
        store.retain(namespace.as_deref(), &HashSet::new());
        if stop.run_until_cancelled(served::until_served::<V>(&client, store.health())).await.is_none() {
            return;
        }
    }
}

/// The API server does not serve an optional kind.
struct NotServed;

/// The same, as long as the kind is served.
async fn while_served<V: Projection>(
    store: &Arc<Store<V>>,
    client: Client,
    namespace: Option<Arc<str>>,
    outages: &Outages,
    stop: &CancellationToken,
) -> Result<(), NotServed> {
    let refuted = served::until_refuted::<V>(api(client.clone(), namespace.as_deref()), store.health().rechecks());
    let client = reporting(client, store.health().clone(), namespace.clone());
    let mut config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
    if V::SELECTED {
        config = config.labels(&format!("{MANAGED_BY}={MANAGER}"));
    }
    let stream = watcher::watcher(api::<V>(client, namespace.as_deref()), config);
    pin_mut!(stream, refuted);
    let mut feed = StoreFeeder { store, namespace, listed: None, backoff: Backoff::watch() };
    let mut over = outages.over();
    loop {
        let event = tokio::select! {
            biased;
            event = stop.run_until_cancelled(stream.next()) => event.flatten(),
            () = &mut refuted, if V::MAY_BE_MISSING => return Err(NotServed),
        };
        let Some(event) = event else { return Ok(()) };
        if V::MAY_BE_MISSING && event.as_ref().is_err_and(served::is_missing) {
            return Err(NotServed);
        }
        let Some(pause) = feed.take(event) else { continue };
        // The failed request was sent during an outage that has ended: the first attempt after it is not delayed.
        let since = std::mem::replace(&mut over, outages.over());
        let go_on = since < over || {
            let resumed = tokio::time::timeout(pause, outages.resumed());
            matches!(stop.run_until_cancelled(resumed).await, Some(Ok(())))
        };
        if go_on {
            over = outages.over();
            feed.backoff.reset();
        }
    }
}

fn api<V: Projection>(client: Client, namespace: Option<&str>) -> Api<WatchedObject<V>> {
    match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

/// A client that reports each response as a recovery, since kube's watcher reports when a watch fails, but not when it resumes.
/// It also reports an interrupted watch: the next request follows at once.
fn reporting(client: Client, health: Arc<KindHealth>, namespace: Option<Arc<str>>) -> Client {
    let default_namespace = client.default_namespace().to_owned();
    let opened = Arc::new(Mutex::new(None::<Instant>));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, health, namespace, opened) = (client.clone(), health.clone(), namespace.clone(), opened.clone());
        async move {
            let is_watch = request.uri().query().is_some_and(is_watch);
            let last = opened.lock().unwrap_or_else(PoisonError::into_inner).take();
            if last.is_some_and(|opened| opened.elapsed() < UNINTERRUPTED_AFTER) {
                health.interrupted();
            }
            let response = client.send(request).await?;
            if response.status().is_success() {
                health.recovered(namespace.as_ref());
                if is_watch {
                    *opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                }
            }
            Ok::<_, kube::Error>(response)
        }
    });
    Client::new(service, default_namespace)
}

struct StoreFeeder<'a, V> {
    store: &'a Store<V>,
    namespace: Option<Arc<str>>,
    /// The keys in the list that is under way.
    listed: Option<HashSet<Key>>,
    backoff: Backoff,
}

impl<V: Projection> StoreFeeder<'_, V> {
    /// Handles one event; after a failure, returns how long to pause.
    fn take(&mut self, event: watcher::Result<Event<WatchedObject<V>>>) -> Option<Duration> {
        match event {
            Ok(Event::Init) => self.listed = Some(HashSet::new()),
            Ok(Event::InitApply(object)) => {
                if let Some(listed) = &mut self.listed {
                    listed.insert(object.entry.meta().key.clone());
                }
                self.store.apply(object.entry);
            }
            Ok(Event::InitDone) => {
                if let Some(listed) = self.listed.take() {
                    self.store.retain(self.namespace.as_deref(), &listed);
                }
                metrics::cache_objects(V::KIND.kind, self.store.len());
                self.healthy();
            }
            Ok(Event::Apply(object)) => {
                self.store.apply(object.entry);
                metrics::cache_objects(V::KIND.kind, self.store.len());
                self.healthy();
            }
            Ok(Event::Delete(object)) => {
                self.store.delete(&object.entry.meta().key);
                metrics::cache_objects(V::KIND.kind, self.store.len());
                self.healthy();
            }
            Err(error) => return Some(self.failed(&error)),
        }
        None
    }

    fn healthy(&mut self) {
        self.backoff.reset();
        self.store.health().synced(self.namespace.as_ref());
    }

    /// Failures that the next attempt resolves are not reported: a watch whose version has expired, or that was requested in an
    /// outage that has ended.
    fn failed(&mut self, error: &watcher::Error) -> Duration {
        metrics::watch_error(V::KIND.kind);
        if expired(error) || is_caused_by::<SentIntoOutage>(error) {
            return Duration::ZERO;
        }
        let why = why(error, V::KIND, self.namespace.as_deref());
        if self.store.health().failed(self.namespace.as_ref(), why.clone()) {
            let unwatched = UnwatchedKind { kind: V::KIND, namespace: self.namespace.clone(), why };
            tracing::warn!(kind = V::KIND.kind, "{}", message(&[unwatched]));
        }
        self.backoff.delay()
    }
}

/// Why a watch failed, and the missing permission if that is the reason.
fn why(error: &watcher::Error, kind: ResourceKind, namespace: Option<&str>) -> WatchFailure {
    let refused = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(refusal)) => Some(("list", refusal)),
        watcher::Error::WatchStartFailed(kube::Error::Api(refusal)) => Some(("watch", refusal)),
        _ => None,
    };
    match refused {
        Some((verb, refusal)) if refusal.code == 403 => {
            WatchFailure::Forbidden { verb, user: user_of(&refusal.message).into() }
        }
        _ => {
            let place = namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
            WatchFailure::Fault(format!("cannot watch {} in {place}: {}", kind.plural, innermost(error)))
        }
    }
}

/// Whether only the version of the watch has expired: a new list follows, and nothing is wrong.
fn expired(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410)
}

#[cfg(test)]
mod tests;
