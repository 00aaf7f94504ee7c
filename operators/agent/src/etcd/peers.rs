//! Queries the members of a cluster for its member list, at their peer port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

use crate::cli::MemberOptions;
use crate::etcd::dns::{self, Resolution};
use crate::etcd::members::{self, MemberListEntry};
use crate::etcd::plan::{MembershipCheck, listing};
use crate::etcd::url::PeerUrl;
use crate::failure::{CommandFailure, Reason};
use crate::progress::WaitLogger;

/// A healthy member answers within milliseconds; one whose node is down must not delay the others.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Far more than a list of members needs.
const LONGEST_ANSWER: u64 = 1 << 20;

/// What the members behind `peers` report about `member`, and those of the cluster that is taken over, if any.
///
/// # Errors
/// If the files that TLS takes cannot be used.
pub(crate) fn query(
    peers: &PeerUrl,
    member: &MemberOptions,
    deadline: Option<Instant>,
    progress: &mut WaitLogger,
) -> Result<MembershipCheck, CommandFailure> {
    let tls = member.peer_files()?.map(|files| files.client_config()).transpose()?;
    // These include pods that are not ready, so also this one, and some may not answer: all are queried at once.
    let mut requests = Vec::new();
    let mut unresolved = Vec::new();
    for url in [peers].into_iter().chain(&member.earlier_peers) {
        let addresses = match addresses(url, deadline, progress) {
            Ok(addresses) => addresses,
            Err(why) => {
                unresolved.push(Err(why));
                continue;
            }
        };
        let named = if url == peers { named(peers, member) } else { url.clone() };
        let others =
            addresses.into_iter().filter(|ip| url.port != member.url.port || !member.own_addresses.contains(ip));
        requests.extend(others.map(|ip| {
            let (address, named, tls) = (SocketAddr::new(ip, url.port), named.clone(), tls.clone());
            thread::spawn(move || members_at(address, &named, tls))
        }));
    }
    let answers = requests.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("the request failed".into())));
    Ok(listing(answers.chain(unresolved).collect(), &member.url))
}

/// The addresses of a URL's host.
fn addresses(url: &PeerUrl, deadline: Option<Instant>, progress: &mut WaitLogger) -> Result<Vec<IpAddr>, String> {
    match dns::resolve(&url.host, deadline, progress) {
        Resolution::Addresses(addresses) => Ok(addresses),
        Resolution::Failed(error) => Err(format!("{} does not resolve: {error}", url.host)),
        Resolution::TimedOut => Err(format!("the resolver is silent about {}", url.host)),
    }
}

/// The URL for requests to members at their addresses. With TLS, it has the host of this member: all have one certificate, which
/// is valid for each of them, and none has to be for the host of `peers`.
fn named(peers: &PeerUrl, member: &MemberOptions) -> PeerUrl {
    if peers.is_tls() { member.url.with_port(peers.port) } else { peers.clone() }
}

/// How many members one lists that listens without TLS on the loopback interface alone. No user is needed for that.
///
/// # Errors
/// If it does not answer.
pub(crate) fn count_at_loopback(port: u16) -> Result<usize, CommandFailure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let members = format!("http://{address}").parse().and_then(|url| members_at(address, &url, None));
    members.map(|members| members.len()).map_err(|why| CommandFailure::new(Reason::ToolFailed, why))
}

/// `GET /members` at one address.
fn members_at(address: SocketAddr, peers: &PeerUrl, tls: Option<TlsConfig>) -> Result<Vec<MemberListEntry>, String> {
    let at_address = |error: Error| format!("{address}: {error}");
    let mut response = agent(address, tls).get(format!("{peers}/members")).call().map_err(at_address)?;
    let body = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec().map_err(at_address)?;
    members::parse(&body).map_err(|error| format!("{address}: {error}"))
}

fn agent(address: SocketAddr, tls: Option<TlsConfig>) -> Agent {
    let config = Agent::config_builder()
        .tls_config(tls.unwrap_or_default())
        .timeout_connect(Some(REQUEST_TIMEOUT))
        .timeout_recv_response(Some(REQUEST_TIMEOUT))
        .timeout_recv_body(Some(REQUEST_TIMEOUT))
        // A proxy in the environment is for connections out of the cluster.
        .proxy(None)
        .max_redirects(0)
        .build();
    Agent::with_parts(config, DefaultConnector::default(), At(address))
}

/// Resolves each name to one address.
#[derive(Debug)]
struct At(SocketAddr);

impl Resolver for At {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(self.0);
        Ok(addresses)
    }
}
