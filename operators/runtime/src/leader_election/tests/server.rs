//! An API server with one Lease.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;

use super::{LeaderElector, LeaseName, Outages};

type Events = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;
type ResponseBody = Either<Full<Bytes>, Events>;

/// One Lease, with resourceVersions and watches as the real API server has them.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) lease: Arc<watch::Sender<Option<Lease>>>,
    fault: Arc<Mutex<ServerFault>>,
    requests: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum ServerFault {
    None,
    Hangs,
    /// Watches report nothing any more.
    LosesWatches,
    ForbidsWatches,
    /// No Lease is valid, because of this field.
    Refuses(&'static str),
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "these tests need not be repeatable")]
    pub(super) fn new() -> Self {
        let (lease, fault) = (Arc::new(watch::Sender::new(None)), Arc::new(Mutex::new(ServerFault::None)));
        Self { lease, fault, requests: Arc::default() }
    }

    pub(super) fn candidate(&self, name: &str) -> LeaderElector {
        let lease = LeaseName { namespace: "system".into(), name: "leader".into() };
        LeaderElector::new(self.client(), lease, name.into(), Outages::default())
    }

    pub(super) fn client(&self) -> Client {
        let server = self.clone();
        Client::new(tower::service_fn(move |request: Request<Body>| server.clone().answer(request)), "system")
    }

    pub(super) fn set(&self, fault: ServerFault) {
        *self.fault.lock().unwrap() = fault;
    }

    pub(super) fn holder(&self) -> Option<String> {
        self.lease.borrow().as_ref()?.spec.as_ref()?.holder_identity.clone()
    }

    pub(super) fn transitions(&self) -> Option<i32> {
        self.lease.borrow().as_ref()?.spec.as_ref()?.lease_transitions
    }

    pub(super) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<ResponseBody>, tower::BoxError> {
        let fault = *self.fault.lock().unwrap();
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let verb = if watches { "WATCH".to_owned() } else { request.method().to_string() };
        self.requests.lock().unwrap().push(verb);
        match fault {
            ServerFault::Hangs => std::future::pending().await,
            ServerFault::ForbidsWatches if watches => return Ok(Self::failure(403)),
            _ => {}
        }
        if watches {
            assert!(request.uri().query().is_some_and(|query| query.contains("fieldSelector=metadata.name%3Dleader")));
            return Ok(Response::new(Either::Right(self.events())));
        }
        if let (ServerFault::Refuses(field), true) = (fault, request.method() != Method::GET) {
            return Ok(Self::refusal(field));
        }
        if request.method() == Method::GET {
            let lease = self.lease.borrow().clone();
            return Ok(lease.map_or_else(|| Self::failure(404), |lease| Self::success(&lease)));
        }
        let create = request.method() == Method::POST;
        let mut lease: Lease = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
        let mut answer = Self::failure(409);
        self.lease.send_if_modified(|current| {
            let version = |lease: &Lease| lease.metadata.resource_version.clone();
            if create != current.is_none()
                || current.as_ref().is_some_and(|current| version(current) != version(&lease))
            {
                return false;
            }
            let next: u64 = version(&lease).map_or(1, |version| version.parse::<u64>().unwrap() + 1);
            lease.metadata.resource_version = Some(next.to_string());
            answer = Self::success(&lease);
            *current = Some(lease.clone());
            true
        });
        Ok(answer)
    }

    fn events(&self) -> Events {
        let fault = self.fault.clone();
        let changes = futures::stream::unfold((self.lease.subscribe(), fault), |(mut lease, fault)| async {
            lease.changed().await.ok()?;
            if *fault.lock().unwrap() == ServerFault::LosesWatches {
                std::future::pending::<()>().await;
            }
            let object = lease.borrow_and_update().clone();
            let event = match object {
                Some(object) => serde_json::json!({"type": "MODIFIED", "object": object}),
                None => serde_json::json!({"type": "DELETED", "object": Lease::default()}),
            };
            Some((Ok(Frame::data(Bytes::from(format!("{event}\n")))), (lease, fault)))
        });
        StreamBody::new(changes.boxed())
    }

    fn success(lease: &Lease) -> Response<ResponseBody> {
        Response::new(Either::Left(Full::from(serde_json::to_vec(lease).unwrap())))
    }

    fn failure(code: u16) -> Response<ResponseBody> {
        let reason = if code == 404 { "NotFound" } else { "" };
        Self::status(code, reason, &serde_json::json!({}))
    }

    /// A rejection by a policy, which names no field, or by the validation of the API server.
    fn refusal(field: &str) -> Response<ResponseBody> {
        Self::status(422, "Invalid", &serde_json::json!({"causes": [{"field": field, "message": "refused"}]}))
    }

    fn status(code: u16, reason: &str, details: &serde_json::Value) -> Response<ResponseBody> {
        let status = serde_json::json!({
            "status": "Failure", "message": "refused", "reason": reason, "code": code, "details": details
        });
        let body = Either::Left(Full::from(status.to_string()));
        Response::builder().status(code).body(body).unwrap()
    }
}
