//! Publishes Events, beside the reconciles. What is said again soon is counted in the Event that says it already. An Event that
//! is not taken is sent again for a while; a reconcile never waits for one, so where more are said than the API server takes, the
//! newest are dropped.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::future::join_all;
use http::Request;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::Error;
use crate::act::{create_request, merge_request};
use crate::plan::conditions::Announcement;
use crate::plan::meta::{Key, Kind, MANAGER, Meta};
use crate::plan::names::{LONGEST_NAME, within};
use crate::plan::series::Series;
use crate::retry::Backoff;

const EVENT: Kind = Kind { group: "events.k8s.io", version: "v1", kind: "Event", plural: "events" };
/// How many Events are under way at a time: one slow answer does not hold up the others.
const LANES: usize = 4;
/// Events of a lane that may wait; beyond it they are dropped.
const WAITING: usize = 256;
/// How often an Event is sent: that takes some 6 s and five answers, more than a leader of the API server or of etcd takes to be
/// replaced, and less than a person waits for.
const TRIES: usize = 6;
/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1024;

/// Takes announcements from reconciles.
#[derive(Clone)]
pub struct Publisher {
    /// What says the same takes the same lane, so that it is counted.
    lanes: Arc<[mpsc::Sender<Waiting>]>,
    controller: &'static str,
    instance: String,
}

/// An Event that waits to be published.
struct Waiting {
    /// The object that it is about.
    key: Key,
    /// What it says, of which object.
    what: u64,
    now: Timestamp,
    name: String,
    event: Value,
}

/// Makes a publisher for each controller, and the future that sends what they publish until all are dropped.
pub fn channel(
    client: Client,
    instance: &str,
) -> (impl Fn(&'static str) -> Publisher + use<>, impl Future<Output = ()> + use<>) {
    let (lanes, receivers): (Vec<_>, Vec<_>) = (0..LANES).map(|_| mpsc::channel(WAITING)).unzip();
    let (lanes, instance) = (Arc::<[_]>::from(lanes), instance.to_owned());
    let publisher = move |controller| Publisher { lanes: lanes.clone(), controller, instance: instance.clone() };
    let send = async move {
        join_all(receivers.into_iter().map(|receiver| send_all(client.clone(), receiver))).await;
    };
    (publisher, send)
}

/// Sends what comes through a lane, one after another.
async fn send_all(client: Client, mut receiver: mpsc::Receiver<Waiting>) {
    let mut series = Series::default();
    while let Some(waiting) = receiver.recv().await {
        let key = waiting.key.clone();
        if let Err(error) = publish(&client, &mut series, waiting).await {
            tracing::debug!(object = %key, %error, "an event was not published");
        }
    }
}

/// Makes an Event, or counts on the one that says the same; one that is gone meanwhile is made again.
async fn publish(client: &Client, series: &mut Series, waiting: Waiting) -> Result<(), Error> {
    let Waiting { key, what, now, name, event } = waiting;
    let path = EVENT.path(&key.namespace);
    if let Some((name, count)) = series.repeat(what, now) {
        let fields = json!({ "series": { "count": count, "lastObservedTime": format!("{now:.6}") } });
        match insist(client, || merge_request(&format!("{path}/{name}"), &fields)).await {
            Err(error) if error.reason() == "NotFound" => {}
            other => return other,
        }
    }
    match insist(client, || create_request(&path, &event)).await {
        // An earlier try took effect, and its answer was lost.
        Err(error) if error.reason() == "Conflict" => {}
        other => other?,
    }
    series.begin(what, name, now);
    Ok(())
}

/// Sends a request until it is answered, but not for ever; what the API server judges is not asked again.
async fn insist(client: &Client, request: impl Fn() -> Result<Request<Vec<u8>>, Error>) -> Result<(), Error> {
    let mut backoff = Backoff::object();
    for _ in 1..TRIES {
        match client.request::<serde::de::IgnoredAny>(request()?).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code < 500 && status.code != 429 => {
                return Err(kube::Error::Api(status).into());
            }
            Err(_) => tokio::time::sleep(backoff.delay()).await,
        }
    }
    Ok(client.request::<serde::de::IgnoredAny>(request()?).await.map(drop)?)
}

