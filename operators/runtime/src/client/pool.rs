//! The pool of connections. An outage empties it: idle connections may have been lost without notice, and each request over such
//! a connection would wait for its deadline.

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

/// Connections of a burst stay open for this time; an idle process holds only those of its watches.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const POOL_SIZE: usize = 16;
/// Limits the buffer of a connection for a large response; the default of the library is 400 KiB per connection.
const READ_BUFFER: usize = 64 * 1024;

/// A client whose idle connections were all opened after the last outage began.
#[derive(Clone)]
pub(super) struct ConnectionPool<C> {
    builder: Builder,
    connector: C,
    outages: Outages,
    /// The client, with the number of outages that had begun when it was created.
    current: Arc<Mutex<(u64, Client<C, Body>)>>,
}

impl<C: Connect + Clone> ConnectionPool<C> {
    pub(super) fn new(connector: C, outages: Outages) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(POOL_SIZE)
            .http1_max_buf_size(READ_BUFFER);
        let current = (outages.begun(), builder.build(connector.clone()));
        Self { builder, connector, outages, current: Arc::new(Mutex::new(current)) }
    }

    /// The present client. Requests under way keep their connections.
    fn current(&self) -> Client<C, Body> {
        let begun = self.outages.begun();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0 != begun {
            *current = (begun, self.builder.build(self.connector.clone()));
        }
        current.1.clone()
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Service<Request<Body>> for ConnectionPool<C> {
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
    async fn a_connection_that_was_idle_when_an_outage_began_is_not_used_again() {
        let (address, connections) = server().await.unwrap();
        let outages = Outages::default();
        let mut pool = ConnectionPool::new(HttpConnector::new(), outages.clone());
        let mut connections_after_a_request = async || {
            let answer = pool.call(Request::get(&address).body(Body::empty()).unwrap()).await.unwrap();
            answer.into_body().collect().await.unwrap();
            // The connection goes back to the pool in a task of its own.
            tokio::task::yield_now().await;
            connections.load(Ordering::Relaxed)
        };
        assert_eq!(connections_after_a_request().await, 1);
        assert_eq!(connections_after_a_request().await, 1, "it is reused");
        outages.seen(false);
        assert_eq!(connections_after_a_request().await, 2);
        outages.seen(true);
        assert_eq!(connections_after_a_request().await, 2, "one that was opened since is");
        outages.missed();
        assert_eq!(connections_after_a_request().await, 3);
    }
}
