//! The Kubernetes client, with what the library's defaults lack: connections that notice a dead peer, a deadline on every
//! request, no retries hidden inside one call (the queue's backoff does that, visibly), metrics and spans.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::connect::HttpConnector;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::{BoxError, Service, ServiceBuilder};
use tracing::Instrument;

use crate::outage::Outages;
use crate::outage::decision::is_suspect;

mod pool;
mod until;

use pool::Pool;
use until::Until;

/// How long a request may take, its whole answer included; of a watch, until its headers arrive.
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// Upper bounds of the buckets of `rest_client_request_duration_seconds`, in seconds. As Kubernetes' own components have.
pub const REQUEST_DURATION_BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

const USER_AGENT: &str = concat!("multi-operator/", env!("CARGO_PKG_VERSION"));

/// A half-open connection is noticed after idle + retries * interval = 30 s, also under unacknowledged writes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Neither a kubeconfig nor a pod's service account was found, or it cannot be used.
    #[error("no cluster to talk to: set KUBECONFIG, or run in a pod with a service account: {0}")]
    Config(#[from] kube::config::InferConfigError),
    /// Certificates or credentials in the configuration are broken.
    #[error("the configuration of the cluster cannot be used: {0}")]
    Setup(#[from] kube::Error),
}

/// Connects to the cluster of `KUBECONFIG` (or `~/.kube/config`), else to the one this pod runs in. Sends nothing yet. Requests
/// without an answer are reported to `outages`, and watches that were open during one begin again after it.
///
/// # Errors
/// When no configuration is found, or it holds broken certificates or credentials.
pub async fn connect(outages: &Outages) -> Result<Client, ClientError> {
    Ok(build(Config::infer().await?, outages)?)
}

/// Builds the client for `config`. Must be called inside the runtime. Tokens and CA files are re-read as they rotate.
fn build(mut config: Config, outages: &Outages) -> Result<Client, kube::Error> {
    if let Some(proxy) = config.proxy_url.as_ref().and_then(|proxy| proxy.host()) {
        tracing::warn!("the proxy {proxy} (kubeconfig's proxy-url or HTTPS_PROXY) is not used: connecting directly");
    }
    config.headers.push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    let https = config.rustls_https_connector_with_connector(connector())?;
    let http = Pool::new(https, outages.clone());
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer_fn(|inner| Watched { inner, outages: outages.clone() })
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(KEEPALIVE_IDLE));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    connector
}

/// The API server did not answer within [`REQUEST_DEADLINE`].
#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer within {} s", REQUEST_DEADLINE.as_secs())]
pub struct DeadlineExceeded;

/// The API server was away while a request was under way, is back, and has not answered it: whether the connection still reaches
/// it is not known, and waiting for [`REQUEST_DEADLINE`] would be most of what an outage costs after its end. As after a deadline,
/// whether a write took effect is not known.
#[derive(Debug, thiserror::Error)]
#[error("the API server was away, and has not answered since it is back")]
pub struct SentIntoOutage;

/// A watch's body as it comes, or a body read to its end.
type Answer = Either<Until<Incoming>, Full<Bytes>>;

/// The layer that bounds, counts, times and traces every request.
#[derive(Clone)]
struct Watched<S> {
    inner: S,
    outages: Outages,
}

impl<S> Service<Request<Body>> for Watched<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let about = About::of(&request);
        let span = about.span(&request);
        let answer = self.inner.call(request);
        let watch = about.watch;
        let outages = self.outages.clone();
        let unanswered = Unanswered::new(self.outages.clone());
        let resumed = self.outages.clone();
        let answered = async move {
            let response = answer.await.map_err(Into::into)?;
            if watch {
                return Ok(response.map(|body| Either::Left(Until::new(body, outages))));
            }
            // The library reads the whole body anyway; reading it here puts it under the same deadline.
            let (parts, body) = response.into_parts();
            Ok(Response::from_parts(parts, Either::Right(Full::new(body.collect().await?.to_bytes()))))
        };
        let bounded = tokio::time::timeout(REQUEST_DEADLINE, async move {
            tokio::select! {
                biased;
                result = answered => result,
                () = resumed.resumed() => Err(SentIntoOutage.into()),
            }
        });
        let counted = async move {
            let result = bounded.await.unwrap_or_else(|_| Err(DeadlineExceeded.into()));
            unanswered.ends(result.as_ref().ok().map(|response| response.status().as_u16()));
            about.record(&result);
            result
        };
        Box::pin(counted.instrument(span))
    }
}

/// A request under way. One that is dropped after a while, because whoever made it waits no longer, got no answer.
struct Unanswered {
    outages: Outages,
    since: Instant,
    over: bool,
}

/// For how long at least a request has to have been under way, if its being dropped is to mean anything.
const PATIENCE: Duration = Duration::from_secs(2);

impl Unanswered {
    fn new(outages: Outages) -> Self {
        Self { outages, since: Instant::now(), over: false }
    }

    /// With that code, or without an answer.
    fn ends(mut self, code: Option<u16>) {
        self.over = true;
        if code.is_none_or(is_suspect) {
            self.outages.suspect();
        }
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if !self.over && self.since.elapsed() >= PATIENCE {
            self.outages.suspect();
        }
    }
}

/// What metrics and spans say about a request: never headers, never bodies.
struct About {
    method: http::Method,
    host: String,
    watch: bool,
    started: Instant,
}

impl About {
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

    fn record(&self, result: &Result<Response<Answer>, BoxError>) {
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

    use super::*;

    fn request() -> Request<Body> {
        Request::get("/api/v1/pods").body(Body::empty()).unwrap()
    }

    /// A connection that went with the outage answers never: no request waits for its deadline on one.
    #[tokio::test(start_paused = true)]
    async fn what_was_sent_into_an_outage_is_given_up_once_it_is_over() {
        let outages = Outages::default();
        let silent = tower::service_fn(|_| pending::<Result<Response<Incoming>, BoxError>>());
        let mut client = Watched { inner: silent, outages: outages.clone() };
        let started = tokio::time::Instant::now();
        let (ends, refused) = tokio::join!(
            async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                outages.seen(false);
                tokio::time::sleep(Duration::from_secs(5)).await;
                outages.seen(true);
                started.elapsed()
            },
            client.call(request())
        );
        let error = refused.err().expect("no answer");
        assert!(error.is::<SentIntoOutage>(), "{error}");
        assert!(started.elapsed() <= ends + Duration::from_secs(1), "{:?}", started.elapsed());
        let error = client.call(request()).await.err().expect("no answer");
        assert!(error.is::<DeadlineExceeded>(), "no outage has ended since: {error}");
    }

    #[test]
    fn watches_are_told_from_their_query() {
        for query in ["watch=true", "timeoutSeconds=290&watch=true&resourceVersion=1", "watch=1"] {
            assert!(is_watch(query), "{query}");
        }
        for query in ["", "limit=500", "watch=false", "labelSelector=watch%3Dtrue"] {
            assert!(!is_watch(query), "{query}");
        }
    }
}
