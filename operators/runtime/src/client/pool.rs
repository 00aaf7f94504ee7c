//! The pool of connections, which an outage empties: those that were idle when it began may be lost without a word, and each request
//! that is sent through one would wait for its deadline.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::client::legacy::{Builder, Client, Error, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use tower::Service;

use crate::outage::Outages;

/// A burst keeps its connections for this long, an idle process holds its watches' only.
const POOL_IDLE: Duration = Duration::from_secs(30);
const POOL_SIZE: usize = 16;
/// Bounds what one connection buffers of a large answer; the library's default is 400 KiB a connection.
const READ_BUFFER: usize = 64 * 1024;

/// A client whose idle connections are all of the time since the last outage began.
#[derive(Clone)]
pub(super) struct Pool<C> {
    builder: Builder,
    connector: C,
    outages: Outages,
    /// With how many outages had begun when it was made.
    current: Arc<Mutex<(u64, Client<C, Body>)>>,
}

impl<C: Connect + Clone> Pool<C> {
    pub(super) fn new(connector: C, outages: Outages) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(POOL_SIZE)
            .http1_max_buf_size(READ_BUFFER);
        let current = (outages.begun(), builder.build(connector.clone()));
        Self { builder, connector, outages, current: Arc::new(Mutex::new(current)) }
    }

    /// Requests under way keep the connections that they have.
    fn current(&self) -> Client<C, Body> {
        let begun = self.outages.begun();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0 != begun {
            *current = (begun, self.builder.build(self.connector.clone()));
        }
        current.1.clone()
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Service<Request<Body>> for Pool<C> {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        self.current().request(request)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::BodyExt;
    use hyper_util::client::legacy::connect::HttpConnector;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers every request, and counts its connections.
    async fn server() -> io::Result<(String, Arc<AtomicUsize>)> {
        let (listener, connections) = (TcpListener::bind("127.0.0.1:0").await?, Arc::new(AtomicUsize::new(0)));
        let (address, count) = (format!("http://{}", listener.local_addr()?), connections.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let mut request = [0; 1024];
                    while stream.read(&mut request).await? > 0 {
                        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
                    }
                    io::Result::Ok(())
                });
            }
        });
        Ok((address, connections))
    }

    #[tokio::test]
    async fn what_was_idle_when_an_outage_began_is_not_used_again() {
        let (address, connections) = server().await.unwrap();
        let outages = Outages::default();
        let mut pool = Pool::new(HttpConnector::new(), outages.clone());
        let mut connections_after_a_request = async || {
            let answer = pool.call(Request::get(&address).body(Body::empty()).unwrap()).await.unwrap();
            answer.into_body().collect().await.unwrap();
            // The connection goes back to the pool in a task of its own.
            tokio::task::yield_now().await;
            connections.load(Ordering::Relaxed)
        };
        assert_eq!(connections_after_a_request().await, 1);
        assert_eq!(connections_after_a_request().await, 1, "it is used again");
        outages.seen(false);
        assert_eq!(connections_after_a_request().await, 2);
        outages.seen(true);
        assert_eq!(connections_after_a_request().await, 2, "one that was made since is");
        outages.missed();
        assert_eq!(connections_after_a_request().await, 3);
    }
}
