//! Connections to members: one per address, opened by the first call, and kept between reconciles.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use tokio::time::{Instant, timeout};

use super::client::{MemberEndpoint, MemberTls};
use super::error::EtcdClientError;

/// Where clients reach a member.
const PORT: u16 = 2379;
/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a connection is pinged while a call waits for its answer. etcd closes connections of clients that ping more often
/// than every 5 s (`--grpc-keepalive-min-time`), or without a call (a rule of gRPC).
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// How long the answer to a ping may take.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an unused connection is kept. The next call of any connection closes it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long it is known how a member with TLS is reached. Each reconcile says it again.
const TLS_TTL: Duration = Duration::from_secs(600);

/// The connections. After a call without an answer, the next call opens another connection; nothing reconnects in between.
#[derive(Default)]
pub(super) struct ChannelPool {
    channels: Mutex<Channels>,
}

#[derive(Default)]
struct Channels {
    by_address: HashMap<Box<str>, Channel>,
    opened: u64,
    /// How members with TLS are reached, by address, and since when that is known.
    tls: HashMap<Box<str>, (MemberTls, Instant)>,
}

/// One connection, perhaps not opened yet.
struct Channel {
    client: Client,
    number: u64,
    used: Instant,
}

impl ChannelPool {
    /// Reaches members with their TLS from now on. A connection with another certificate is closed.
    pub(super) fn reach(&self, members: &[MemberEndpoint]) {
        let (mut channels, now) = (self.lock(), Instant::now());
        channels.tls.retain(|_, (_, known)| now.duration_since(*known) < TLS_TTL);
        for member in members {
            channels.reach(&member.address, member.tls.as_ref(), now);
        }
    }

    /// How the member at `address` is reached, if it has TLS.
    pub(super) fn tls(&self, address: &str) -> Option<MemberTls> {
        self.lock().tls.get(address).map(|(tls, _)| tls.clone())
    }

    /// Makes a call to the member at `address`.
    pub(super) async fn call<T, C, F>(&self, address: &str, deadline: Duration, call: C) -> Result<T, EtcdClientError>
    where
        C: FnOnce(Client) -> F,
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let (client, number) = self.channel(address).await?;
        let error = match timeout(deadline, call(client)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => EtcdClientError::from(error),
            Err(_) => EtcdClientError::Timeout(deadline),
        };
        if !error.is_answer() {
            // After a timeout, too: a half-open connection would delay the next call by as much again.
            self.forget(address, number);
        }
        Err(error)
    }

    /// The connection to `address`, with its number.
    async fn channel(&self, address: &str) -> Result<(Client, u64), EtcdClientError> {
        if let Some(known) = self.lock().known(address, Instant::now()) {
            return Ok(known);
        }
        let (url, options) = endpoint(address, self.tls(address).as_ref());
        // Does not wait: the first call opens the connection.
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
    fn reach(&mut self, address: &str, tls: Option<&MemberTls>, now: Instant) {
        let before = match tls {
            Some(tls) => self.tls.insert(address.into(), (tls.clone(), now)),
            None => self.tls.remove(address),
        };
        let id = |tls: &MemberTls| (tls.server_name.clone(), tls.identity.pem().clone());
        if before.map(|(tls, _)| id(&tls)) != tls.map(id) {
            self.by_address.remove(address);
        }
    }

    /// The connection to `address`, if there is one. Closes those that have been idle for too long.
    fn known(&mut self, address: &str, now: Instant) -> Option<(Client, u64)> {
        self.by_address.retain(|_, channel| now.duration_since(channel.used) < IDLE_TIMEOUT);
        let channel = self.by_address.get_mut(address)?;
        channel.used = now;
        Some((channel.client.clone(), channel.number))
    }

    /// Keeps a connection, unless another one has been added meanwhile.
    fn keep(&mut self, address: &str, client: Client, used: Instant) -> (Client, u64) {
        self.opened += 1;
        let new = Channel { client, number: self.opened, used };
        let channel = self.by_address.entry(address.into()).or_insert(new);
        (channel.client.clone(), channel.number)
    }
}

impl fmt::Debug for ChannelPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelPool").field("channels", &self.lock().by_address.len()).finish_non_exhaustive()
    }
}

/// How to connect to the member at an address.
pub(super) fn endpoint(address: &str, tls: Option<&MemberTls>) -> (String, ConnectOptions) {
    let url = url(address, tls);
    let options = ConnectOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_keep_alive(PING_INTERVAL, PING_TIMEOUT)
        .with_keep_alive_while_idle(false);
    match tls {
        Some(tls) => (url, options.with_tls(tls_options(tls))),
        None => (url, options),
    }
}

fn tls_options(MemberTls { identity, server_name }: &MemberTls) -> TlsOptions {
    let pem = identity.pem();
    TlsOptions::new()
        .ca_certificate(Certificate::from_pem(&pem.authorities))
        .identity(Identity::from_pem(&pem.certificate, &pem.key))
        .domain_name(server_name)
}

/// The client URL of the member at `address`.
pub(super) fn url(address: &str, tls: Option<&MemberTls>) -> String {
    url_at(address, PORT, tls.is_some())
}

/// The URL of a port of the member's pod.
pub(super) fn url_at(address: &str, port: u16, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    match address.parse::<Ipv6Addr>() {
        Ok(address) => format!("{scheme}://[{address}]:{port}"),
        Err(_) => format!("{scheme}://{address}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_bracket_ipv6_addresses() {
        assert_eq!(endpoint("10.1.2.3", None).0, "http://10.1.2.3:2379");
        assert_eq!(endpoint("fd00::7", None).0, "http://[fd00::7]:2379");
    }

    #[tokio::test]
    async fn a_connection_is_kept_while_it_is_used() {
        let pool = ChannelPool::default();
        for address in ["10.0.0.1", "10.0.0.2"] {
            pool.channel(address).await.unwrap();
        }
        let mut channels = pool.lock();
        let start = Instant::now();
        for round in 0..3 {
            let now = start + round * (IDLE_TIMEOUT - Duration::from_secs(1));
            assert_eq!(channels.known("10.0.0.1", now).map(|(_, number)| number), Some(1));
        }
        assert_eq!(channels.by_address.len(), 1, "the other one is closed");
        assert!(channels.known("10.0.0.2", start).is_none());
    }

    #[tokio::test]
    async fn only_the_connection_that_failed_is_dropped() {
        let pool = ChannelPool::default();
        let number = async || pool.channel("10.0.0.1").await.unwrap().1;
        assert_eq!((number().await, number().await), (1, 1));
        pool.forget("10.0.0.1", 1);
        assert_eq!(number().await, 2);
        pool.forget("10.0.0.1", 1);
        assert_eq!(number().await, 2);
    }

    #[tokio::test]
    async fn an_invalid_address_is_an_error() {
        let error = ChannelPool::default().channel("a b").await.err().unwrap();
        assert!(!error.is_answer(), "{error:?}");
    }
}
