//! Asks the API server, in a dry run, whether it would take pods with overrides, before a template with them is put into force.

use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use runtime::plan::names::fnv1a;
use runtime::plan::{Create, DryRun, Key, quota};
use runtime::pods;

use crate::plan::Refused;

/// After how long it is asked again about a pod that it refuses, at first.
const FIRST: Duration = Duration::from_secs(15);
/// The same where it does not say.
const UNSAID: Duration = Duration::from_secs(1);
/// At most.
const LONGEST: Duration = Duration::from_secs(60);

/// What the API server has said of the pods of each MyApp.
pub(crate) struct Trials {
    client: Client,
    held: Mutex<HashMap<Key, Held>>,
}

#[derive(Clone)]
enum Said {
    Accepted,
    Refused(String),
    /// Nothing: why.
    Nothing(String),
}

#[derive(Clone)]
struct Held {
    /// A hash of the pod that it was asked about.
    of: u64,
    /// What it has said.
    said: Said,
    /// How often in a row it has said so.
    times: u32,
    again: Instant,
}

impl Trials {
    /// Nothing asked yet.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, held: Mutex::default() }
    }

    /// Whether the API server refuses `trial`, a pod of the MyApp `app`, or does not say. What it has accepted, it is not asked
    /// again: then the template is in force, or is put back.
    pub(crate) async fn ask(&self, app: &Key, trial: &Create) -> Option<Refused> {
        let of = fnv1a(&trial.body.to_string());
        let before = self.lock().get(app).filter(|held| held.of == of).cloned();
        if let Some(held) = before.as_ref().filter(|held| held.lasts(Instant::now())) {
            return held.told();
        }
        let said = match pods::dry_run(&self.client, trial).await {
            DryRun::Accepted => Said::Accepted,
            DryRun::Rejected(why) if is_no_matter_of_the_pod(&why) => Said::Accepted,
            DryRun::Rejected(why) => Said::Refused(why),
            DryRun::Unknown(why) => Said::Nothing(why),
        };
        let before = before.filter(|held| mem::discriminant(&held.said) == mem::discriminant(&said));
        let times = before.map_or(0, |held| held.times);
        let first = if matches!(said, Said::Nothing(_)) { UNSAID } else { FIRST };
        let held = Held { of, said, times: times.saturating_add(1), again: Instant::now() + pause(first, times) };
        self.lock().insert(app.clone(), held.clone());
        held.told()
    }

    /// Forgets what it knows of all but these MyApps.
    pub(crate) fn retain(&self, is_there: impl Fn(&Key) -> bool) {
        self.lock().retain(|app, _| is_there(app));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Whether it is not asked again at `now`.
    fn lasts(&self, now: Instant) -> bool {
        matches!(self.said, Said::Accepted) || now < self.again
    }

    fn told(&self) -> Option<Refused> {
        let due = self.again.saturating_duration_since(Instant::now());
        let (is_passing, message) = match &self.said {
            Said::Accepted => return None,
            Said::Refused(why) => (false, why.clone()),
            Said::Nothing(why) => (true, why.clone()),
        };
        Some(Refused { is_passing, message, due })
    }
}

/// Whether a refusal is of the moment: a quota counts pods that make room for this one, a namespace that is going is told of by the
/// write itself, and one that has just been made gets its service account in a moment.
fn is_no_matter_of_the_pod(why: &str) -> bool {
    quota::is_exceeded(why)
        || why.contains("is being terminated")
        || why.contains("serviceaccount \"default\" not found")
}

/// How long an answer lasts after so many others of its kind, of which the first one lasted so long.
fn pause(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(8)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use runtime::cache::View;
    use runtime::views::Pod;
    use serde_json::json;

    use super::*;
    use crate::testing::{Answers, status};

    fn trial(image: &str) -> (Key, Create) {
        let key = Key::new("n", "web");
        let pod = json!({ "metadata": {}, "spec": { "containers": [{ "name": "app", "image": image }] } });
        (key.clone(), Create::new(Pod::KIND, key.sibling("web-podoverrides"), &pod))
    }

    #[tokio::test]
    async fn a_pod_that_is_refused_is_not_asked_about_at_every_pass_and_another_one_is_at_once() {
        let answers = Answers::new(|_| (403, status(403, "violates PodSecurity")));
        let trials = Trials::new(answers.client());
        let (app, pod) = trial("one");
        for _ in 0..3 {
            let refused = trials.ask(&app, &pod).await.unwrap();
            assert_eq!((&*refused.message, refused.is_passing), ("violates PodSecurity", false));
            assert!(refused.due <= FIRST);
        }
        assert_eq!(answers.asked(), ["POST /api/v1/namespaces/n/pods?dryRun=All"]);
        drop(trials.ask(&app, &trial("two").1).await);
        assert_eq!(answers.asked().len(), 2);
    }

    #[tokio::test]
    async fn a_pod_that_is_accepted_is_asked_about_once() {
        let (app, pod) = trial("one");
        for (code, message) in [
            (409, "already exists"),
            (403, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
            (403, "error looking up service account n/default: serviceaccount \"default\" not found"),
        ] {
            let answers = Answers::new(move |_| (code, status(code, message)));
            let trials = Trials::new(answers.client());
            for _ in 0..2 {
                assert_eq!(trials.ask(&app, &pod).await, None, "{message}");
            }
            assert_eq!(answers.asked().len(), 1);
            trials.retain(|_| false);
            drop(trials.ask(&app, &pod).await);
            assert_eq!(answers.asked().len(), 2, "nothing is kept of a MyApp that is gone");
        }
    }

    #[tokio::test]
    async fn no_answer_is_no_refusal_and_is_asked_for_again_in_a_moment() {
        let why = "Internal error occurred: failed calling webhook \"pods.example.com\": connection refused";
        let answers = Answers::new(move |_| (500, status(500, why)));
        let trials = Trials::new(answers.client());
        let (app, pod) = trial("one");
        for _ in 0..3 {
            let unsaid = trials.ask(&app, &pod).await.unwrap();
            assert_eq!((&*unsaid.message, unsaid.is_passing), (why, true));
            assert!(unsaid.due <= UNSAID);
        }
        assert_eq!(answers.asked().len(), 1);
        for longest in [2, 4] {
            trials.lock().values_mut().for_each(|held| held.again = Instant::now());
            let due = trials.ask(&app, &pod).await.unwrap().due.as_secs_f64();
            assert!(due <= f64::from(longest) && due > f64::from(longest) / 2.0, "{due}");
        }
    }

    #[test]
    fn it_is_asked_less_often_the_longer_it_lasts() {
        assert_eq!([0, 1, 2, 99].map(|times| pause(FIRST, times).as_secs()), [15, 30, 60, 60]);
        assert_eq!([0, 1, 5, 6, 99].map(|times| pause(UNSAID, times).as_secs()), [1, 2, 32, 60, 60]);
    }
}
