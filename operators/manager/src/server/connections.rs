//! Connections: their number, the duration of each and the size of its headers are limited; each serves one request.

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
/// How long one connection may take, handshake and response included.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const HEADER_BYTES: usize = 16 * 1024;
/// How long a stop waits for requests in progress.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Accepts connections, with TLS if `tls` is set, until `stop` is cancelled; then waits up to [`DRAIN_TIMEOUT`] for requests in
/// progress.
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
                // Probably out of file descriptors: wait until other connections close theirs.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (tls, answer) = (tls.clone(), answer.clone());
            tokio::spawn(async move {
                let _slot = slot;
                // Not logged: a client that stalls or disconnects is not an error of the manager.
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
