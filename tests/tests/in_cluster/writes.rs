//! The manager's requests to the API server, in one namespace.

use std::cell::Cell;
use std::time::Duration;

use e2e::audit::Audit;
use e2e::call::Call;
pub use e2e::call::lines;
use e2e::namespace::Namespace;
use e2e::patience::Moment;

/// How long the manager may write nothing for an object before it counts as settled: by the clock, by which the manager requeues
/// a second after some of its writes, and in normal time, by which it reacts to events within a fraction of a second.
const QUIET: Duration = Duration::from_secs(2);
const REACTION: Duration = Duration::from_secs(1);

/// All its requests in that namespace.
pub fn calls(audit: &Audit, ns: &Namespace) -> Vec<Call> {
    let calls = audit.calls().expect("the audit log can be read");
    calls.into_iter().filter(|call| call.namespace == ns.name).collect()
}

/// Its writes in that namespace, Events apart.
pub fn writes(audit: &Audit, ns: &Namespace) -> Vec<Call> {
    calls(audit, ns).into_iter().filter(Call::is_write).collect()
}

/// Those that changed something: a creation is refused where the name is taken.
pub fn taken_of(calls: Vec<Call>) -> Vec<Call> {
    calls.into_iter().filter(|call| call.code.is_none_or(|code| code < 300)).collect()
}

/// Those of them that aim at such a resource.
pub fn to<'a>(calls: &'a [Call], target: &str) -> Vec<&'a Call> {
    calls.iter().filter(|call| call.target() == target).collect()
}

/// Waits until nothing has been written in that namespace for a while.
pub async fn settled(audit: &Audit, ns: &Namespace) {
    let (seen, since) = (Cell::new(usize::MAX), Cell::new(Moment::now()));
    ns.eventually("the manager to write no more", || async {
        let count = writes(audit, ns).len();
        if seen.replace(count) != count {
            since.set(Moment::now());
        }
        let passed = since.get().passed();
        if passed.real >= QUIET && passed.normal >= REACTION { Ok(()) } else { Err(lines(&writes(audit, ns))) }
    })
    .await;
}
