//! What the manager serves: `/healthz` and `/readyz`, plain and open, and `/metrics` on an address of its own.
//!
//! Bare hyper: three paths need no router. Every connection is bounded in time and in number, and answers one request.

use std::fmt::Write;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

mod auth;
mod metrics;
mod process;
mod tls;

pub use self::metrics::{MetricsOptions, MetricsServer};

/// Connections served at a time; more wait to be accepted.
const CONNECTIONS: u32 = 32;
/// How long one connection may take, handshake and answer included.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const HEADER_BYTES: usize = 16 * 1024;
/// How long answers under way may hold up a stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// What probes ask about.
pub trait Health: Send + Sync + 'static {
    /// Whether the process works at all; an error gets it restarted.
    ///
    /// # Errors
    /// What is broken, in a sentence.
    fn live(&self) -> Result<(), String>;

    /// Each check of readiness.
    fn ready(&self) -> Vec<Check>;
}

/// One check of readiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Short, such as `watch-deployments`.
    pub name: String,
    /// How it went.
    pub state: State,
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Well.
    Ok,
    /// Not well. A fault that this process cannot help, and that leaves others working, is listed but blocks nothing.
    Failed {
        /// Why, in a sentence.
        why: String,
        /// Whether `/readyz` fails for it.
        blocks_readiness: bool,
    },
}

/// Serves `/healthz` and `/readyz`.
pub struct HealthServer {
    listener: TcpListener,
    health: Arc<dyn Health>,
}

impl HealthServer {
    /// Listens at `address`.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub async fn bind(address: SocketAddr, health: Arc<dyn Health>) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, health })
    }

    /// Answers until `stop` is cancelled, then up to 2 s longer.
    pub async fn run(self, stop: CancellationToken) {
        let health = self.health;
        let answer = move |request: Request<Incoming>| {
            let answer = probe(&request, health.as_ref());
            async move { answer }
        };
        serve(self.listener, None, answer, stop).await;
    }
}

fn probe<B>(request: &Request<B>, health: &dyn Health) -> Response<String> {
    let verbose = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair.starts_with("verbose")));
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n".to_owned());
    }
    match request.uri().path() {
        "/healthz" => {
            let live = health.live().map_err(|why| State::Failed { why, blocks_readiness: true });
            render("healthz", &[Check { name: "ping".to_owned(), state: live.err().unwrap_or(State::Ok) }], verbose)
        }
        "/readyz" => render("readyz", &health.ready(), verbose),
        _ => respond(StatusCode::NOT_FOUND, "there are /healthz and /readyz\n".to_owned()),
    }
}

/// In controller-runtime's words: `ok`, or one line a check when asked for or when one failed.
fn render(probe: &str, checks: &[Check], verbose: bool) -> Response<String> {
    let failed = checks.iter().any(|check| matches!(check.state, State::Failed { blocks_readiness: true, .. }));
    if !failed && !verbose {
        return respond(StatusCode::OK, "ok".to_owned());
    }
    let mut text = String::new();
    for Check { name, state } in checks {
        // Writing to a String cannot fail.
        let _ = match state {
            State::Ok => writeln!(text, "[+]{name} ok"),
            State::Failed { why, .. } => writeln!(text, "[-]{name} failed: {why}"),
        };
    }
    let (status, end) = if failed { (StatusCode::INTERNAL_SERVER_ERROR, "failed") } else { (StatusCode::OK, "passed") };
    respond(status, format!("{text}{probe} check {end}\n"))
}

fn respond(status: StatusCode, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, http::HeaderValue::from_static("nosniff"));
    response
}

/// Accepts connections, by TLS if told, until `stop` is cancelled; then waits a little for answers under way.
async fn serve<A, F>(listener: TcpListener, tls: Option<TlsAcceptor>, answer: A, stop: CancellationToken)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<String>> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(CONNECTIONS as usize));
    let accept = async {
        loop {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, most likely: give others time to close theirs.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (tls, answer) = (tls.clone(), answer.clone());
            tokio::spawn(async move {
                let _slot = slot;
                // A peer that stalls or breaks off is its own affair, so neither is logged.
                let _ = timeout(CONNECTION_TIMEOUT, connection(stream, tls, answer)).await;
            });
        }
    };
    stop.run_until_cancelled(accept).await;
    let _ = timeout(DRAIN_TIMEOUT, slots.acquire_many(CONNECTIONS)).await;
}

async fn connection<A, F>(stream: TcpStream, tls: Option<TlsAcceptor>, answer: A)
where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<String>>,
{
    match tls {
        None => exchange(stream, answer).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(HEADER_TIMEOUT, tls.accept(stream)).await {
                exchange(stream, answer).await;
            }
        }
    }
}

async fn exchange<S, A, F>(stream: S, answer: A)
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<String>>,
{
    let service = service_fn(|request| {
        let answer = answer(request);
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::trace!("connection ended: {error}");
    }
}

#[cfg(test)]
mod tests;
