//! Dry runs of pods with overrides: whether the API server would accept them, before a template with them is applied.

use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use runtime::names::fnv1a;
use runtime::plan::{Create, DryRun, Key};
use runtime::pod::quota;
use runtime::pod_requests;

use crate::plan::DryRunFailure;

/// The first interval after which a refused pod is tried again.
const RETRY_REFUSED: Duration = Duration::from_secs(15);
/// The same where the API server did not answer.
const RETRY_UNANSWERED: Duration = Duration::from_secs(1);
/// The longest such interval.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// The answers for the pods of each MyApp.
pub(crate) struct DryRuns {
    client: Client,
    cache: Mutex<HashMap<Key, CachedAnswer>>,
}

#[derive(Clone)]
enum Answer {
    Accepted,
    Refused(String),
    /// There is no answer: why.
    Unanswered(String),
}

#[derive(Clone)]
struct CachedAnswer {
    /// A hash of the pod.
    of: u64,
    answer: Answer,
    /// How often in a row the answer was of this kind.
    times: u32,
    expires: Instant,
}

impl DryRuns {
    /// An empty cache.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, cache: Mutex::default() }
    }

    /// Whether the API server refuses `pod`, a pod of the MyApp `app`, or does not answer. An accepted pod is not tried again: then the
    /// template is applied, or replaced.
    pub(crate) async fn query(&self, app: &Key, pod: &Create) -> Option<DryRunFailure> {
        let of = fnv1a(&pod.body.to_string());
        let before = self.lock().get(app).filter(|held| held.of == of).cloned();
        if let Some(held) = before.as_ref().filter(|held| held.lasts(Instant::now())) {
            return held.failure();
        }
        let answer = match pod_requests::dry_run(&self.client, pod).await {
            DryRun::Accepted => Answer::Accepted,
            DryRun::Rejected(why) if is_unrelated_to_the_pod(&why) => Answer::Accepted,
            DryRun::Rejected(why) => Answer::Refused(why),
            DryRun::Unknown(why) => Answer::Unanswered(why),
        };
        let before = before.filter(|held| mem::discriminant(&held.answer) == mem::discriminant(&answer));
        let times = before.map_or(0, |held| held.times);
        let first = if matches!(answer, Answer::Unanswered(_)) { RETRY_UNANSWERED } else { RETRY_REFUSED };
        let held =
            CachedAnswer { of, answer, times: times.saturating_add(1), expires: Instant::now() + pause(first, times) };
        self.lock().insert(app.clone(), held.clone());
        held.failure()
    }

    /// Forgets all but these MyApps.
    pub(crate) fn retain(&self, exists: impl Fn(&Key) -> bool) {
        self.lock().retain(|app, _| exists(app));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CachedAnswer>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedAnswer {
    /// Whether the answer still counts at `now`.
    fn lasts(&self, now: Instant) -> bool {
        matches!(self.answer, Answer::Accepted) || now < self.expires
    }

    fn failure(&self) -> Option<DryRunFailure> {
        let due = self.expires.saturating_duration_since(Instant::now());
        let (is_transient, message) = match &self.answer {
            Answer::Accepted => return None,
            Answer::Refused(why) => (false, why.clone()),
            Answer::Unanswered(why) => (true, why.clone()),
        };
        Some(DryRunFailure { is_transient, message, due })
    }
}

/// Whether a rejection has nothing to do with the pod's spec: a quota also counts pods that this one replaces, the apply itself reports a
/// terminating namespace, and a new namespace gets its service account in a moment.
fn is_unrelated_to_the_pod(why: &str) -> bool {
    quota::is_exceeded(why)
        || why.contains("is being terminated")
        || why.contains("serviceaccount \"default\" not found")
}

/// How long an answer counts after `times` others of its kind, of which the first one counted for `first`.
fn pause(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(8)).min(MAX_RETRY)
}

#[cfg(test)]
mod tests {
    use runtime::cache::Projection;
    use runtime::projections::Pod;
    use serde_json::json;

    use super::*;
    use crate::testing::{Answers, status};

    fn pod_with(image: &str) -> (Key, Create) {
        let key = Key::new("n", "web");
        let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "app", "image": image }] } });
        (key.clone(), Create::new(Pod::KIND, key.sibling("web-podoverrides"), &pod))
    }

    #[tokio::test]
    async fn a_refused_pod_is_not_tried_at_every_reconcile_and_another_pod_is_tried_at_once() {
        let answers = Answers::new(|_| (403, status(403, "violates PodSecurity")));
        let dry_runs = DryRuns::new(answers.client());
        let (app, pod) = pod_with("one");
        for _ in 0..3 {
            let refused = dry_runs.query(&app, &pod).await.unwrap();
            assert_eq!((&*refused.message, refused.is_transient), ("violates PodSecurity", false));
            assert!(refused.due <= RETRY_REFUSED);
        }
        assert_eq!(answers.requests(), ["POST /api/v1/namespaces/n/pods?dryRun=All"]);
        drop(dry_runs.query(&app, &pod_with("two").1).await);
        assert_eq!(answers.requests().len(), 2);
    }

    #[tokio::test]
    async fn an_accepted_pod_is_tried_once() {
        let (app, pod) = pod_with("one");
        for (code, message) in [
            (409, "already exists"),
            (403, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
            (403, "error looking up service account n/default: serviceaccount \"default\" not found"),
        ] {
            let answers = Answers::new(move |_| (code, status(code, message)));
            let dry_runs = DryRuns::new(answers.client());
            for _ in 0..2 {
                assert_eq!(dry_runs.query(&app, &pod).await, None, "{message}");
            }
            assert_eq!(answers.requests().len(), 1);
            dry_runs.retain(|_| false);
            drop(dry_runs.query(&app, &pod).await);
            assert_eq!(answers.requests().len(), 2, "nothing is cached for a deleted MyApp");
        }
    }

    #[tokio::test]
    async fn no_answer_is_not_a_refusal_and_is_tried_again_soon() {
        let why = "Internal error occurred: failed calling webhook \"pods.example.com\": connection refused";
        let answers = Answers::new(move |_| (500, status(500, why)));
        let dry_runs = DryRuns::new(answers.client());
        let (app, pod) = pod_with("one");
        for _ in 0..3 {
            let unanswered = dry_runs.query(&app, &pod).await.unwrap();
            assert_eq!((&*unanswered.message, unanswered.is_transient), (why, true));
            assert!(unanswered.due <= RETRY_UNANSWERED);
        }
        assert_eq!(answers.requests().len(), 1);
        for longest in [2, 4] {
            dry_runs.lock().values_mut().for_each(|held| held.expires = Instant::now());
            let due = dry_runs.query(&app, &pod).await.unwrap().due.as_secs_f64();
            assert!(due <= f64::from(longest) && due > f64::from(longest) / 2.0, "{due}");
        }
    }

    #[test]
    fn intervals_grow_with_the_number_of_equal_answers() {
        assert_eq!([0, 1, 2, 99].map(|times| pause(RETRY_REFUSED, times).as_secs()), [15, 30, 60, 60]);
        assert_eq!([0, 1, 5, 6, 99].map(|times| pause(RETRY_UNANSWERED, times).as_secs()), [1, 2, 32, 60, 60]);
    }
}
