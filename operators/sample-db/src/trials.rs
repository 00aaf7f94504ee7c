//! Asks the API server whether it would create the pod that is to replace a server's, before that one is deleted: seldom, as
//! long as it would not.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use runtime::plan::{Create, DryRun, Key, quota};
use runtime::pods;
use serde_json::Value;

/// After how long it is asked again about the same pod: at first, and at most.
const FIRST: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(60);

/// What the API server has said of pods, by the key of the pod that each is to replace.
pub(crate) struct Trials {
    client: Client,
    held: Mutex<HashMap<Key, Held>>,
}

struct Held {
    /// The pod that it was asked about.
    of: Value,
    said: DryRun,
    at: Instant,
    /// How often in a row it has not accepted that pod.
    times: u32,
}

impl Trials {
    /// Nothing asked yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, held: Mutex::default() }
    }

    /// What the API server says of `trial`, which is to replace the pod `present`.
    pub(crate) async fn ask(&self, trial: &Create, present: &Key) -> DryRun {
        let times = match self.lock().get(present).filter(|held| held.of == trial.body) {
            Some(held) if held.at.elapsed() < pause(held.times) => return held.said.clone(),
            held => held.map_or(0, |held| held.times),
        };
        let said = self.judge(pods::dry_run(&self.client, trial).await, present).await;
        let mut all = self.lock();
        all.retain(|of, held| of != present && held.at.elapsed() < LONGEST);
        if said != DryRun::Accepted {
            let (of, said, times) = (trial.body.clone(), said.clone(), times.saturating_add(1));
            all.insert(present.clone(), Held { of, said, at: Instant::now(), times });
        }
        said
    }

    /// A quota counts the present pod, too, which is gone by the time that the next one is created.
    async fn judge(&self, said: DryRun, present: &Key) -> DryRun {
        let DryRun::Rejected(why) = said else { return said };
        if !quota::is_exceeded(&why) {
            return DryRun::Rejected(why);
        }
        match pods::get(&self.client, present).await {
            Ok(pod) if quota::has_room_without(&why, pod.as_ref()) => DryRun::Accepted,
            Ok(_) => DryRun::Rejected(why),
            Err(error) => DryRun::Unknown(error.to_string()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long an answer lasts that was not that pod's acceptance for so many times in a row.
fn pause(times: u32) -> Duration {
    FIRST.saturating_mul(1 << times.saturating_sub(1).min(8)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use runtime::cache::View;
    use runtime::views::Pod;
    use serde_json::json;

    use super::*;

    const FULL: &str = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";

    /// An API server that answers each creation with that code and message, has that pod, and counts requests.
    fn answering(code: u16, message: &str, present: Value) -> (Trials, Arc<AtomicUsize>) {
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
        (Trials::new(Client::new(service, "n")), asked)
    }

    fn trial(image: &str) -> (Create, Key) {
        let key = Key::new("n", "shop-0");
        let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "postgres", "image": image }] } });
        (Create::new(Pod::KIND, key.sibling("shop-probe"), &pod), key)
    }

    #[tokio::test]
    async fn a_pod_that_is_rejected_is_not_asked_about_at_every_pass_and_another_one_is_at_once() {
        let (trials, asked) = answering(403, "violates PodSecurity", json!({}));
        let (pod, present) = trial("one");
        for _ in 0..3 {
            assert_eq!(trials.ask(&pod, &present).await, DryRun::Rejected("violates PodSecurity".to_owned()));
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        drop(trials.ask(&trial("two").0, &present).await);
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_quota_that_has_room_once_the_present_pod_is_gone_rejects_nothing() {
        let (pod, present) = trial("one");
        let (trials, asked) = answering(403, FULL, json!({ "spec": { "containers": [] } }));
        assert_eq!(trials.ask(&pod, &present).await, DryRun::Accepted);
        assert_eq!(asked.load(Ordering::SeqCst), 2, "the present pod is read for that");
        let less = FULL.replace("used: pods=1", "used: pods=2");
        assert_eq!(answering(403, &less, json!({})).0.ask(&pod, &present).await, DryRun::Rejected(less));
    }

    #[test]
    fn it_is_asked_less_often_the_longer_it_lasts() {
        let seconds: Vec<u64> = [1, 2, 3, 99].map(|times| pause(times).as_secs()).into();
        assert_eq!(seconds, [15, 30, 60, 60]);
    }
}
