//! Dry runs of pods with overrides: whether the API server would accept the pods of a template, before the template is applied.

use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use runtime::names::fnv1a;
use runtime::plan::{Create, DryRun, Key};
use runtime::pod::quota;
use runtime::pod_requests;
use tokio::time::Instant;

use crate::plan::DryRunFailure;

/// The first interval after which a rejected pod is tried again.
const RETRY_REJECTED: Duration = Duration::from_secs(15);
/// The same where the API server did not answer.
const RETRY_UNKNOWN: Duration = Duration::from_secs(1);
/// The longest such interval.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// Runs the dry runs, and caches the last answer for each MyApp.
pub(crate) struct DryRuns {
    client: Client,
    cache: Mutex<HashMap<Key, CachedDryRun>>,
}

#[derive(Clone)]
enum DryRunAnswer {
    Accepted,
    Rejected(String),
    /// The API server did not answer: a message.
    Unknown(String),
}

#[derive(Clone)]
struct CachedDryRun {
    /// A hash of the pod.
    pod: u64,
    answer: DryRunAnswer,
    /// How often in a row the answer was of this kind.
    times: u32,
    expires: Instant,
}

impl DryRuns {
    /// An empty cache.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, cache: Mutex::default() }
    }

    /// The failure if the API server rejects `pod`, a pod of the MyApp `app`, or does not answer. An accepted pod is not tried again,
    /// since the template is then applied or replaced.
    pub(crate) async fn query(&self, app: &Key, pod: &Create) -> Option<DryRunFailure> {
        let hash = fnv1a(&pod.body.to_string());
        let before = self.lock().get(app).filter(|cached| cached.pod == hash).cloned();
        if let Some(cached) = before.as_ref().filter(|cached| cached.is_valid(Instant::now())) {
            return cached.failure();
        }
        let answer = match pod_requests::dry_run(&self.client, pod).await {
            DryRun::Accepted => DryRunAnswer::Accepted,
            DryRun::Rejected(why) if is_unrelated_to_the_pod(&why) => DryRunAnswer::Accepted,
            DryRun::Rejected(why) => DryRunAnswer::Rejected(why),
            DryRun::Unknown(why) => DryRunAnswer::Unknown(why),
        };
        let before = before.filter(|cached| mem::discriminant(&cached.answer) == mem::discriminant(&answer));
        let times = before.map_or(0, |cached| cached.times);
        let first = if matches!(answer, DryRunAnswer::Unknown(_)) { RETRY_UNKNOWN } else { RETRY_REJECTED };
        let cached = CachedDryRun {
            pod: hash,
            answer,
            times: times.saturating_add(1),
            expires: Instant::now() + validity(first, times),
        };
        self.lock().insert(app.clone(), cached.clone());
        cached.failure()
    }

    /// Removes the results of all MyApps but these.
    pub(crate) fn retain(&self, exists: impl Fn(&Key) -> bool) {
        self.lock().retain(|app, _| exists(app));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CachedDryRun>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedDryRun {
    /// Whether the answer is still valid at `now`.
    fn is_valid(&self, now: Instant) -> bool {
        matches!(self.answer, DryRunAnswer::Accepted) || now < self.expires
    }

    fn failure(&self) -> Option<DryRunFailure> {
        let due = self.expires.saturating_duration_since(Instant::now());
        let (is_transient, message) = match &self.answer {
            DryRunAnswer::Accepted => return None,
            DryRunAnswer::Rejected(why) => (false, why.clone()),
            DryRunAnswer::Unknown(why) => (true, why.clone()),
        };
        Some(DryRunFailure { is_transient, message, due })
    }
}

/// Whether the pod's spec is not the cause of a rejection: a quota also counts pods that this one replaces, the apply itself reports a
/// terminating namespace, and a new namespace has no service account for a moment.
fn is_unrelated_to_the_pod(why: &str) -> bool {
    quota::is_exceeded(why)
        || why.contains("is being terminated")
        || why.contains("serviceaccount \"default\" not found")
}

/// How long an answer is valid after `times` answers of the same kind, of which the first one was valid for `first`.
fn validity(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(8)).min(MAX_RETRY)
}

#[cfg(test)]
mod tests {
    use runtime::cache::Projection;
    use runtime::projections::Pod;
    use serde_json::json;

    use super::*;
    use crate::testing::{FakeApiServer, status};

    fn pod_with(image: &str) -> (Key, Create) {
        let key = Key::new("n", "web");
        let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "app", "image": image }] } });
        (key.clone(), Create::new(Pod::KIND, key.sibling("web-podoverrides"), &pod))
    }

    #[tokio::test]
    async fn a_rejected_pod_is_not_tried_in_every_reconcile_and_another_pod_is_tried_at_once() {
        let api_server = FakeApiServer::new(|_| (403, status(403, "violates PodSecurity")));
        let dry_runs = DryRuns::new(api_server.client());
        let (app, pod) = pod_with("one");
        for _ in 0..3 {
            let rejected = dry_runs.query(&app, &pod).await.unwrap();
            assert_eq!((&*rejected.message, rejected.is_transient), ("violates PodSecurity", false));
            assert!(rejected.due <= RETRY_REJECTED);
        }
        assert_eq!(api_server.requests(), ["POST /api/v1/namespaces/n/pods?dryRun=All"]);
        drop(dry_runs.query(&app, &pod_with("two").1).await);
        assert_eq!(api_server.requests().len(), 2);
    }

    #[tokio::test]
    async fn an_accepted_pod_is_tried_once() {
        let (app, pod) = pod_with("one");
        for (code, message) in [
            (409, "already exists"),
            (403, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
            (403, "error looking up service account n/default: serviceaccount \"default\" not found"),
        ] {
            let api_server = FakeApiServer::new(move |_| (code, status(code, message)));
            let dry_runs = DryRuns::new(api_server.client());
            for _ in 0..2 {
                assert_eq!(dry_runs.query(&app, &pod).await, None, "{message}");
            }
            assert_eq!(api_server.requests().len(), 1);
            dry_runs.retain(|_| false);
            drop(dry_runs.query(&app, &pod).await);
            assert_eq!(api_server.requests().len(), 2, "nothing is cached for a deleted MyApp");
        }
    }

    #[tokio::test]
    async fn a_missing_answer_is_not_a_rejection_and_is_retried_sooner() {
        let why = "Internal error occurred: failed calling webhook \"pods.example.com\": connection refused";
        let api_server = FakeApiServer::new(move |_| (500, status(500, why)));
        let dry_runs = DryRuns::new(api_server.client());
        let (app, pod) = pod_with("one");
        for _ in 0..3 {
            let unanswered = dry_runs.query(&app, &pod).await.unwrap();
            assert_eq!((&*unanswered.message, unanswered.is_transient), (why, true));
            assert!(unanswered.due <= RETRY_UNKNOWN);
        }
        assert_eq!(api_server.requests().len(), 1);
        for longest in [2, 4] {
            dry_runs.lock().values_mut().for_each(|cached| cached.expires = Instant::now());
            let due = dry_runs.query(&app, &pod).await.unwrap().due.as_secs_f64();
            assert!(due <= f64::from(longest) && due > f64::from(longest) / 2.0, "{due}");
        }
    }

    #[test]
    fn intervals_grow_with_the_number_of_equal_answers() {
        assert_eq!([0, 1, 2, 99].map(|times| validity(RETRY_REJECTED, times).as_secs()), [15, 30, 60, 60]);
        assert_eq!([0, 1, 5, 6, 99].map(|times| validity(RETRY_UNKNOWN, times).as_secs()), [1, 2, 32, 60, 60]);
    }
}