impl Publisher {
    /// Publishes an announcement about an object of that kind.
    pub fn publish(&self, kind: &Kind, meta: &Meta, announcement: Announcement) {
        self.publish_at(kind, meta, announcement, Timestamp::now());
    }

    fn publish_at(&self, kind: &Kind, meta: &Meta, announcement: Announcement, now: Timestamp) {
        let level = if announcement.warning { "Warning" } else { "Normal" };
        tracing::info!(object = %meta.key, kind = kind.kind, reason = &*announcement.reason, "{}", announcement.message);
        let mut note = announcement.message;
        if note.len() > LONGEST_NOTE {
            let end = (0..=LONGEST_NOTE - 4).rev().find(|i| note.is_char_boundary(*i)).unwrap_or(0);
            note.truncate(end);
            note.push_str("...");
        }
        let mut hasher = DefaultHasher::new();
        (&meta.uid, self.controller, &announcement.reason, level, &note).hash(&mut hasher);
        let what = hasher.finish();
        now.hash(&mut hasher);
        let name = name(&meta.key.name, hasher.finish());
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": name,
                "namespace": &*meta.key.namespace,
            },
            "eventTime": format!("{now:.6}"),
            "reportingController": format!("{MANAGER}/{}", self.controller),
            "reportingInstance": self.instance,
            "action": "Reconcile",
            "reason": &*announcement.reason,
            "note": note,
            "type": level,
            "regarding": {
                "apiVersion": kind.api_version(),
                "kind": kind.kind,
                "name": &*meta.key.name,
                "namespace": &*meta.key.namespace,
                "uid": meta.uid,
            },
        });
        let lane = usize::try_from(what % LANES as u64).unwrap_or_default();
        if let Some(lane) = self.lanes.get(lane) {
            drop(lane.try_send(Waiting { key: meta.key.clone(), what, now, name, event }));
        }
    }
}

