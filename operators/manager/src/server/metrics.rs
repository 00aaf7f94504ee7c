//! `/metrics`: by HTTPS and only to whom the API server allows it, as kubebuilder's default does, or plain by choice.

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

use super::auth::Guard;
use super::connections::serve;
use super::probes::{Health, probe};
use super::response::respond;
use super::{process, tls};

/// How often the recorder folds what histograms gathered; rendering does it as well.
const UPKEEP: Duration = Duration::from_secs(300);

/// Prometheus 3 refuses what does not name its format.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How metrics are served.
#[derive(Clone, Debug)]
pub struct MetricsOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// HTTPS with TokenReview and SubjectAccessReview. If not: plain HTTP to all who can connect, so loopback is wise.
    pub secure: bool,
    /// Directory of `tls.crt` and `tls.key`; `None` makes a certificate that lives as long as the process.
    pub cert_dir: Option<PathBuf>,
}

/// Serves `/metrics`.
pub struct MetricsServer {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    guard: Option<Arc<Guard>>,
    handle: PrometheusHandle,
    health: Option<Arc<dyn Health>>,
}

impl MetricsServer {
    /// Listens, and loads or makes the certificate. `client` asks about tokens. With `health`, probes are answered at the
    /// same address.
    ///
    /// # Errors
    /// When the address cannot be listened at, or the certificate cannot be used.
    pub async fn bind(
        options: MetricsOptions,
        handle: PrometheusHandle,
        client: Client,
        health: Option<Arc<dyn Health>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let (tls, guard) = if options.secure {
            (Some(tls::acceptor(options.cert_dir.as_deref())?), Some(Arc::new(Guard::new(client))))
        } else {
            (None, None)
        };
        Ok(Self { listener, tls, guard, handle, health })
    }

    /// Answers until `stop` is cancelled, then up to 2 s longer. Does the recorder's upkeep meanwhile.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, tls, guard, handle, health } = self;
        let recorder = handle.clone();
        let upkeep = async {
            loop {
                tokio::time::sleep(UPKEEP).await;
                recorder.run_upkeep();
            }
        };
        let answer = move |request: Request<Incoming>| {
            let probed = probed(&request, health.as_deref());
            let scrape = scrape(request, guard.clone(), handle.clone());
            async move { if let Some(probed) = probed { probed } else { scrape.await } }
        };
        tokio::select! {
            () = serve(listener, tls, answer, stop) => {}
            () = upkeep => {}
        }
    }
}

/// The answer to a probe, if it is one and they are answered here.
fn probed<B>(request: &Request<B>, health: Option<&dyn Health>) -> Option<Response<String>> {
    let asked = matches!(request.uri().path(), "/healthz" | "/readyz");
    health.filter(|_| asked).map(|health| probe(request, health))
}

async fn scrape<B>(request: Request<B>, guard: Option<Arc<Guard>>, handle: PrometheusHandle) -> Response<String> {
    if request.uri().path() != "/metrics" {
        return respond(StatusCode::NOT_FOUND, "there is /metrics\n".to_owned());
    }
    if request.method() != Method::GET {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n".to_owned());
    }
    if let Some(guard) = guard
        && let Err(denial) = guard.admit(request.headers()).await
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

    use super::super::Check;
    use super::*;

    struct Well;

    impl Health for Well {
        fn live(&self) -> Result<(), String> {
            Ok(())
        }

        fn ready(&self) -> Vec<Check> {
            Vec::new()
        }
    }

    #[test]
    fn probes_are_answered_at_the_same_address_if_that_is_wanted() {
        let ask = |path: &str, health| probed(&Request::get(path).body(()).unwrap(), health).map(Response::into_body);
        for path in ["/readyz", "/healthz"] {
            assert_eq!(ask(path, Some(&Well)).as_deref(), Some("ok"));
            assert_eq!(ask(path, None), None);
        }
        assert_eq!(ask("/metrics", Some(&Well)), None);
    }

    #[tokio::test]
    async fn metrics_are_told_in_the_format_of_prometheus() {
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
