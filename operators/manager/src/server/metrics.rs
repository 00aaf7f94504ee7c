//! `/metrics`: over HTTPS to clients that the API server authorizes, which is kubebuilder's default too, or over HTTP to every client.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use kube::Client;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::auth::Authorizer;
use super::connections::serve;
use super::probes::{HealthReporter, probe};
use super::response::respond;
use super::{process, tls};

/// How often the recorder aggregates the samples of histograms. Rendering does so as well.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(300);

/// Prometheus 3 rejects a response without its format.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How metrics are served.
#[derive(Clone, Debug)]
pub struct MetricsOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// HTTPS with TokenReview and SubjectAccessReview. If false, HTTP to every client that can connect, so bind to loopback.
    pub secure: bool,
    /// Directory of `tls.crt` and `tls.key`; `None` creates a self-signed certificate in memory.
    pub cert_dir: Option<PathBuf>,
}

/// Serves `/metrics`.
pub struct MetricsServer {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    authorizer: Option<Arc<Authorizer>>,
    handle: PrometheusHandle,
    health: Option<Arc<dyn HealthReporter>>,
}

impl MetricsServer {
    /// Listens, and loads or creates the certificate. `client` reviews tokens. With `health`, the server answers probes at the same
    /// address.
    ///
    /// # Errors
    /// The server cannot listen at the address, or the certificate cannot be used.
    pub async fn bind(
        options: MetricsOptions,
        handle: PrometheusHandle,
        client: Client,
        health: Option<Arc<dyn HealthReporter>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let (tls, authorizer) = if options.secure {
            (Some(tls::acceptor(options.cert_dir.as_deref())?), Some(Arc::new(Authorizer::new(client))))
        } else {
            (None, None)
        };
        Ok(Self { listener, tls, authorizer, handle, health })
    }

    /// Serves until `stop` is cancelled, then for up to 2 s longer, and runs the recorder's upkeep.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, tls, authorizer, handle, health } = self;
        let recorder = handle.clone();
        let upkeep = async {
            loop {
                tokio::time::sleep(UPKEEP_INTERVAL).await;
                recorder.run_upkeep();
            }
        };
        let answer = move |request: Request<Incoming>| {
            let probed = probed(&request, health.as_deref());
            let scrape = scrape(request, authorizer.clone(), handle.clone());
            async move { if let Some(probed) = probed { probed } else { scrape.await } }
        };
        tokio::select! {
            () = serve(listener, tls, answer, stop) => {}
            () = upkeep => {}
        }
    }
}

/// The response to a probe, if the request is one and `health` is set.
fn probed<B>(request: &Request<B>, health: Option<&dyn HealthReporter>) -> Option<Response<String>> {
    let is_probe = matches!(request.uri().path(), "/healthz" | "/readyz");
    health.filter(|_| is_probe).map(|health| probe(request, health))
}

async fn scrape<B>(
    request: Request<B>,
    authorizer: Option<Arc<Authorizer>>,
    handle: PrometheusHandle,
) -> Response<String> {
    if request.uri().path() != "/metrics" {
        return respond(StatusCode::NOT_FOUND, "not found; this server has /metrics\n".to_owned());
    }
    if request.method() != Method::GET {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "method not allowed; use GET\n".to_owned());
    }
    if let Some(authorizer) = authorizer
        && let Err(denial) = authorizer.authorize(request.headers()).await
    {
        return denial.into_response();
    }
    let mut text = handle.render();
    process::append(&mut text);
    runtime::metrics::objects::append(&mut text);
    let mut response = respond(StatusCode::OK, text);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(EXPOSITION));
    response
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::super::HealthCheck;
    use super::*;

    struct AlwaysHealthy;

    impl HealthReporter for AlwaysHealthy {
        fn live(&self) -> Result<(), String> {
            Ok(())
        }

        fn ready(&self) -> Vec<HealthCheck> {
            Vec::new()
        }
    }

    #[test]
    fn probes_are_served_at_the_same_address_if_health_is_set() {
        let ask = |path: &str, health| probed(&Request::get(path).body(()).unwrap(), health).map(Response::into_body);
        for path in ["/readyz", "/healthz"] {
            assert_eq!(ask(path, Some(&AlwaysHealthy)).as_deref(), Some("ok"));
            assert_eq!(ask(path, None), None);
        }
        assert_eq!(ask("/metrics", Some(&AlwaysHealthy)), None);
    }

    #[tokio::test]
    async fn metrics_are_served_in_the_format_of_prometheus() {
        let ask = |path: &str| {
            let handle = PrometheusBuilder::new().build_recorder().handle();
            scrape(Request::get(path).body(()).unwrap(), None, handle)
        };
        let response = ask("/metrics").await;
        assert_eq!(response.headers()[header::CONTENT_TYPE], EXPOSITION);
        assert!(response.body().contains("\nprocess_open_fds "), "{}", response.body());
        assert_eq!(ask("/").await.status(), StatusCode::NOT_FOUND);
    }
}
