//! An API server for unit tests that answers with what a test sets, and records the requests.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

type Responder = dyn Fn(&str) -> (u16, Value) + Send + Sync;

#[derive(Clone)]
pub(crate) struct FakeApiServer {
    respond: Arc<Responder>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeApiServer {
    /// A server that answers each request, given as its method and path, with the code and object that `respond` returns.
    pub(crate) fn new(respond: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> Self {
        Self { respond: Arc::new(respond), requests: Arc::default() }
    }

    /// A client of it. A request for metadata alone is recorded with the path `<path> metadata`.
    pub(crate) fn client(&self) -> Client {
        let this = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let accept = request.headers().get(http::header::ACCEPT).and_then(|accept| accept.to_str().ok());
            let metadata =
                if accept.is_some_and(|accept| accept.contains("PartialObjectMetadata")) { " metadata" } else { "" };
            let request = format!("{} {}{metadata}", request.method(), request.uri());
            this.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            let (code, object) = (this.respond)(&request);
            std::future::ready(Response::builder().status(code).body(Body::from(object.to_string().into_bytes())))
        });
        Client::new(service, "n")
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A failure as the API server reports it.
pub(crate) fn status(code: u16, message: &str) -> Value {
    let reason = if code == 404 { "NotFound" } else { "" };
    json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message })
}
