//! What a stuck object costs per minute: requests to the API server, and logins at its database.
//!
//! Each state has a namespace of its own, so every request of the manager there is about that one object, and several states are
//! counted side by side.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use e2e::namespace::{Namespace, RESTRICTED};
use e2e::wait::try_wait;
use futures::FutureExt;
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use serde_json::Value;

mod blocked;
mod clusters;
mod count;
mod databases;
mod held;
mod logins;
mod members;
mod stopped;

/// How long a state may take to be named by its condition, in normal time: some need a backup to become overdue.
const REACHED: Duration = Duration::from_secs(400);
/// How many states are brought about at a time: each starts servers of its own.
const AT_A_TIME: usize = 3;

/// A condition that names a state for as long as it lasts.
#[derive(Clone, Copy)]
struct Says {
    /// As kubectl writes it: `sampledb/shop`.
    object: &'static str,
    type_: &'static str,
    status: &'static str,
    /// Empty where several reasons name the state.
    reason: &'static str,
}

impl Says {
    const fn new(object: &'static str, type_: &'static str, status: &'static str, reason: &'static str) -> Self {
        Self { object, type_, status, reason }
    }

    const fn stalled(object: &'static str, reason: &'static str) -> Self {
        Self::new(object, "Stalled", "True", reason)
    }

    /// The condition's reason and message, if it is there, for the present generation; else what is there instead.
    async fn now(&self, ns: &Namespace) -> Result<String, String> {
        let answer = ns.kubectl(&["get", self.object, "--output=json"]).await;
        if !answer.success {
            return Err(answer.stderr);
        }
        let object: Value = serde_json::from_str(&answer.stdout).map_err(|error| error.to_string())?;
        let generation = &object["metadata"]["generation"];
        let conditions = &object["status"]["conditions"];
        let found = conditions.as_array().and_then(|all| all.iter().find(|condition| condition["type"] == self.type_));
        let found = found.filter(|condition| {
            condition["status"] == self.status && (self.reason.is_empty() || condition["reason"] == self.reason)
        });
        match found.filter(|condition| condition["observedGeneration"] == *generation) {
            Some(found) => Ok(format!("{}: {}", found["reason"], found["message"])),
            None => {
                let Self { object, type_, status, reason } = self;
                Err(format!("{object} does not say {type_}={status} {reason} of generation {generation}: {conditions}"))
            }
        }
    }
}

/// Whether a database's server runs, whose log reports each login.
#[derive(Clone, Copy)]
enum Server {
    /// No server runs.
    None,
    /// The server in this pod runs on, so each login is counted.
    Runs(&'static str),
    /// The server in this pod may be restarted while logins are counted.
    MayRestart(&'static str),
}

/// An object that is wedged, alone in its namespace.
struct Wedge {
    ns: Namespace,
    says: Says,
    server: Server,
}

impl Wedge {
    /// Waits until the condition names the state.
    async fn said(ns: &Namespace, says: Says) {
        match try_wait(REACHED, || says.now(ns)).await {
            Ok(state) => println!("wedged: in {}: {state}", ns.name),
            Err(in_vain) => panic!("the state is not reached: {in_vain}\n{}", ns.around().await),
        }
    }

    /// The same, from when on it is one to be counted.
    async fn reached(ns: Namespace, says: Says, server: Server) -> Self {
        Self::said(&ns, says).await;
        if let Server::Runs(pod) = server {
            let log = logins::so_far(&ns, pod).await.unwrap_or_else(|why| panic!("{}: {why}", ns.name));
            // The manager has been in at least once, so a log without logins would count none in any state.
            assert!(log.logins > 0, "{}: the log of {pod} has no login: is log_connections off?", ns.name);
        }
        Self { ns, says, server }
    }
}

/// A state, and how it is brought about.
type State<'t> = (&'static str, LocalBoxFuture<'t, Wedge>);

/// A state of this name, created in a namespace of its own next to the one that holds the test's turn.
fn state<'t, F>(name: &'static str, turn: &'t Namespace, reach: impl FnOnce(Namespace) -> F + 't) -> State<'t>
where
    F: Future<Output = Wedge> + 't,
{
    let reach = async move { reach(turn.another("wedged", &[RESTRICTED]).await).await };
    (name, reach.boxed_local())
}

/// Brings all of these states about; also the names of those that were not reached. The others are counted all the same:
/// bringing them about has taken minutes.
async fn reached(states: Vec<State<'_>>) -> (Vec<(&'static str, Wedge)>, Vec<String>) {
    let tried = states.into_iter().map(|(name, reach)| async move {
        let reached = AssertUnwindSafe(reach).catch_unwind().await;
        println!("wedged: {name}: {}", if reached.is_ok() { "reached" } else { "NOT reached, see the panic above" });
        (name, reached)
    });
    let (mut wedges, mut failures) = (Vec::new(), Vec::new());
    for (name, reached) in futures::stream::iter(tried).buffered(AT_A_TIME).collect::<Vec<_>>().await {
        match reached {
            Ok(wedge) => wedges.push((name, wedge)),
            Err(_) => failures.push(format!("{name}: the state was not reached")),
        }
    }
    (wedges, failures)
}
