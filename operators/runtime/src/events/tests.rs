//! Events, against an API server in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::client::Body;

use super::*;

const KIND: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };

/// An API server with Events by name, and the number of requests.
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

    /// Publishes equal Events at these seconds, from one manager.
    async fn publish_at_seconds(&self, seconds: impl IntoIterator<Item = i64>) {
        let (publisher, send) = channel(self.client(), "pod");
        let one = publisher("my-app");
        drop(publisher);
        for second in seconds {
            let same =
                EventDraft { warning: true, reason: api::ReconcileReason::Rejected.into(), message: "no".to_owned() };
            // An edit of the object does not make another Event.
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
async fn ten_occurrences_within_minutes_are_one_event() {
    let server = Server::default();
    server.publish_at_seconds((0..10).map(|time| time * 40)).await;
    let events = server.events();
    assert_eq!((events.len(), server.0.lock().unwrap().1), (1, 10), "{events:?}");
    assert_eq!((&events[0]["note"], &events[0]["type"]), (&json!("no"), &json!("Warning")));
    let series = json!({ "count": 10, "lastObservedTime": "1970-01-01T00:06:00.000000Z" });
    assert_eq!((&events[0]["eventTime"], &events[0]["series"]), (&json!("1970-01-01T00:00:00.000000Z"), &series));
}

#[tokio::test]
async fn a_later_occurrence_is_another_event() {
    let server = Server::default();
    server.publish_at_seconds([0, 359, 720]).await;
    let mut counts: Vec<_> = server.events().iter().map(|event| event["series"]["count"].as_i64()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [None, Some(2)]);
}

#[tokio::test]
async fn an_event_whose_response_is_lost_is_sent_again_and_is_one() {
    let server = Server::default();
    *server.1.lock().unwrap() = vec![504, 500, 429];
    server.publish_at_seconds([0]).await;
    assert_eq!((server.events().len(), server.0.lock().unwrap().1), (1, 4));
    server.publish_at_seconds([1]).await;
    *server.1.lock().unwrap() = vec![403];
    let asked = server.0.lock().unwrap().1;
    server.publish_at_seconds([2]).await;
    assert_eq!(server.0.lock().unwrap().1, asked + 1, "a rejected Event is not sent again");
    *server.1.lock().unwrap() = vec![503; 100];
    server.publish_at_seconds([3]).await;
    assert_eq!(server.0.lock().unwrap().1, asked + 1 + MAX_ATTEMPTS, "nor is any Event forever");
}

#[tokio::test]
async fn a_slow_response_does_not_delay_all_others() {
    let (asked, mut answered) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |_: Request<Body>| {
        asked.send(()).unwrap();
        async { std::future::pending::<Result<Response<Body>, Infallible>>().await }
    });
    let (publisher, send) = channel(Client::new(service, "default"), "pod");
    let sending = tokio::spawn(send);
    let meta: Meta = serde_json::from_value(json!({ "namespace": "n", "name": "a", "uid": "u" })).unwrap();
    for number in 0..64 {
        let one = EventDraft { warning: false, reason: api::Reason::reported("Running"), message: number.to_string() };
        publisher("my-app").publish_at(&KIND, &meta, one, Timestamp::UNIX_EPOCH);
    }
    for _ in 0..SENDERS {
        answered.recv().await.unwrap();
    }
    sending.abort();
}

#[tokio::test]
async fn a_deleted_event_is_recreated() {
    let (server, mut series) = (Server::default(), EventSeries::default());
    let publish_again = async |series: &mut EventSeries, second: i64| {
        let (name, now) = (format!("a.{second}"), Timestamp::from_second(second).unwrap());
        let event = json!({ "metadata": { "name": name } });
        let waiting = Waiting { key: Key::new("n", "a"), what: 1, now, name, event };
        publish(&server.client(), series, waiting).await.unwrap();
    };
    publish_again(&mut series, 1).await;
    server.0.lock().unwrap().0.clear();
    publish_again(&mut series, 2).await;
    publish_again(&mut series, 3).await;
    let again = json!({ "metadata": { "name": "a.2" }, "series": { "count": 2,
        "lastObservedTime": "1970-01-01T00:00:03.000000Z" } });
    assert_eq!(server.events(), [again]);
}

#[test]
fn an_event_about_an_object_with_the_longest_name_has_a_valid_name() {
    assert_eq!(name("web", 1), "web.0000000000000001");
    assert_eq!(name(&"a".repeat(LONGEST_NAME), 1).len(), LONGEST_NAME);
}
