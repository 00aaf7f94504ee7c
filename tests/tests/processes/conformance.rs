//! The API server in memory, in which simulations run, answers random requests as the real one does. A difference is a bug of the
//! model.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use simulation::conformance::{self, Call, Reply, Seen};

use super::stage::{Failure, Stage, ensure, eventually};

const SEQUENCES: u64 = 300;
/// Sets the number of sequences, which then begin with the seed of the run.
const SEQUENCES_VARIABLE: &str = "MULTI_OPERATOR_CONFORMANCE_SEQUENCES";
/// Sequences at a time, each in a namespace in which no other is: a list has all objects of it.
const LANES: u64 = 8;
/// Differences that are reported in full.
const REPORTED: usize = 3;
/// How often a call is repeated because a controller wrote before it.
const RACES: usize = 5;
/// How long the garbage collector and others may take to let the last object go.
const CLEARED: Duration = Duration::from_secs(30);

/// What lanes have in common.
struct Queue {
    first: u64,
    count: u64,
    begun: AtomicU64,
}

/// What became of some sequences.
#[derive(Default)]
struct Tally {
    requests: usize,
    /// The number of the sequence, and what differs.
    differences: Vec<(u64, String)>,
}

pub async fn the_api_server_in_memory_answers_as_the_real_one(stage: Stage) -> Result<(), Failure> {
    // The sequences have the seeds from this one on, so that the seed of a failure repeats it alone.
    let (first, count) = sequences()?;
    let queue = Queue { first, count, begun: AtomicU64::new(0) };
    let tallies = try_join_all((0..LANES).map(|number| lane(&stage, number, &queue))).await?;
    let requests: usize = tallies.iter().map(|tally| tally.requests).sum();
    let mut differences: Vec<_> = tallies.into_iter().flat_map(|tally| tally.differences).collect();
    differences.sort();
    println!("conformance: {} sequences, {requests} requests, {} differences", queue.count, differences.len());
    let reported: Vec<_> = differences.iter().take(REPORTED).map(|(_, difference)| difference.as_str()).collect();
    ensure(differences.is_empty(), || {
        format!("{} of {} sequences differ, the first:\n{}", differences.len(), queue.count, reported.join("\n\n"))
    })
}

/// The seed of the first sequence, and how many there are. Without a number that is given, they are always the same, since a few in
/// a thousand still differ (docs/testing.md): a run that draws others finds out.
fn sequences() -> Result<(u64, u64), Failure> {
    match std::env::var(SEQUENCES_VARIABLE) {
        Ok(text) => {
            let count = text.parse::<u64>().map_err(|error| format!("{SEQUENCES_VARIABLE}={text}: {error}"))?;
            Ok((seed::seed(), count))
        }
        Err(_) => Ok((1, SEQUENCES)),
    }
}

/// Plays sequences of the queue, one after the other, in a namespace of the lane's own.
async fn lane(stage: &Stage, lane: u64, queue: &Queue) -> Result<Tally, Failure> {
    let stage = stage.another(&format!("lane-{lane}")).await?;
    let mut tally = Tally::default();
    loop {
        let number = queue.begun.fetch_add(1, Ordering::Relaxed);
        if number >= queue.count {
            return Ok(tally);
        }
        let seed = queue.first.wrapping_add(number);
        let calls = conformance::draw(seed, &stage.name);
        let (requests, difference) = play(&stage, seed, &calls).await?;
        tally.requests += requests;
        tally.differences.extend(difference.map(|difference| (number, difference)));
        clear(&stage, &calls).await?;
    }
}

/// One of the two API servers.
struct Side {
    client: Client,
    seen: Seen,
}

impl Side {
    fn new(client: Client) -> Self {
        Self { client, seen: Seen::default() }
    }

    async fn answer(&self, call: &Call) -> Result<Reply, Failure> {
        send(&self.client, call.render(&self.seen)?).await
    }
}

/// Sends the calls to both, up to the first answer that differs. Returns how many were sent, and what differs.
async fn play(stage: &Stage, seed: u64, calls: &[Call]) -> Result<(usize, Option<String>), Failure> {
    let mut real = Side::new(stage.client.clone());
    let mut model = Side::new(conformance::model(seed, &stage.name)?);
    let mut story = format!(
        "seed {seed} (repeat with MULTI_OPERATOR_SEED={seed} {SEQUENCES_VARIABLE}=1 and the filter conformance):"
    );
    for (index, call) in calls.iter().enumerate() {
        write!(story, "\n  {call}")?;
        let modelled = model.answer(call).await?;
        let answered = answer_of_the_real_one(&mut real, call, &modelled).await?;
        let mut found = conformance::differences(&answered, &modelled);
        let (really, in_the_model) = (real.seen.note(call, &answered), model.seen.note(call, &modelled));
        if really != in_the_model {
            found.push(format!("the object has: really {really:?}, in the model {in_the_model:?}"));
        }
        if !found.is_empty() {
            write!(story, "\n{}", found.join("\n"))?;
            write!(story, "\nreally {}: {}", answered.code, answered.body)?;
            write!(story, "\nmodelled {}: {}", modelled.code, modelled.body)?;
            return Ok((index + 1, Some(story)));
        }
        write!(story, " -> {}", answered.code)?;
    }
    Ok((calls.len(), None))
}

/// The answer of the real API server. If a controller wrote since the object was read, the object is read again first, as the
/// model has no controllers.
async fn answer_of_the_real_one(real: &mut Side, call: &Call, modelled: &Reply) -> Result<Reply, Failure> {
    let mut answered = real.answer(call).await?;
    for _ in 0..RACES {
        let Some(read) = call.read().filter(|_| call.may_have_lost_a_race(&answered, modelled)) else { break };
        let live = real.answer(&read).await?;
        real.seen.note(&read, &live);
        answered = real.answer(call).await?;
    }
    Ok(answered)
}

/// Deletes the objects of the calls, whatever holds them, and waits until they are gone.
async fn clear(stage: &Stage, calls: &[Call]) -> Result<(), Failure> {
    let paths: BTreeSet<_> = calls.iter().filter_map(|call| call.object.as_deref()).collect();
    for path in paths {
        eventually(&format!("{path} to be gone"), CLEARED, || async move {
            clear_once(&stage.client, path).await.map_err(|error| error.to_string())
        })
        .await?;
    }
    Ok(())
}

async fn clear_once(client: &Client, path: &str) -> Result<(), Failure> {
    let request = |method: &str, content_type: &str, body: &Value| {
        let request = Request::builder().method(method).uri(path).header("Content-Type", content_type);
        request.body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() })
    };
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
    let unheld = json!({ "metadata": { "finalizers": null } });
    let deleted = send(client, request("DELETE", "application/json", &options)?).await?;
    if deleted.code != 404 {
        send(client, request("PATCH", "application/merge-patch+json", &unheld)?).await?;
    }
    let left = send(client, request("GET", "application/json", &Value::Null)?).await?;
    ensure(left.code == 404, || format!("it is left: {} {}", left.code, left.body))
}

async fn send(client: &Client, request: Request<Vec<u8>>) -> Result<Reply, Failure> {
    let response = client.send(request.map(Body::from)).await?;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await?.to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    Ok(Reply { code, body })
}
