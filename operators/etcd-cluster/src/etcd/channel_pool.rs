//! Connections to members: up to two per address, without a user and as `root`, opened by the first call, and kept between reconciles.

use std::collections::HashMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use tokio::time::{Instant, timeout_at};

use super::client::{MemberEndpoint, MemberTls, ROOT, RootPassword};
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
/// The error of a learner for most requests.
const NOT_BY_LEARNER: &str = "rpc not supported for learner";

/// How long it is known how a member is reached. Each reconcile says it again.
const ACCESS_TTL: Duration = Duration::from_secs(600);

/// How a member is reached.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberAccess {
    /// If it serves clients with TLS.
    pub(super) tls: Option<MemberTls>,
    /// If the operator has it.
    pub(super) root: Option<RootPassword>,
    /// The addresses of all members of its cluster.
    members: Arc<[Box<str>]>,
}

/// The connections. After a call without an answer, the next call opens another connection; nothing reconnects in between.
#[derive(Default)]
pub(super) struct ChannelPool {
    channels: Mutex<Channels>,
}

#[derive(Default)]
struct Channels {
    by_user: HashMap<(Box<str>, User), Channel>,
    opened: u64,
    /// How members are reached that take more than an address, by that, and since when it is known.
    access: HashMap<Box<str>, (MemberAccess, Instant)>,
}

/// As whom a member is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum User {
    None,
    Root,
}

/// One connection, perhaps not opened yet.
struct Channel {
    client: Client,
    number: u64,
    used: Instant,
}

impl ChannelPool {
    /// Reaches members with their TLS and password from now on. A connection with another one is closed.
    pub(super) fn reach(&self, members: &[MemberEndpoint]) {
        let (mut channels, now) = (self.lock(), Instant::now());
        channels.access.retain(|_, (_, known)| now.duration_since(*known) < ACCESS_TTL);
        let addresses: Arc<[_]> = members.iter().map(|member| member.address.clone()).collect();
        for MemberEndpoint { address, tls, root, .. } in members {
            let access = MemberAccess { tls: tls.clone(), root: root.clone(), members: Arc::clone(&addresses) };
            channels.reach(address, access, now);
        }
    }

    /// How the member at `address` is reached.
    pub(super) fn access(&self, address: &str) -> MemberAccess {
        self.lock().access.get(address).map(|(access, _)| access.clone()).unwrap_or_default()
    }

    /// How the member at `address` is reached, if it has TLS.
    pub(super) fn tls(&self, address: &str) -> Option<MemberTls> {
        self.access(address).tls
    }

