//! Outages of the API server: one probe detects that it has ended, and everything that waits resumes at once instead of after its
//! own backoff.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::outage::decision::{RESUME_TIME, Reachability, is_answer};
use crate::retry::scattered;
use crate::watched_value::WatchedValue;

pub mod decision;

/// The time over which everything that waits resumes after an outage.
const RESUME_SPREAD: Duration = Duration::from_secs(1);
/// How long after a failed probe the next one is sent.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// How long a probe may take. One that was sent just before the end of the outage may get no response either.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// The path of the probe. All authenticated users may read it by default; if the cluster forbids it, the rejection is a response
/// as well.
const PROBE: &str = "/readyz";

/// The outages that a process knows of.
#[derive(Clone, Debug, Default)]
pub struct Outages(Arc<OutageState>);

#[derive(Debug, Default)]
struct OutageState {
    reachability: WatchedValue<Reachability>,
    suspicion: Notify,
}

impl Outages {
    /// A request got no response, or that of a proxy that cannot reach the API server.
    pub(crate) fn suspect(&self) {
        if self.0.reachability.get().is_suspicious(Instant::now()) {
            self.0.suspicion.notify_one();
        }
    }

    /// Waits for the end of the present outage, or of the next one.
    pub async fn ended(&self) {
        let before = self.over();
        self.0.reachability.wait_for(|reachability| reachability.ended > before).await;
    }

    /// The same, and then for a random time: not everything that waits resumes simultaneously.
    pub(crate) async fn resumed(&self) {
        self.ended().await;
        sleep(scattered(RESUME_SPREAD)).await;
    }

    /// Changes the reachability in one step, since probes and requests do so concurrently, and wakes everything that waits if it
    /// differs. Returns what it was before, and whether that differs.
    fn change(&self, change: impl FnOnce(Reachability) -> Reachability) -> (Reachability, bool) {
        let mut before = Reachability::default();
        let differs = self.0.reachability.modify(|reachability| {
            before = *reachability;
            *reachability = change(before);
            *reachability != before
        });
        (before, differs)
    }

    /// The number of outages that have ended.
    pub(crate) fn over(&self) -> u64 {
        self.0.reachability.get().ended
    }

    /// The number of outages that have begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.reachability.get().begun()
    }

    /// A request without a response that counts as a failed probe: everything waits until a probe succeeds.
    pub(crate) fn lost(&self) {
        let is_away = self.0.reachability.get().away_since.is_some();
        if !is_away {
            self.seen(false);
            self.0.suspicion.notify_one();
        }
    }

    /// Records the result of a probe.
    pub(crate) fn seen(&self, answered: bool) {
        let (before, _) = self.change(|before| before.probed(answered, Instant::now()));
        match (answered, before.away_since) {
            (false, None) => tracing::warn!("the API server does not answer: requests wait until it does"),
            (true, Some(since)) => tracing::info!("the API server answers again, after {:.0?}", since.elapsed()),
            _ => {}
        }
    }

    /// Connections were lost without notice, and no probe has detected it: requests on them are given up as after an outage.
    pub(crate) fn missed(&self) {
        let (_, differs) = self.change(|before| before.missed(Instant::now()));
        if differs {
            tracing::info!("connections to the API server were lost without notice: watches begin again");
        }
    }

    /// Whether there is an outage, or watches may have yet to begin again after one.
    pub(crate) fn is_resuming(&self) -> bool {
        self.0.reachability.get().is_resuming(Instant::now())
    }

    /// Waits during an outage until it has ended and watches have had the time to begin again.
    pub(crate) async fn settled(&self) {
        if !self.is_resuming() {
            return;
        }
        loop {
            self.0.reachability.wait_for(|reachability| reachability.away_since.is_none()).await;
            let next = self.0.reachability.wait_for(|reachability| reachability.away_since.is_some());
            if timeout(RESUME_TIME, next).await.is_err() {
                return;
            }
        }
    }

    /// Probes the API server upon suspicion, forever.
    pub async fn probe(self, client: Client) {
        loop {
            self.0.suspicion.notified().await;
            loop {
                let answered = answers(&client).await;
                self.seen(answered);
                if answered {
                    break;
                }
                sleep(PROBE_INTERVAL).await;
            }
        }
    }
}

async fn answers(client: &Client) -> bool {
    let Ok(request) = http::Request::get(PROBE).body(kube::client::Body::empty()) else { return false };
    matches!(timeout(PROBE_TIMEOUT, client.send(request)).await, Ok(Ok(answer)) if is_answer(answer.status().as_u16()))
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wait_ends_after_watches_have_had_time_to_begin_again() {
        let (outages, started) = (Outages::default(), Instant::now());
        outages.settled().await;
        assert_eq!(started.elapsed(), Duration::ZERO);
        outages.seen(false);
        let back = async {
            sleep(Duration::from_secs(60)).await;
            outages.seen(true);
            sleep(Duration::from_secs(1)).await;
            outages.seen(false);
            sleep(Duration::from_secs(60)).await;
            outages.seen(true);
        };
        tokio::join!(outages.settled(), back);
        assert_eq!(started.elapsed(), Duration::from_secs(121) + RESUME_TIME);
    }
}
