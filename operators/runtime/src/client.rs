//! The Kubernetes client, with what the defaults of the library lack: connections that notice a dead peer, a deadline for every
//! request, no hidden retries (the backoff of the queue retries, visibly), metrics and spans.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{self, Bytes};
use hyper_util::client::legacy::connect::HttpConnector;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceBuilder};
use tracing::Instrument;

use crate::outage::Outages;

mod pending_request;
mod pool;
mod watch_body;

use pending_request::PendingRequest;
use pool::ConnectionPool;
use watch_body::WatchBody;

/// How long a request may take, including its complete response; for a watch, until its headers arrive.
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// Upper bounds of the buckets of `rest_client_request_duration_seconds`, in seconds, as in the components of Kubernetes.
pub const REQUEST_DURATION_BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

const USER_AGENT: &str = concat!("multi-operator/", env!("CARGO_PKG_VERSION"));

/// A half-open connection is noticed after idle + retries * interval = 30 s, also with unacknowledged writes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no client could be created.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Neither a kubeconfig nor a pod's service account was found, or it cannot be used.
    #[error("no cluster to talk to: set KUBECONFIG, or run in a pod with a service account: {0}")]
    Config(#[from] kube::config::InferConfigError),
    /// Certificates or credentials in the configuration are invalid.
    #[error("the configuration of the cluster cannot be used: {0}")]
    Setup(#[from] kube::Error),
}

/// Creates a client for the cluster of `KUBECONFIG` (or `~/.kube/config`), else for the one that this pod runs in. Sends nothing
/// yet. The client reports requests without a response to `outages`, and ends watches that were open during an outage.
///
/// # Errors
/// If there is no configuration, or its certificates or credentials are invalid.
pub async fn connect(outages: &Outages) -> Result<Client, ClientError> {
    Ok(build(Config::infer().await?, outages)?)
}

/// Builds the client for `config`. Must be called in the tokio runtime. Tokens and CA files are read again as they rotate.
fn build(mut config: Config, outages: &Outages) -> Result<Client, kube::Error> {
    if let Some(proxy) = config.proxy_url.as_ref().and_then(|proxy| proxy.host()) {
        tracing::warn!("the proxy {proxy} (kubeconfig's proxy-url or HTTPS_PROXY) is not used: connecting directly");
    }
    config.headers.push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    let https = config.rustls_https_connector_with_connector(connector())?;
    let http = ConnectionPool::new(https, outages.clone());
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer_fn(instrumented(outages))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

/// Builds a client of a service that is an API server itself.
#[cfg(feature = "testing")]
pub fn with_service<S, B>(service: S, namespace: &str, outages: &Outages) -> Client
where
    S: Service<Request<Body>, Response = Response<B>> + Send + Clone + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    Client::new(instrumented(outages)(service), namespace)
}

fn instrumented<S>(outages: &Outages) -> impl Fn(S) -> InstrumentedService<S> {
    let outages = outages.clone();
    move |inner| InstrumentedService { inner, outages: outages.clone() }
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(KEEPALIVE_IDLE));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT));
    connector
}

/// The API server did not answer within [`REQUEST_DEADLINE`].
#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer within {} s", REQUEST_DEADLINE.as_secs())]
pub struct DeadlineExceeded;

/// An outage of the API server has ended, and a request that was sent during it has no response. Its connection may be lost, and
/// waiting for [`REQUEST_DEADLINE`] would be most of the cost of an outage. As after a deadline, a write may have taken effect.
#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer a request that was sent during its outage")]
pub struct SentIntoOutage;

/// The body of a watch as a stream, or a complete body.
type ResponseBody<B> = Either<WatchBody<B>, Full<Bytes>>;

/// Adds a deadline, metrics and a span to every request.
#[derive(Clone)]
struct InstrumentedService<S> {
    inner: S,
    outages: Outages,
}

