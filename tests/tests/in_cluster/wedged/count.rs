//! Counting, a minute at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::audit::Audit;
use e2e::call::Call;
use futures::future::join_all;
use tokio::time::{Instant, sleep, sleep_until};

use super::logins::{self, Log, Logins};
use super::{Server, Wedge};

/// Requests a minute, and logins a minute, for one object that cannot get any further.
const BAR: usize = 20;
/// How many minutes are counted, each for itself.
const MINUTES: usize = 2;
const MINUTE: Duration = Duration::from_secs(60);

/// What one state has cost.
#[derive(Default)]
struct Costs {
    requests: Vec<Vec<Call>>,
    logins: Vec<Logins>,
}

/// Waits until all have settled, counts each state's requests and logins, prints them, and returns what is wrong: a state that
/// costs too much, or that did not last. `audit` goes back to before the states were created.
pub async fn counted(audit: &Audit, wedges: &[(&'static str, Wedge)], settles: Duration) -> Vec<String> {
    sleep(settles).await;
    let mut wrong = Vec::new();
    wrong.extend(unwedged(wedges, "before it was counted").await);
    let seen = audit.calls().expect("the audit log can be read");
    let unseen = wedges.iter().filter(|(_, wedge)| !seen.iter().any(|call| call.namespace == wedge.ns.name));
    wrong.extend(unseen.map(|(name, _)| format!("{name}: the audit log has no request at all")));
    let mut costs: Vec<Costs> = wedges.iter().map(|_| Costs::default()).collect();
    let mut logs = join_all(wedges.iter().map(|(_, wedge)| log(wedge))).await;
    for _ in 0..MINUTES {
        let (mark, begun) = (audit.mark().expect("the audit log is there"), Instant::now());
        sleep_until(begun + MINUTE).await;
        let calls = mark.calls().expect("the audit log can be read");
        for ((_, wedge), costs) in wedges.iter().zip(&mut costs) {
            costs.requests.push(calls.iter().filter(|call| concerns(call, wedge)).cloned().collect());
        }
        // Reading logs takes a moment, in which logins count, too: there may be one more in the figure, and never one less.
        let reads = wedges.iter().zip(&mut logs).zip(&mut costs);
        let failed = join_all(reads.map(|(((name, wedge), log), costs)| minute(name, wedge, log, costs))).await;
        wrong.extend(failed.into_iter().flatten());
    }
    wrong.extend(unwedged(wedges, "while it was counted").await);
    for ((name, wedge), costs) in wedges.iter().zip(&costs) {
        wrong.extend(judged(name, wedge, costs));
    }
    wrong
}

/// States that have ended by themselves.
async fn unwedged(wedges: &[(&'static str, Wedge)], when: &str) -> Vec<String> {
    let said = join_all(wedges.iter().map(|(_, wedge)| wedge.says.now(&wedge.ns))).await;
    let ended = wedges.iter().zip(said).filter_map(|((name, _), said)| Some((name, said.err()?)));
    ended.map(|(name, why)| format!("{name}: the state ended {when}: {why}")).collect()
}

/// Whether a request is one that is counted: in that namespace, or for it. Watches and leases are not for one object.
fn concerns(call: &Call, wedge: &Wedge) -> bool {
    call.namespace == wedge.ns.name && !call.is_watch() && !call.is_lease()
}

async fn log(wedge: &Wedge) -> Option<Result<Log, String>> {
    match wedge.server {
        Server::None => None,
        Server::Runs(pod) | Server::MayRestart(pod) => Some(logins::so_far(&wedge.ns, pod).await),
    }
}

/// Records a minute's logins; why that cannot be done, if it cannot.
async fn minute(name: &str, wedge: &Wedge, log: &mut Option<Result<Log, String>>, costs: &mut Costs) -> Option<String> {
    let (pod, runs) = match wedge.server {
        Server::None => return None,
        Server::Runs(pod) => (pod, true),
        Server::MayRestart(pod) => (pod, false),
    };
    let before = match log.as_ref()? {
        Ok(before) => before,
        Err(why) => return Some(format!("{name}: logins cannot be counted: {why}")),
    };
    match logins::since(before, &wedge.ns, pod).await {
        Ok((logins, _)) if runs && !logins.exact => {
            Some(format!("{name}: logins cannot be counted: {pod} was restarted meanwhile"))
        }
        Ok((logins, now)) => {
            costs.logins.push(logins);
            *log = Some(Ok(now));
            None
        }
        Err(why) => Some(format!("{name}: logins cannot be counted: {why}")),
    }
}

/// Prints what a state has cost; what of it is too much.
fn judged(name: &str, wedge: &Wedge, costs: &Costs) -> Vec<String> {
    let requests: Vec<usize> = costs.requests.iter().map(Vec::len).collect();
    let logins = match (wedge.server, costs.logins.is_empty()) {
        (Server::None, _) => "no server answers".to_owned(),
        (_, true) => "logins not counted".to_owned(),
        _ => {
            let inexact = costs.logins.iter().any(|logins| !logins.exact);
            let counts: Vec<usize> = costs.logins.iter().map(|logins| logins.count).collect();
            format!("logins a minute {}{counts:?}", if inexact { "at least " } else { "" })
        }
    };
    println!(
        "wedged | {name} | requests a minute {requests:?} | {logins} | {}",
        grouped(costs.requests.iter().flatten())
    );
    let mut wrong = Vec::new();
    for calls in costs.requests.iter().filter(|calls| calls.len() > BAR) {
        wrong.push(format!("{name}: {} requests in a minute, at most {BAR}: {}", calls.len(), grouped(calls)));
    }
    for logins in costs.logins.iter().filter(|logins| logins.count > BAR) {
        wrong.push(format!("{name}: {} logins in a minute, at most {BAR}", logins.count));
    }
    wrong
}

/// How many of which kind, the most frequent first.
fn grouped<'c>(calls: impl IntoIterator<Item = &'c Call>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        let code = call.code.unwrap_or_default();
        *counts.entry(format!("{} {} -> {code}", call.verb, call.target())).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(what, count)| format!("{count} x {what}")).collect::<Vec<_>>().join(", ")
}
