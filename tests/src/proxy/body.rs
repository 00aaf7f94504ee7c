//! Bodies of answers: passed on as they come, altered, held, or cut off.

use std::sync::Arc;

use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::rule::{Fault, Rule};

/// Why a body ended early.
pub(super) type Broken = Box<dyn std::error::Error + Send + Sync>;
/// Any body.
pub(super) type Body = UnsyncBoxBody<Bytes, Broken>;

/// A complete body.
pub(super) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A `Status` as the API server answers it.
pub(super) fn status(code: u16) -> Value {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let message = format!("answered {code} by the test's proxy");
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code })
}

/// The one event of a watch whose version is too old.
pub(super) fn expired() -> Body {
    let mut event = json!({ "type": "ERROR", "object": status(410) }).to_string();
    event.push('\n');
    full(event)
}

/// A list with each object altered.
pub(super) fn altered_list(bytes: &Bytes, alter: &(dyn Fn(&mut Value) + Send + Sync)) -> Bytes {
    let Ok(mut list) = serde_json::from_slice::<Value>(bytes) else { return bytes.clone() };
    for item in list["items"].as_array_mut().into_iter().flatten() {
        alter(item);
    }
    list.to_string().into()
}

fn altered_event(line: &[u8], alter: &(dyn Fn(&mut Value) + Send + Sync)) -> Vec<u8> {
    let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
    if event["type"] != "BOOKMARK" && event["type"] != "ERROR" {
        alter(&mut event["object"]);
    }
    // In the API server's order, which readers may count on.
    format!("{{\"type\":{},\"object\":{}}}\n", event["type"], event["object"]).into_bytes()
}

/// A watch's body, event by event; breaks off in the middle when `cut` changes.
pub(super) fn events(upstream: Incoming, rule: Option<Arc<Rule>>, mut cut: watch::Receiver<u64>) -> Body {
    cut.mark_unchanged();
    let (sender, receiver) = mpsc::channel::<Result<Frame<Bytes>, Broken>>(16);
    tokio::spawn(async move {
        let mut lines = Lines { chunks: upstream.into_data_stream(), rest: Vec::new() };
        let pass = async {
            while let Some(line) = lines.next().await {
                let line = match rule.as_deref() {
                    Some(Rule { fault: Fault::Alter(alter), .. }) => altered_event(&line, &**alter),
                    Some(rule @ Rule { fault: Fault::HoldEvents, .. }) => {
                        rule.until_lifted().await;
                        line
                    }
                    _ => line,
                };
                if sender.send(Ok(Frame::data(line.into()))).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = pass => {}
            () = sender.closed() => {}
            _ = cut.changed() => drop(sender.send(Err("cut by the test".into())).await),
        }
    });
    let frames = futures::stream::unfold(receiver, |mut receiver| async move {
        let frame = receiver.recv().await?;
        Some((frame, receiver))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

struct Lines<S> {
    chunks: S,
    rest: Vec<u8>,
}

impl<S: futures::Stream<Item = Result<Bytes, hyper::Error>> + Unpin> Lines<S> {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let tail = self.rest.split_off(end + 1);
                return Some(std::mem::replace(&mut self.rest, tail));
            }
            self.rest.extend_from_slice(&self.chunks.next().await?.ok()?);
        }
    }
}
