//! Connections: each is bounded in time, in its headers and in number, and answers one request.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
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

/// Connections served at a time; more wait to be accepted.
const CONNECTIONS: u32 = 32;
/// How long one connection may take, handshake and answer included.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const HEADER_BYTES: usize = 16 * 1024;
/// How long answers under way may hold up a stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Accepts connections, by TLS if told, until `stop` is cancelled; then waits a little for answers under way.
pub(super) async fn serve<A, F>(listener: TcpListener, tls: Option<TlsAcceptor>, answer: A, stop: CancellationToken)
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
