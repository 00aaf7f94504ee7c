//! The system's resolver, and the wait for a pod's own name.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::progress::WaitLogger;

/// The result of resolving a name.
#[derive(Debug)]
pub(crate) enum Resolution {
    Addresses(Vec<IpAddr>),
    Failed(String),
    /// There was no result before the deadline.
    TimedOut,
}

/// Resolves a name, until `deadline` at most.
///
/// In a thread of its own: getaddrinfo has no deadline, and takes most of a minute if the DNS server does not answer.
pub(crate) fn resolve(host: &str, deadline: Option<Instant>, progress: &mut WaitLogger) -> Resolution {
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    thread::spawn(move || sender.send(look_up(&name)));
    loop {
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        match receiver.recv_timeout(left.min(progress.until_heartbeat())) {
            Ok(Ok(addresses)) => return Resolution::Addresses(addresses),
            Ok(Err(error)) => return Resolution::Failed(error.to_string()),
            Err(RecvTimeoutError::Disconnected) => return Resolution::Failed("the resolver failed".into()),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Resolution::TimedOut,
            Err(RecvTimeoutError::Timeout) => progress.heartbeat(),
        }
    }
}

fn look_up(host: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = (host, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

/// Waits until `host` is the name of this pod.
///
/// When etcd starts, it compares its own address with that of the name, and its peers must find it by that name.
pub(crate) fn wait_for_own_name(host: &str, own: &[IpAddr], timeout: Option<Duration>) -> Result<(), CommandFailure> {
    let mut progress = WaitLogger::new(goal(host, own));
    let deadline = timeout.map(|timeout| progress.since() + timeout);
    let mut state = "the resolver is silent".to_owned();
    loop {
        match resolve(host, deadline, &mut progress) {
            Resolution::Addresses(found) if is_own(&found, own) => {
                progress.done(&format!("{host} resolves to {}", list(&found)));
                return Ok(());
            }
            Resolution::Addresses(found) => state = format!("it resolves to {}", list(&found)),
            Resolution::Failed(error) => state = error,
            // The previous result says more than that this attempt timed out.
            Resolution::TimedOut => {}
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(too_late(host, own, timeout, &state));
        }
        progress.update(&state);
        progress.pause();
    }
}

fn goal(host: &str, own: &[IpAddr]) -> String {
    if own.is_empty() { format!("{host} resolves") } else { format!("{host} resolves to {}", list(own)) }
}

fn is_own(found: &[IpAddr], own: &[IpAddr]) -> bool {
    if own.is_empty() { !found.is_empty() } else { found.iter().any(|address| own.contains(address)) }
}

fn too_late(host: &str, own: &[IpAddr], timeout: Option<Duration>, state: &str) -> CommandFailure {
    let seconds = timeout.unwrap_or_default().as_secs();
    let wanted = if own.is_empty() { String::new() } else { format!(" to {}", list(own)) };
    let message = format!(
        "{host} does not resolve{wanted}, for {seconds} s now ({state}): \
         cluster DNS or the headless service does not answer for it"
    );
    CommandFailure::new(Reason::DnsTimeout, message)
}

fn list(addresses: &[IpAddr]) -> String {
    let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    texts.join(" or ")
}

/// The addresses in POD_IP: one, or several with commas between, as `status.podIPs` gives them.
pub(crate) fn own_addresses(pod_ip: &str) -> Result<Vec<IpAddr>, String> {
    let parts = pod_ip.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_err(|_| format!("POD_IP is not an address: {part}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> Vec<IpAddr> {
        own_addresses(text).unwrap()
    }

    #[test]
    fn reads_the_addresses_of_a_pod() {
        assert_eq!(addresses(""), [] as [IpAddr; 0]);
        assert_eq!(addresses("10.0.0.1, fd00::1").len(), 2);
        assert_eq!(own_addresses("pod").unwrap_err(), "POD_IP is not an address: pod");
    }

    #[test]
    fn one_of_the_own_addresses_is_enough_and_any_if_none_is_known() {
        assert!(is_own(&addresses("10.0.0.2,10.0.0.1"), &addresses("10.0.0.1,fd00::1")));
        assert!(!is_own(&addresses("10.0.0.2"), &addresses("10.0.0.1")));
        assert!(is_own(&addresses("10.0.0.2"), &[]));
        assert!(!is_own(&[], &[]));
    }

    #[test]
    fn a_literal_address_resolves_to_itself() {
        let mut progress = WaitLogger::new("it resolves".into());
        let answer = resolve("127.0.0.1", None, &mut progress);
        assert!(matches!(answer, Resolution::Addresses(found) if found == addresses("127.0.0.1")));
    }

    #[test]
    fn a_timeout_names_the_host_and_who_should_answer() {
        let failure = too_late("c-0.c.ns.svc", &addresses("10.0.0.1"), Some(Duration::from_secs(5)), "no such name");
        assert_eq!(failure.reason(), Reason::DnsTimeout);
        assert_eq!(
            failure.message(),
            "c-0.c.ns.svc does not resolve to 10.0.0.1, for 5 s now (no such name): \
             cluster DNS or the headless service does not answer for it"
        );
    }
}