    /// Makes a call to the member at `address`: as `root` if it requires a user, and the operator has the password.
    pub(super) async fn call<T, C, F>(&self, address: &str, deadline: Duration, call: C) -> Result<T, EtcdClientError>
    where
        C: Fn(Client) -> F,
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let (until, within) = (Instant::now() + deadline, |error: EtcdClientError| error.within(deadline));
        let is_root = self.access(address).root.is_some();
        if is_root && self.lock().known(address, User::Root, Instant::now()).is_some() {
            match self.call_as(address, User::Root, until, &call).await {
                // The token is from before a restart of the member or a change of users, or authentication is off (3.2 and 3.3).
                Err(EtcdClientError::AuthRequired(_)) => self.forget_root(address),
                result => return result.map_err(within),
            }
        }
        let result = match self.call_as(address, User::None, until, &call).await {
            Err(EtcdClientError::AuthRequired(_)) if is_root => self.call_as(address, User::Root, until, &call).await,
            result => result,
        };
        result.map_err(within)
    }

    /// Makes a call without a user.
    pub(super) async fn call_without_user<T, C, F>(
        &self,
        address: &str,
        deadline: Duration,
        call: C,
    ) -> Result<T, EtcdClientError>
    where
        C: Fn(Client) -> F,
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let called = self.call_as(address, User::None, Instant::now() + deadline, &call).await;
        called.map_err(|error| error.within(deadline))
    }

    /// Authenticates as `root`, unless there is a connection already.
    ///
    /// # Errors
    /// `RootRejected` if the password is wrong, `Rejected` if authentication is off.
    pub(super) async fn authenticate(&self, address: &str, deadline: Duration) -> Result<(), EtcdClientError> {
        self.channel(address, User::Root, Instant::now() + deadline).await.map(drop)
    }

    /// Drops the connection as `root`.
    pub(super) fn forget_root(&self, address: &str) {
        self.lock().by_user.remove(&(address.into(), User::Root));
    }

    async fn call_as<T, C, F>(&self, address: &str, user: User, until: Instant, call: &C) -> Result<T, EtcdClientError>
    where
        C: Fn(Client) -> F,
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let left = until.saturating_duration_since(Instant::now());
        let (client, number) = self.channel(address, user, until).await?;
        let error = match timeout_at(until, call(client)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => EtcdClientError::from(error),
            Err(_) => EtcdClientError::Timeout(left),
        };
        if !error.is_answer() {
            // After a timeout, too: a half-open connection would delay the next call by as much again.
            self.forget(address, user, number);
        }
        Err(error)
    }

    /// The connection to `address`, with its number.
    async fn channel(&self, address: &str, user: User, until: Instant) -> Result<(Client, u64), EtcdClientError> {
        if let Some(known) = self.lock().known(address, user, Instant::now()) {
            return Ok(known);
        }
        let left = until.saturating_duration_since(Instant::now());
        // In a box, because rustc limits how deep futures may nest.
        let connecting = Box::pin(self.connect(address, user));
        let client = timeout_at(until, connecting).await.map_err(|_| EtcdClientError::Timeout(left))??;
        Ok(self.lock().keep(address, user, client, Instant::now()))
    }

    async fn connect(&self, address: &str, user: User) -> Result<Client, EtcdClientError> {
        let access = self.access(address);
        let (url, options) = endpoint(address, access.tls.as_ref());
        let (User::Root, Some(root)) = (user, &access.root) else {
            // This does not wait: the first call opens the connection.
            return Ok(Client::connect([url], Some(options)).await?);
        };
        let refusal = match connect_as_root(&url, options, root).await {
            Err(EtcdClientError::Rejected(refusal)) if refusal == NOT_BY_LEARNER => EtcdClientError::Rejected(refusal),
            result => return result,
        };
        // A learner gives no tokens, but takes those of other members.
        for other in access.members.iter().filter(|other| ***other != *address) {
            let (through, options) = endpoint(other, self.tls(other).as_ref());
            let Ok(client) = connect_as_root(&through, options, root).await else { continue };
            client.add_endpoint(&url).await?;
            client.remove_endpoint(&through).await?;
            return Ok(client);
        }
        Err(refusal)
    }

    /// Drops the connection, unless it has been replaced already.
    fn forget(&self, address: &str, user: User, number: u64) {
        let (mut channels, key) = (self.lock(), (address.into(), user));
        if channels.by_user.get(&key).is_some_and(|channel| channel.number == number) {
            channels.by_user.remove(&key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect_as_root(url: &str, options: ConnectOptions, root: &RootPassword) -> Result<Client, EtcdClientError> {
    Ok(Client::connect([url], Some(options.with_user(ROOT, root.expose()))).await?)
}

impl Channels {
    fn reach(&mut self, address: &str, access: MemberAccess, now: Instant) {
        let id = |tls: &MemberTls| (tls.server_name.clone(), tls.identity.pem().clone());
        let (tls, root) = (access.tls.as_ref().map(id), access.root.clone());
        let before = match tls.is_some() || root.is_some() {
            true => self.access.insert(address.into(), (access, now)),
            false => self.access.remove(address),
        };
        let before = before.map(|(access, _)| access).unwrap_or_default();
        if before.tls.as_ref().map(id) != tls {
            self.by_user.remove(&(address.into(), User::None));
        }
        if before.tls.as_ref().map(id) != tls || before.root != root {
            self.by_user.remove(&(address.into(), User::Root));
        }
    }

    /// The connection to `address`, if there is one. Closes those that have been idle for too long.
    fn known(&mut self, address: &str, user: User, now: Instant) -> Option<(Client, u64)> {
        self.by_user.retain(|_, channel| now.duration_since(channel.used) < IDLE_TIMEOUT);
        let channel = self.by_user.get_mut(&(address.into(), user))?;
        channel.used = now;
        Some((channel.client.clone(), channel.number))
    }

    /// Keeps a connection, unless another one has been added meanwhile.
    fn keep(&mut self, address: &str, user: User, client: Client, used: Instant) -> (Client, u64) {
        self.opened += 1;
        let new = Channel { client, number: self.opened, used };
        let channel = self.by_user.entry((address.into(), user)).or_insert(new);
        (channel.client.clone(), channel.number)
    }
}

impl fmt::Debug for ChannelPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelPool").field("channels", &self.lock().by_user.len()).finish_non_exhaustive()
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

/// Whether an address is a host and a port, which those of pods are not.
pub(super) fn has_port(address: &str) -> bool {
    address.contains(':') && address.parse::<Ipv6Addr>().is_err()
}

/// The URL of a port of the member's pod.
pub(super) fn url_at(address: &str, port: u16, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    // An endpoint of a cluster that is taken over has its own port.
    if has_port(address) {
        return format!("{scheme}://{address}");
    }
    match address.parse::<Ipv6Addr>() {
        Ok(address) => format!("{scheme}://[{address}]:{port}"),
        Err(_) => format!("{scheme}://{address}:{port}"),
    }
}

#[cfg(test)]
mod tests;
