//! Reads objects of members by their names, where the stores do not hold them. Answers are kept for seconds, so that a lasting
//! failure costs few requests.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use runtime::plan::{Key, Kind};
use serde_json::Value;

use super::queries::Answer;

/// For how long an answer is good, for each object that is read of a cluster: so there are at most 15 requests a minute.
const PAUSE: Duration = Duration::from_secs(4);
/// After so long without being asked for, a cluster is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// An object of a cluster.
type Of = (Kind, Box<str>);

/// What has been read of a cluster, and when.
type Answers = HashMap<Of, (Instant, Answer)>;

/// What has been read, by cluster.
pub(crate) struct ByName {
    client: Client,
    known: Mutex<HashMap<Key, Answers>>,
}

/// One pass over a cluster, which reads some objects by their names.
pub(crate) struct Reader<'a> {
    of: &'a ByName,
    cluster: &'a Key,
    asked: BTreeSet<(&'static str, Box<str>)>,
}

impl ByName {
    /// Nothing read yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, known: Mutex::default() }
    }

    /// Begins a pass over that cluster.
    pub(crate) fn reader<'a>(&'a self, cluster: &'a Key) -> Reader<'a> {
        Reader { of: self, cluster, asked: BTreeSet::new() }
    }

    async fn get(&self, kind: Kind, key: &Key) -> Answer {
        let path = kind.path_of(key);
        let Ok(request) = http::Request::get(path).body(Vec::new()) else { return Answer::Unknown };
        match self.client.request::<Value>(request).await {
            Ok(live) => Answer::Live(Arc::new(live)),
            Err(kube::Error::Api(status)) if status.code == 404 => Answer::Gone,
            Err(error) => {
                tracing::debug!(%error, kind = kind.kind, %key, "it cannot be read");
                Answer::Unknown
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Answers>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader<'_> {
    /// What the API server says of the object of that kind and name, by an answer that may be some seconds old.
    pub(crate) async fn read(&mut self, kind: Kind, name: &str) -> Answer {
        self.asked.insert((kind.kind, name.into()));
        let of = (kind, Box::from(name));
        let known = self.of.lock().get(self.cluster).and_then(|all| {
            let (at, answer) = all.get(&of)?;
            (at.elapsed() < pause(all.len())).then(|| answer.clone())
        });
        if let Some(answer) = known {
            return answer;
        }
        let answer = self.of.get(kind, &self.cluster.sibling(name)).await;
        let mut all = self.of.lock();
        all.entry(self.cluster.clone()).or_default().insert(of, (Instant::now(), answer.clone()));
        answer
    }
}

impl Drop for Reader<'_> {
    /// What was not asked for is seen again by watches: should it vanish from them once more, it is read at once.
    fn drop(&mut self) {
        let mut all = self.of.lock();
        if let Some(known) = all.get_mut(self.cluster) {
            known.retain(|(kind, name), _| self.asked.contains(&(kind.kind, name.clone())));
        }
        all.retain(|_, known| known.values().any(|(at, _)| at.elapsed() < FORGOTTEN));
    }
}

/// For how long an answer is good where so many objects are read.
fn pause(objects: usize) -> Duration {
    PAUSE.saturating_mul(u32::try_from(objects).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use runtime::cache::Projection as _;
    use runtime::projections::{Claim, Pod};
    use serde_json::json;

    use super::*;

    /// An API server that has no objects, and counts requests.
    fn without_objects() -> (ByName, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            let answer = json!({ "kind": "Status", "status": "Failure", "code": 404, "message": "not found" });
            let response = Response::builder().status(404).body(Body::from(answer.to_string().into_bytes()));
            std::future::ready(response)
        });
        (ByName::new(Client::new(service, "n")), asked)
    }

    #[tokio::test]
    async fn what_stays_away_is_not_read_in_each_pass_and_what_comes_and_goes_is() {
        let (by_name, asked) = without_objects();
        let cluster = Key::new("n", "c");
        for _ in 0..5 {
            let mut reader = by_name.reader(&cluster);
            for member in 0..7 {
                assert!(matches!(reader.read(Pod::KIND, &format!("c-{member}")).await, Answer::Gone));
                assert!(matches!(reader.read(Claim::KIND, &format!("c-{member}")).await, Answer::Gone));
            }
        }
        assert_eq!(asked.load(Ordering::SeqCst), 14);
        drop(by_name.reader(&cluster));
        drop(by_name.reader(&cluster).read(Pod::KIND, "c-0").await);
        assert_eq!(asked.load(Ordering::SeqCst), 15);
    }

    #[test]
    fn fifteen_requests_a_minute_are_the_most() {
        for objects in 1..=21 {
            let rounds = 60_000 / pause(objects).as_millis();
            assert!(rounds * u128::try_from(objects).unwrap() <= 15, "{objects}");
        }
    }
}
