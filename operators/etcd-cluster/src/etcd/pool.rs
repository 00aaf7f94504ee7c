//! Connections to members: one an address, made when first needed, and kept between reconciles.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{Client, ConnectOptions};
use tokio::time::{Instant, timeout};

use super::fault::Fault;

/// Where clients reach a member.
const PORT: u16 = 2379;
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(1);
/// A connection that has been quiet for so long is pinged while a call waits on it. etcd closes the connections of who
/// pings more often than every 5 s, and of who pings without a call (`--grpc-keepalive-min-time`, and gRPC's rule).
const PING_AFTER: Duration = Duration::from_secs(10);
/// How long the answer to a ping may take.
const PING: Duration = Duration::from_secs(2);
/// A connection that nobody has used for so long is closed, next time that anybody uses any.
const IDLE: Duration = Duration::from_secs(120);

/// The connections. A member that gives no answer is connected anew at the next call, and never in between: so nothing
/// happens here while nobody asks.
#[derive(Default)]
pub(super) struct Pool {
    channels: Mutex<Channels>,
}

#[derive(Default)]
struct Channels {
    by_address: HashMap<Box<str>, Channel>,
    made: u64,
}

/// One connection, that may have to come about still.
struct Channel {
    client: Client,
    number: u64,
    used: Instant,
}

impl Pool {
    /// Makes a call to the member at `address`.
    pub(super) async fn call<T, C, F>(&self, address: &str, deadline: Duration, call: C) -> Result<T, Fault>
    where
        C: FnOnce(Client) -> F,
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let (client, number) = self.channel(address).await?;
        let fault = match timeout(deadline, call(client)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Fault::from(error),
            Err(_) => Fault::Silent(deadline),
        };
        if !fault.is_answer() {
            // After silence too: a connection left half made would fail the next call with this one's delay.
            self.forget(address, number);
        }
        Err(fault)
    }

    /// The connection to `address`, with its number.
    async fn channel(&self, address: &str) -> Result<(Client, u64), Fault> {
        if let Some(known) = self.lock().known(address, Instant::now()) {
            return Ok(known);
        }
        let (url, options) = endpoint(address);
        // Does not wait for anything yet: the connection is made by its first call.
        let client = Client::connect([url], Some(options)).await?;
        Ok(self.lock().keep(address, client, Instant::now()))
    }

    /// Drops the connection, unless it has been replaced already.
    fn forget(&self, address: &str, number: u64) {
        let mut channels = self.lock();
        if channels.by_address.get(address).is_some_and(|channel| channel.number == number) {
            channels.by_address.remove(address);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channels {
    /// The connection to `address` if there is one. Closes those that were not used for long.
    fn known(&mut self, address: &str, now: Instant) -> Option<(Client, u64)> {
        self.by_address.retain(|_, channel| now.duration_since(channel.used) < IDLE);
        let channel = self.by_address.get_mut(address)?;
        channel.used = now;
        Some((channel.client.clone(), channel.number))
    }

    /// Keeps a connection, unless there is another one by now.
    fn keep(&mut self, address: &str, client: Client, used: Instant) -> (Client, u64) {
        self.made += 1;
        let new = Channel { client, number: self.made, used };
        let channel = self.by_address.entry(address.into()).or_insert(new);
        (channel.client.clone(), channel.number)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("channels", &self.lock().by_address.len()).finish_non_exhaustive()
    }
}

/// How to connect to the member at an address. What TLS needs (the scheme, authorities, our certificate, the name to
/// expect) goes here, and nowhere else.
fn endpoint(address: &str) -> (String, ConnectOptions) {
    let url = url(address);
    let options = ConnectOptions::new()
        .with_connect_timeout(CONNECT)
        .with_keep_alive(PING_AFTER, PING)
        .with_keep_alive_while_idle(false);
    (url, options)
}

/// Where clients reach the member at `address`.
pub(super) fn url(address: &str) -> String {
    url_at(address, PORT)
}

/// Where another port of the member's pod is reached.
pub(super) fn url_at(address: &str, port: u16) -> String {
    match address.parse::<Ipv6Addr>() {
        Ok(address) => format!("http://[{address}]:{port}"),
        Err(_) => format!("http://{address}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_bracket_what_has_colons() {
        assert_eq!(endpoint("10.1.2.3").0, "http://10.1.2.3:2379");
        assert_eq!(endpoint("fd00::7").0, "http://[fd00::7]:2379");
    }

    #[tokio::test]
    async fn a_connection_is_kept_while_it_is_used() {
        let pool = Pool::default();
        for address in ["10.0.0.1", "10.0.0.2"] {
            pool.channel(address).await.unwrap();
        }
        let mut channels = pool.lock();
        let start = Instant::now();
        for round in 0..3 {
            let now = start + round * (IDLE - Duration::from_secs(1));
            assert_eq!(channels.known("10.0.0.1", now).map(|(_, number)| number), Some(1));
        }
        assert_eq!(channels.by_address.len(), 1, "the other one is closed");
        assert!(channels.known("10.0.0.2", start).is_none());
    }

    #[tokio::test]
    async fn only_the_connection_that_failed_is_dropped() {
        let pool = Pool::default();
        let number = async || pool.channel("10.0.0.1").await.unwrap().1;
        assert_eq!((number().await, number().await), (1, 1));
        pool.forget("10.0.0.1", 1);
        assert_eq!(number().await, 2);
        pool.forget("10.0.0.1", 1);
        assert_eq!(number().await, 2);
    }

    #[tokio::test]
    async fn what_cannot_be_an_address_is_told() {
        let fault = Pool::default().channel("a b").await.err().unwrap();
        assert!(!fault.is_answer(), "{fault:?}");
    }
}
