//! Asking the members of a cluster who its members are, at the port that they serve each other on.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;

use crate::cli::MemberOptions;
use crate::etcd::dns::{self, Answer};
use crate::etcd::members::{self, Member};
use crate::etcd::plan::{MembershipCheck, listing};
use crate::etcd::url::PeerUrl;
use crate::progress::WaitLogger;

/// A member that is well answers within milliseconds; one whose node is gone must not hold the others up.
const PATIENCE: Duration = Duration::from_secs(1);

/// Far more than a list of members needs.
const LONGEST_ANSWER: u64 = 1 << 20;

/// What the members behind `peers` say of `member`.
pub(crate) fn ask(
    peers: &PeerUrl,
    member: &MemberOptions,
    deadline: Option<Instant>,
    progress: &mut WaitLogger,
) -> MembershipCheck {
    let addresses = match dns::resolve(&peers.host, deadline, progress) {
        Answer::Addresses(addresses) => addresses,
        Answer::No(error) => return MembershipCheck::NoAnswer(format!("{} does not resolve: {error}", peers.host)),
        Answer::Late => return MembershipCheck::NoAnswer(format!("the resolver is silent about {}", peers.host)),
    };
    // Pods that are not ready are among these, so this one is too, and some may lead nowhere: all are asked at once.
    let asked: Vec<_> = addresses
        .into_iter()
        .filter(|address| peers.port != member.url.port || !member.own_addresses.contains(address))
        .map(|address| (SocketAddr::new(address, peers.port), peers.clone()))
        .map(|(address, peers)| thread::spawn(move || members_at(address, &peers)))
        .collect();
    let answers = asked.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("the request failed".into())));
    listing(answers.collect(), &member.url)
}

/// `GET /members` at one address. TLS belongs here: the address is asked for, the host of `peers` is to be verified.
fn members_at(address: SocketAddr, peers: &PeerUrl) -> Result<Vec<Member>, String> {
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
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_recv_body(Some(PATIENCE))
        // A proxy that the environment names is for the way out of the cluster.
        .proxy(None)
        .max_redirects(0)
        .build()
        .new_agent()
}
