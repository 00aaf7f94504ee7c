//! Queries the members of a cluster for its member list, at their peer port.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;

use crate::cli::MemberOptions;
use crate::etcd::dns::{self, Resolution};
use crate::etcd::members::{self, MemberListEntry};
use crate::etcd::plan::{MembershipCheck, listing};
use crate::etcd::url::PeerUrl;
use crate::progress::WaitLogger;

/// A healthy member answers within milliseconds; one whose node is down must not delay the others.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Far more than a list of members needs.
const LONGEST_ANSWER: u64 = 1 << 20;

/// What the members behind `peers` report about `member`.
pub(crate) fn query(
    peers: &PeerUrl,
    member: &MemberOptions,
    deadline: Option<Instant>,
    progress: &mut WaitLogger,
) -> MembershipCheck {
    let addresses = match dns::resolve(&peers.host, deadline, progress) {
        Resolution::Addresses(addresses) => addresses,
        Resolution::Failed(error) => {
            return MembershipCheck::NoAnswer(format!("{} does not resolve: {error}", peers.host));
        }
        Resolution::TimedOut => {
            return MembershipCheck::NoAnswer(format!("the resolver is silent about {}", peers.host));
        }
    };
    // These include pods that are not ready, so also this one, and some may not answer: all are queried at once.
    let requests: Vec<_> = addresses
        .into_iter()
        .filter(|address| peers.port != member.url.port || !member.own_addresses.contains(address))
        .map(|address| (SocketAddr::new(address, peers.port), peers.clone()))
        .map(|(address, peers)| thread::spawn(move || members_at(address, &peers)))
        .collect();
    let answers = requests.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("the request failed".into())));
    listing(answers.collect(), &member.url)
}

/// `GET /members` at one address. TLS would belong here: connect to the address, verify the host of `peers`.
fn members_at(address: SocketAddr, peers: &PeerUrl) -> Result<Vec<MemberListEntry>, String> {
    let at_address = |error: ureq::Error| format!("{address}: {error}");
    let mut response = plain_agent()
        .get(format!("http://{address}/members"))
        .header("Host", peers.authority())
        .call()
        .map_err(at_address)?;
    let body = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec().map_err(at_address)?;
    members::parse(&body).map_err(|error| format!("{address}: {error}"))
}

fn plain_agent() -> Agent {
    Agent::config_builder()
        .timeout_connect(Some(REQUEST_TIMEOUT))
        .timeout_recv_response(Some(REQUEST_TIMEOUT))
        .timeout_recv_body(Some(REQUEST_TIMEOUT))
        // A proxy in the environment is for connections out of the cluster.
        .proxy(None)
        .max_redirects(0)
        .build()
        .new_agent()
}
