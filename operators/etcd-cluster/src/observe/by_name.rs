//! Reads objects of members by name if the stores do not hold them. Results are cached for seconds, so that a lasting failure
//! costs few requests.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use runtime::plan::{Key, ResourceKind};
use serde_json::Value;
use tokio::time::Instant;

use super::queries::ObjectLookup;

/// How long a result is cached, for each object that is read of a cluster. So there are at most 15 requests a minute.
const RESULT_TTL: Duration = Duration::from_secs(4);
/// How long results are kept for a cluster that is not reconciled.
const UNUSED_TTL: Duration = Duration::from_secs(600);

/// The kind and name of an object of a cluster.
type ObjectId = (ResourceKind, Box<str>);

/// The cached results of a cluster, and when they were read.
type CachedLookups = HashMap<ObjectId, (Instant, ObjectLookup)>;

/// Reads objects by name, and caches the results by cluster.
pub(crate) struct ObjectsByName {
    client: Client,
    known: Mutex<HashMap<Key, CachedLookups>>,
}

/// Reads objects of one cluster, for one reconcile.
pub(crate) struct ObjectReader<'a> {
    objects: &'a ObjectsByName,
    cluster: &'a Key,
    requested: BTreeSet<(&'static str, Box<str>)>,
}

impl ObjectsByName {
    /// An empty cache.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, known: Mutex::default() }
    }

    /// Begins a reconcile of that cluster.
    pub(crate) fn reader<'a>(&'a self, cluster: &'a Key) -> ObjectReader<'a> {
        ObjectReader { objects: self, cluster, requested: BTreeSet::new() }
    }

    async fn get(&self, kind: ResourceKind, key: &Key) -> ObjectLookup {
        let path = kind.path_of(key);
        let Ok(request) = http::Request::get(path).body(Vec::new()) else { return ObjectLookup::Unknown };
        match self.client.request::<Value>(request).await {
            Ok(live) => ObjectLookup::Found(Arc::new(live)),
            Err(kube::Error::Api(status)) if status.code == 404 => ObjectLookup::Absent,
            Err(error) => {
                tracing::debug!(%error, kind = kind.kind, %key, "object cannot be read");
                ObjectLookup::Unknown
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CachedLookups>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObjectReader<'_> {
    /// The object of that kind and name. The result may be some seconds old.
    pub(crate) async fn read(&mut self, kind: ResourceKind, name: &str) -> ObjectLookup {
        self.requested.insert((kind.kind, name.into()));
        let id = (kind, Box::from(name));
        let known = self.objects.lock().get(self.cluster).and_then(|all| {
            let (at, result) = all.get(&id)?;
            (at.elapsed() < ttl(all.len())).then(|| result.clone())
        });
        if let Some(result) = known {
            return result;
        }
        let result = self.objects.get(kind, &self.cluster.sibling(name)).await;
        let mut all = self.objects.lock();
        all.entry(self.cluster.clone()).or_default().insert(id, (Instant::now(), result.clone()));
        result
    }
}

impl Drop for ObjectReader<'_> {
    /// Drops the results that this reconcile did not need: watches report these objects again. If they lose one of them again, it
    /// is read at once.
    fn drop(&mut self) {
        let mut all = self.objects.lock();
        if let Some(known) = all.get_mut(self.cluster) {
            known.retain(|(kind, name), _| self.requested.contains(&(kind.kind, name.clone())));
        }
        all.retain(|_, known| known.values().any(|(at, _)| at.elapsed() < UNUSED_TTL));
    }
}

/// How long a result is cached if that many objects are read.
fn ttl(objects: usize) -> Duration {
    RESULT_TTL.saturating_mul(u32::try_from(objects).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use runtime::cache::Projection as _;
    use runtime::projections::{Pod, Pvc};
    use serde_json::json;

    use super::*;

    /// An API server that has no objects, and counts requests.
    fn without_objects() -> (ObjectsByName, Arc<AtomicUsize>) {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = requests.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            let answer = json!({ "kind": "Status", "status": "Failure", "code": 404, "message": "not found" });
            let response = Response::builder().status(404).body(Body::from(answer.to_string().into_bytes()));
            std::future::ready(response)
        });
        (ObjectsByName::new(Client::new(service, "n")), requests)
    }

    #[tokio::test]
    async fn an_absent_object_is_not_read_in_each_reconcile_unless_it_existed_meanwhile() {
        let (by_name, requests) = without_objects();
        let cluster = Key::new("n", "c");
        for _ in 0..5 {
            let mut reader = by_name.reader(&cluster);
            for member in 0..7 {
                assert!(matches!(reader.read(Pod::KIND, &format!("c-{member}")).await, ObjectLookup::Absent));
                assert!(matches!(reader.read(Pvc::KIND, &format!("c-{member}")).await, ObjectLookup::Absent));
            }
        }
        assert_eq!(requests.load(Ordering::SeqCst), 14);
        drop(by_name.reader(&cluster));
        drop(by_name.reader(&cluster).read(Pod::KIND, "c-0").await);
        assert_eq!(requests.load(Ordering::SeqCst), 15);
    }

    #[test]
    fn at_most_fifteen_requests_a_minute_are_sent() {
        for objects in 1..=21 {
            let rounds = 60_000 / ttl(objects).as_millis();
            assert!(rounds * u128::try_from(objects).unwrap() <= 15, "{objects}");
        }
    }
}
