//! Outages of the API server: one probe for all finds out that it is back, and everything that waits hears of it at once,
//! instead of each by its own growing delays.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use crate::outage::decision::{RESUMED, Reachability, is_answer};
use crate::retry::scattered;

pub mod decision;

/// Within which time all that waits goes on after an outage.
const SPREAD: Duration = Duration::from_secs(1);
/// How long after a probe without an answer the next one is sent.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a probe may take. One that was sent just before the API server came back may get no answer either.
const LIMIT: Duration = Duration::from_secs(1);
/// By which all authenticated users may ask whether the API server is ready, unless somebody took that right away: a refusal is
/// an answer as well.
const PROBE: &str = "/readyz";

/// What all of a process know of outages.
#[derive(Clone, Debug)]
pub struct Outages(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sight: watch::Sender<Reachability>,
    suspicion: Notify,
}

impl Default for Outages {
    fn default() -> Self {
        Self(Arc::new(Shared { sight: watch::Sender::default(), suspicion: Notify::new() }))
    }
}

impl Outages {
    /// A request got no answer, or one of somebody's who reaches no API server either.
    pub(crate) fn suspect(&self) {
        if self.0.sight.borrow().is_suspicious(Instant::now()) {
            self.0.suspicion.notify_one();
        }
    }

    /// Waits until an outage is over that is under way or yet to come.
    pub async fn ended(&self) {
        let mut sight = self.0.sight.subscribe();
        let before = sight.borrow_and_update().ended;
        // The sender is here, so this does not end early.
        drop(sight.wait_for(|sight| sight.ended > before).await);
    }

    /// The same, and then until a moment of its own: not all that waits goes on at once.
    pub(crate) async fn resumed(&self) {
        self.ended().await;
        sleep(scattered(SPREAD)).await;
    }

    /// How many outages are over.
    pub(crate) fn over(&self) -> u64 {
        self.0.sight.borrow().ended
    }

    /// How many outages have begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.sight.borrow().begun()
    }

    /// A request got no answer that is as good as a probe: everything waits until one is answered.
    pub(crate) fn lost(&self) {
        if self.0.sight.borrow().away_since.is_none() {
            self.seen(false);
            self.0.suspicion.notify_one();
        }
    }

    /// Takes in whether a probe was answered.
    pub(crate) fn seen(&self, answered: bool) {
        let before = *self.0.sight.borrow();
        self.0.sight.send_replace(before.probed(answered, Instant::now()));
        match (answered, before.away_since) {
            (false, None) => tracing::warn!("the API server does not answer: waiting until it does"),
            (true, Some(since)) => tracing::info!("the API server answers again, after {:.0?}", since.elapsed()),
            _ => {}
        }
    }

    /// Connections were lost without a word, and no probe has seen it: what waits on such ones goes on as after an outage.
    pub(crate) fn missed(&self) {
        let news = self.0.sight.send_if_modified(|sight| {
            let before = *sight;
            *sight = before.missed(Instant::now());
            *sight != before
        });
        if news {
            tracing::info!("connections to the API server were lost without a word: watches begin again");
        }
    }

    /// Whether the API server has just come back, and watches may have yet to begin again.
    pub(crate) fn is_resuming(&self) -> bool {
        self.0.sight.borrow().is_resuming(Instant::now())
    }

    /// Waits, if the API server is away or has just come back, until watches have had the time to begin again.
    pub(crate) async fn settled(&self) {
        if !self.is_resuming() {
            return;
        }
        let mut sight = self.0.sight.subscribe();
        loop {
            // The sender is here, so neither ends early.
            drop(sight.wait_for(|sight| sight.away_since.is_none()).await);
            if timeout(RESUMED, sight.wait_for(|sight| sight.away_since.is_some())).await.is_err() {
                return;
            }
        }
    }

    /// Probes upon suspicion, for ever.
    pub async fn probe(self, client: Client) {
        loop {
            self.0.suspicion.notified().await;
            loop {
                let answered = answers(&client).await;
                self.seen(answered);
                if answered {
                    break;
                }
                sleep(PAUSE).await;
            }
        }
    }
}

async fn answers(client: &Client) -> bool {
    let Ok(request) = http::Request::get(PROBE).body(kube::client::Body::empty()) else { return false };
    matches!(timeout(LIMIT, client.send(request)).await, Ok(Ok(answer)) if is_answer(answer.status().as_u16()))
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_depends_on_watches_waits_until_they_have_begun_again() {
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
        assert_eq!(started.elapsed(), Duration::from_secs(121) + RESUMED);
    }
}
