//! Dry runs of the pod that is to replace a server's pod, made before that pod is deleted. As long as the API server rejects the
//! new pod, it is tried again less and less often.

use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::plan::{Create, DryRun, Key};
use runtime::pod::quota;
use runtime::projections::Pod;
use serde_json::Value;

use crate::queries::ApiQueries;
use crate::ttl_cache::TtlCache;

/// The delay before the same pod is tried again, at first and at most.
const FIRST_RETRY: SignedDuration = SignedDuration::from_secs(15);
const MAX_RETRY: SignedDuration = SignedDuration::from_secs(60);
/// How long the result for a pod is remembered after its last dry run.
const ENTRY_TTL: SignedDuration = SignedDuration::from_mins(10);

/// Results of dry runs, by the key of the pod that each new pod is to replace.
#[derive(Clone, Default)]
pub(crate) struct Trials(TtlCache<Key, RememberedTrial>);

#[derive(Clone)]
struct RememberedTrial {
    /// The pod that was tried.
    pod: Value,
    result: DryRun,
    at: Timestamp,
    /// How many times in a row the API server did not accept it.
    rejections: u32,
}

impl Trials {
    /// Returns whether the API server would create `trial`, which is to replace the pod `present`.
    pub(crate) async fn dry_run(&self, api: &impl ApiQueries, trial: &Create, present: &Key, now: Timestamp) -> DryRun {
        let remembered = self.0.get(present, ENTRY_TTL, now).filter(|remembered| remembered.pod == trial.body);
        let rejections = match remembered {
            Some(remembered) if now.duration_since(remembered.at) < delay_after(remembered.rejections) => {
                return remembered.result;
            }
            remembered => remembered.map_or(0, |remembered| remembered.rejections),
        };
        let result = allow_for_quota(api, api.dry_run(trial).await, present).await;
        self.0.remove(present);
        if result != DryRun::Accepted {
            let rejections = rejections.saturating_add(1);
            let trial = RememberedTrial { pod: trial.body.clone(), result: result.clone(), at: now, rejections };
            self.0.put(present.clone(), trial, ENTRY_TTL, now);
        }
        result
    }
}

/// A quota also counts the present pod, which is deleted before the next one is created.
async fn allow_for_quota(api: &impl ApiQueries, result: DryRun, present: &Key) -> DryRun {
    let DryRun::Rejected(why) = result else { return result };
    if !quota::is_exceeded(&why) {
        return DryRun::Rejected(why);
    }
    match api.get(Pod::KIND, present).await {
        Ok(pod) if quota::has_room_without(&why, pod.as_ref()) => DryRun::Accepted,
        Ok(_) => DryRun::Rejected(why),
        Err(error) => DryRun::Unknown(error.to_string()),
    }
}

/// How long a result is used if the API server has not accepted the pod so many times in a row.
fn delay_after(rejections: u32) -> SignedDuration {
    (FIRST_RETRY * (1 << rejections.saturating_sub(1).min(8))).min(MAX_RETRY)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::live_api::LiveApi;

    const FULL: &str = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";

    /// An API server that answers each creation with that code and message, has that pod, and counts requests.
    fn answering(code: u16, message: &str, present: Value) -> (LiveApi, Arc<AtomicUsize>) {
        let (requests_counted, message) = (Arc::new(AtomicUsize::new(0)), message.to_owned());
        let count = requests_counted.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            let (code, answer) = match request.method() {
                &http::Method::GET => (200, present.clone()),
                _ => (code, json!({ "kind": "Status", "status": "Failure", "code": code, "message": message })),
            };
            let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
            std::future::ready(response)
        });
        (LiveApi::new(Client::new(service, "n")), requests_counted)
    }

    fn trial(image: &str) -> (Create, Key) {
        let key = Key::new("n", "shop-0");
        let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "postgres", "image": image }] } });
        (Create::new(Pod::KIND, key.sibling("shop-probe"), &pod), key)
    }

    #[tokio::test]
    async fn a_rejected_pod_is_not_tried_at_every_reconcile_and_another_one_is_tried_at_once() {
        let (api, requests_counted) = answering(403, "violates PodSecurity", json!({}));
        let (trials, (pod, present)) = (Trials::default(), trial("one"));
        let rejected = DryRun::Rejected("violates PodSecurity".to_owned());
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        for (seconds, requests) in [(0, 1), (5, 1), (14, 1), (15, 2), (44, 2), (45, 3), (104, 3), (105, 4), (164, 4)] {
            assert_eq!(trials.dry_run(&api, &pod, &present, at(seconds)).await, rejected);
            assert_eq!(requests_counted.load(Ordering::SeqCst), requests, "after {seconds} s");
        }
        drop(trials.dry_run(&api, &trial("two").0, &present, at(164)).await);
        assert_eq!(requests_counted.load(Ordering::SeqCst), 5);
    }

    #[tokio::test]
    async fn a_quota_that_has_room_once_the_present_pod_is_deleted_rejects_nothing() {
        let (pod, present) = trial("one");
        let (api, requests_counted) = answering(403, FULL, json!({ "spec": { "containers": [] } }));
        let dry_run = async |api: &LiveApi| Trials::default().dry_run(api, &pod, &present, Timestamp::UNIX_EPOCH).await;
        assert_eq!(dry_run(&api).await, DryRun::Accepted);
        assert_eq!(requests_counted.load(Ordering::SeqCst), 2, "the present pod is read for that");
        let less = FULL.replace("used: pods=1", "used: pods=2");
        assert_eq!(dry_run(&answering(403, &less, json!({})).0).await, DryRun::Rejected(less));
    }

    #[test]
    fn retries_become_less_frequent() {
        let seconds: Vec<i64> = [1, 2, 3, 99].map(|rejections| delay_after(rejections).as_secs()).into();
        assert_eq!(seconds, [15, 30, 60, 60]);
    }
}