/// The name of an Event about the object `name`: an object's may be as long as a name can be.
fn name(of: &str, hash: u64) -> String {
    let hash = format!(".{hash:016x}");
    format!("{}{hash}", within(of, LONGEST_NAME - hash.len()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::client::Body;

    use super::*;

    const KIND: Kind = Kind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };

    /// An API server that holds Events, by name, and how often it was asked.
    #[derive(Clone, Default)]
    struct Server(Arc<Mutex<(BTreeMap<String, Value>, usize)>>, Arc<Mutex<Vec<u16>>>);

    impl Server {
        fn client(&self) -> Client {
            let server = self.clone();
            let service = tower::service_fn(move |request: Request<Body>| {
                let server = server.clone();
                async move {
                    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                    let body = request.into_body().collect_bytes().await.unwrap();
                    let code = server.take(&method, &path, serde_json::from_slice(&body).unwrap());
                    let code = server.1.lock().unwrap().pop().unwrap_or(code);
                    let answer = if code < 300 { json!({}) } else { json!({ "status": "Failure", "code": code }) };
                    let response = Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
                    Ok::<_, Infallible>(response.unwrap())
                }
            });
            Client::new(service, "default")
        }

        fn take(&self, method: &Method, path: &str, body: Value) -> u16 {
            let (events, asked) = &mut *self.0.lock().unwrap();
            *asked += 1;
            let all = "/apis/events.k8s.io/v1/namespaces/n/events";
            if *method == Method::POST {
                assert_eq!(path, all);
                let name = body["metadata"]["name"].as_str().unwrap().to_owned();
                return if events.insert(name, body).is_none() { 201 } else { 409 };
            }
            let event = path.strip_prefix(all).and_then(|name| events.get_mut(&name[1..]));
            event.map_or(404, |event| {
                event["series"] = body["series"].clone();
                200
            })
        }

        /// Publishes the same at these seconds, by one manager.
        async fn said_at(&self, seconds: impl IntoIterator<Item = i64>) {
            let (publisher, send) = channel(self.client(), "pod");
            let one = publisher("my-app");
            drop(publisher);
            for second in seconds {
                let same = Announcement { warning: true, reason: "Rejected".into(), message: "no".to_owned() };
                // Edits of the object are no news of what is said.
                let meta = json!({ "namespace": "n", "name": "a", "uid": "u", "generation": second });
                let now = Timestamp::from_second(second).unwrap();
                one.publish_at(&KIND, &serde_json::from_value(meta).unwrap(), same, now);
            }
            drop(one);
            send.await;
        }

        fn events(&self) -> Vec<Value> {
            self.0.lock().unwrap().0.values().cloned().collect()
        }
    }

    #[tokio::test]
    async fn what_is_said_ten_times_within_minutes_is_one_event() {
        let server = Server::default();
        server.said_at((0..10).map(|time| time * 40)).await;
        let events = server.events();
        assert_eq!((events.len(), server.0.lock().unwrap().1), (1, 10), "{events:?}");
        assert_eq!((&events[0]["note"], &events[0]["type"]), (&json!("no"), &json!("Warning")));
        let series = json!({ "count": 10, "lastObservedTime": "1970-01-01T00:06:00.000000Z" });
        assert_eq!((&events[0]["eventTime"], &events[0]["series"]), (&json!("1970-01-01T00:00:00.000000Z"), &series));
    }

    #[tokio::test]
    async fn what_is_said_later_is_another_event() {
        let server = Server::default();
        server.said_at([0, 359, 720]).await;
        let mut counts: Vec<_> = server.events().iter().map(|event| event["series"]["count"].as_i64()).collect();
        counts.sort_unstable();
        assert_eq!(counts, [None, Some(2)]);
    }

    #[tokio::test]
    async fn an_event_whose_answer_is_lost_is_sent_again_and_is_one() {
        let server = Server::default();
        *server.1.lock().unwrap() = vec![504, 500, 429];
        server.said_at([0]).await;
        assert_eq!((server.events().len(), server.0.lock().unwrap().1), (1, 4));
        server.said_at([1]).await;
        *server.1.lock().unwrap() = vec![403];
        let asked = server.0.lock().unwrap().1;
        server.said_at([2]).await;
        assert_eq!(server.0.lock().unwrap().1, asked + 1, "what the API server refuses is not asked for again");
        *server.1.lock().unwrap() = vec![503; 100];
        server.said_at([3]).await;
        assert_eq!(server.0.lock().unwrap().1, asked + 1 + TRIES, "nor is anything for ever");
    }

    #[tokio::test]
    async fn a_slow_answer_does_not_hold_up_all_others() {
        let (asked, mut answered) = mpsc::unbounded_channel();
        let service = tower::service_fn(move |_: Request<Body>| {
            asked.send(()).unwrap();
            async { std::future::pending::<Result<Response<Body>, Infallible>>().await }
        });
        let (publisher, send) = channel(Client::new(service, "default"), "pod");
        let sending = tokio::spawn(send);
        let meta: Meta = serde_json::from_value(json!({ "namespace": "n", "name": "a", "uid": "u" })).unwrap();
        for number in 0..64 {
            let one = Announcement { warning: false, reason: "Running".into(), message: number.to_string() };
            publisher("my-app").publish_at(&KIND, &meta, one, Timestamp::UNIX_EPOCH);
        }
        for _ in 0..LANES {
            answered.recv().await.unwrap();
        }
        sending.abort();
    }

    #[tokio::test]
    async fn an_event_that_is_gone_is_made_again() {
        let (server, mut series) = (Server::default(), Series::default());
        let say = async |series: &mut Series, second: i64| {
            let (name, now) = (format!("a.{second}"), Timestamp::from_second(second).unwrap());
            let event = json!({ "metadata": { "name": name } });
            let waiting = Waiting { key: Key::new("n", "a"), what: 1, now, name, event };
            publish(&server.client(), series, waiting).await.unwrap();
        };
        say(&mut series, 1).await;
        server.0.lock().unwrap().0.clear();
        say(&mut series, 2).await;
        say(&mut series, 3).await;
        let again = json!({ "metadata": { "name": "a.2" }, "series": { "count": 2,
            "lastObservedTime": "1970-01-01T00:00:03.000000Z" } });
        assert_eq!(server.events(), [again]);
    }

    #[test]
    fn an_event_about_an_object_of_the_longest_name_has_a_name() {
        assert_eq!(name("web", 1), "web.0000000000000001");
        assert_eq!(name(&"a".repeat(LONGEST_NAME), 1).len(), LONGEST_NAME);
    }
}