impl<S, B> Service<Request<Body>> for InstrumentedService<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<B>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody<B>>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let about = RequestInfo::of(&request);
        let span = about.span(&request);
        let answer = self.inner.call(request);
        let watch = about.watch;
        let outages = self.outages.clone();
        let unanswered = PendingRequest::new(self.outages.clone());
        let resumed = self.outages.clone();
        let response = async move {
            let response = answer.await.map_err(Into::into)?;
            if watch {
                return Ok(response.map(|body| Either::Left(WatchBody::new(body, outages))));
            }
            // The library reads the complete body anyway; reading it here applies the deadline to it.
            let (parts, body) = response.into_parts();
            let complete = body.collect().await.map_err(Into::into)?.to_bytes();
            Ok(Response::from_parts(parts, Either::Right(Full::new(complete))))
        };
        let with_deadline = tokio::time::timeout(REQUEST_DEADLINE, async move {
            tokio::select! {
                biased;
                result = response => result,
                () = resumed.resumed() => Err(SentIntoOutage.into()),
            }
        });
        let recorded = async move {
            let result = with_deadline.await.unwrap_or_else(|_| Err(DeadlineExceeded.into()));
            unanswered.end(result.as_ref().ok().map(|response| response.status().as_u16()));
            about.record(&result);
            result
        };
        Box::pin(recorded.instrument(span))
    }
}

/// What metrics and spans contain of a request: never headers, never bodies.
struct RequestInfo {
    method: http::Method,
    host: String,
    watch: bool,
    started: Instant,
}

impl RequestInfo {
    fn of(request: &Request<Body>) -> Self {
        Self {
            method: request.method().clone(),
            host: request.uri().authority().map(ToString::to_string).unwrap_or_default(),
            watch: is_watch(request.uri().query().unwrap_or_default()),
            started: Instant::now(),
        }
    }

    fn span(&self, request: &Request<Body>) -> tracing::Span {
        let action = request.extensions().get::<&'static str>().copied().unwrap_or("request");
        tracing::debug_span!(
            "kubernetes",
            otel.name = action,
            otel.kind = "client",
            otel.status_code = tracing::field::Empty,
            http.request.method = self.method.as_str(),
            url.path = request.uri().path(),
            http.response.status_code = tracing::field::Empty,
        )
    }

    fn record<B>(&self, result: &Result<Response<B>, BoxError>) {
        let span = tracing::Span::current();
        let code = match result {
            Ok(response) => {
                span.record("http.response.status_code", response.status().as_u16());
                response.status().as_str().to_owned()
            }
            Err(_) => "<error>".to_owned(),
        };
        if !result.as_ref().is_ok_and(|response| response.status().is_success()) {
            span.record("otel.status_code", "ERROR");
        }
        let (method, host) = (self.method.to_string(), self.host.clone());
        metrics::counter!("rest_client_requests_total", "code" => code, "method" => method.clone(), "host" => host.clone())
            .increment(1);
        metrics::histogram!("rest_client_request_duration_seconds", "verb" => method, "host" => host)
            .record(self.started.elapsed());
    }
}

/// Whether a request with that query is a watch.
pub(crate) fn is_watch(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use hyper::body::Incoming;

    use super::*;

    fn request() -> Request<Body> {
        Request::get("/api/v1/pods").body(Body::empty()).unwrap()
    }

    /// A lost connection never responds: no request waits for its deadline on one.
    #[tokio::test(start_paused = true)]
    async fn a_request_sent_during_an_outage_is_given_up_once_it_has_ended() {
        let outages = Outages::default();
        let silent = tower::service_fn(|_| pending::<Result<Response<Incoming>, BoxError>>());
        let mut client = InstrumentedService { inner: silent, outages: outages.clone() };
        let started = tokio::time::Instant::now();
        let (end, response) = tokio::join!(
            async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                outages.seen(false);
                tokio::time::sleep(Duration::from_secs(5)).await;
                outages.seen(true);
                started.elapsed()
            },
            client.call(request())
        );
        let error = response.err().expect("no response");
        assert!(error.is::<SentIntoOutage>(), "{error}");
        assert!(started.elapsed() <= end + Duration::from_secs(1), "{:?}", started.elapsed());
        let error = client.call(request()).await.err().expect("no response");
        assert!(error.is::<DeadlineExceeded>(), "no outage has ended since: {error}");
    }

    #[test]
    fn watches_are_recognized_by_their_query() {
        for query in ["watch=true", "timeoutSeconds=290&watch=true&resourceVersion=1", "watch=1"] {
            assert!(is_watch(query), "{query}");
        }
        for query in ["", "limit=500", "watch=false", "labelSelector=watch%3Dtrue"] {
            assert!(!is_watch(query), "{query}");
        }
    }
}
