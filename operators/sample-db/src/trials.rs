//! Asks the API server whether it would create the pod that is to replace a server's, before that one is deleted: seldom, as
//! long as it would not.

use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::plan::{Create, DryRun, Key};
use runtime::pod::quota;
use runtime::projections::Pod;
use serde_json::Value;

use crate::queries::ApiQueries;
use crate::remembered::Remembered;

/// After how long it is asked again about the same pod: at first, and at most.
const FIRST: SignedDuration = SignedDuration::from_secs(15);
const LONGEST: SignedDuration = SignedDuration::from_secs(60);
/// After how long without being asked again an answer is forgotten.
const FORGOTTEN: SignedDuration = SignedDuration::from_mins(10);

/// What the API server has said of pods, by the key of the pod that each is to replace.
#[derive(Clone, Default)]
pub(crate) struct Trials(Remembered<Key, Answer>);

#[derive(Clone)]
struct Answer {
    /// The pod that it was asked about.
    of: Value,
    said: DryRun,
    at: Timestamp,
    /// How often in a row it has not accepted that pod.
    times: u32,
}

impl Trials {
    /// What the API server says of `trial`, which is to replace the pod `present`.
    pub(crate) async fn ask(&self, api: &impl ApiQueries, trial: &Create, present: &Key, now: Timestamp) -> DryRun {
        let known = self.0.get(present, FORGOTTEN, now).filter(|known| known.of == trial.body);
        let times = match known {
            Some(known) if now.duration_since(known.at) < pause(known.times) => return known.said,
            known => known.map_or(0, |known| known.times),
        };
        let said = judge(api, api.dry_run(trial).await, present).await;
        self.0.remove(present);
        if said != DryRun::Accepted {
            let times = times.saturating_add(1);
            let answer = Answer { of: trial.body.clone(), said: said.clone(), at: now, times };
            self.0.put(present.clone(), answer, FORGOTTEN, now);
        }
        said
    }
}

/// A quota counts the present pod, too, which is gone by the time that the next one is created.
async fn judge(api: &impl ApiQueries, said: DryRun, present: &Key) -> DryRun {
    let DryRun::Rejected(why) = said else { return said };
    if !quota::is_exceeded(&why) {
        return DryRun::Rejected(why);
    }
    match api.get(Pod::KIND, present).await {
        Ok(pod) if quota::has_room_without(&why, pod.as_ref()) => DryRun::Accepted,
        Ok(_) => DryRun::Rejected(why),
        Err(error) => DryRun::Unknown(error.to_string()),
    }
}

/// How long an answer lasts that was not that pod's acceptance for so many times in a row.
fn pause(times: u32) -> SignedDuration {
    (FIRST * (1 << times.saturating_sub(1).min(8))).min(LONGEST)
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
        let (asked, message) = (Arc::new(AtomicUsize::new(0)), message.to_owned());
        let count = asked.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            let (code, answer) = match request.method() {
                &http::Method::GET => (200, present.clone()),
                _ => (code, json!({ "kind": "Status", "status": "Failure", "code": code, "message": message })),
            };
            let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
            std::future::ready(response)
        });
        (LiveApi::new(Client::new(service, "n")), asked)
    }

    fn trial(image: &str) -> (Create, Key) {
        let key = Key::new("n", "shop-0");
        let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "postgres", "image": image }] } });
        (Create::new(Pod::KIND, key.sibling("shop-probe"), &pod), key)
    }

    #[tokio::test]
    async fn a_pod_that_is_rejected_is_not_asked_about_at_every_pass_and_another_one_is_at_once() {
        let (api, asked) = answering(403, "violates PodSecurity", json!({}));
        let (trials, (pod, present)) = (Trials::default(), trial("one"));
        let rejected = DryRun::Rejected("violates PodSecurity".to_owned());
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        for (seconds, requests) in [(0, 1), (5, 1), (14, 1), (15, 2), (44, 2), (45, 3), (104, 3), (105, 4), (164, 4)] {
            assert_eq!(trials.ask(&api, &pod, &present, at(seconds)).await, rejected);
            assert_eq!(asked.load(Ordering::SeqCst), requests, "after {seconds} s");
        }
        drop(trials.ask(&api, &trial("two").0, &present, at(164)).await);
        assert_eq!(asked.load(Ordering::SeqCst), 5);
    }

    #[tokio::test]
    async fn a_quota_that_has_room_once_the_present_pod_is_gone_rejects_nothing() {
        let (pod, present) = trial("one");
        let (api, asked) = answering(403, FULL, json!({ "spec": { "containers": [] } }));
        let ask = async |api: &LiveApi| Trials::default().ask(api, &pod, &present, Timestamp::UNIX_EPOCH).await;
        assert_eq!(ask(&api).await, DryRun::Accepted);
        assert_eq!(asked.load(Ordering::SeqCst), 2, "the present pod is read for that");
        let less = FULL.replace("used: pods=1", "used: pods=2");
        assert_eq!(ask(&answering(403, &less, json!({})).0).await, DryRun::Rejected(less));
    }

    #[test]
    fn it_is_asked_less_often_the_longer_it_lasts() {
        let seconds: Vec<i64> = [1, 2, 3, 99].map(|times| pause(times).as_secs()).into();
        assert_eq!(seconds, [15, 30, 60, 60]);
    }
}
