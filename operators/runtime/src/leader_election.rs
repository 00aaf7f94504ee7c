//! Leader election by a Lease, with client-go's semantics: the clocks and requests around [`decision`], which decides.
//!
//! Every write is a PUT that carries the resourceVersion it was decided on, so of two that race one gets a conflict and
//! reads again. Candidates watch the one Lease and judge expiry by a local timer. A Lease is not a fence: a leader stops
//! acting at its renew deadline, 5 s before anybody else may start, and its writes carry preconditions of their own.
//!
//! Unlike with client-go, a leader that misses its deadline does not exit: it goes on trying to renew, and acts again once it
//! has. That write is of the version that the leader wrote last, so it succeeds only if nobody has led meanwhile; and after an
//! outage of the API server there are no caches to fill again, and no restart to wait for.

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::remote::{LeaseError, Remote};
use self::retry::{fraction, retry_period};
use crate::leader_election::decision::{Now, ObservedRecord, RENEW_DEADLINE, RETRY_PERIOD, Record, Step, decide};
use crate::outage::Outages;

pub mod decision;
mod fence;
mod foreign;
mod name;
mod remote;
mod retry;
#[cfg(test)]
mod tests;

pub use self::fence::Fence;
pub use self::foreign::{ForeignLease, ForeignLeases};
pub use self::name::{InvalidLeaseName, LeaseName, identity};

/// How long one request may take: two fit into a renew deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// How long giving the lease back may take; the process is about to exit.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

/// The API server will never accept a lease of this name; trying again cannot help.
#[derive(Debug, thiserror::Error)]
#[error("the API server refuses the lease {lease}: {message}")]
pub struct Refused {
    /// The lease that was asked for.
    pub lease: LeaseName,
    /// What the API server said.
    pub message: String,
}

/// Why [`LeaderElector::hold`] returned.
#[derive(Debug, PartialEq, Eq)]
pub enum Held {
    /// Somebody else has the lease or may have had it, for this reason: write nothing more, and exit.
    Lost(String),
    /// The caller asked to stop; the lease is still held until [`LeaderElector::release`].
    Stopped,
}

/// One candidate for one lease.
pub struct LeaderElector {
    remote: Remote,
    lease: LeaseName,
    identity: String,
    /// When the last successful renewal was sent, not answered: others count from later than this.
    last_renew: Option<Duration>,
    /// Whether a claim of ours was ever sent; it may have arrived even if nobody told us.
    claimed: bool,
    /// Whether it leads and has missed its renew deadline.
    overdue: bool,
    fence: Fence,
    outages: Outages,
}

enum Attempt {
    Leading,
    Beaten,
    Wait,
}

impl LeaderElector {
    /// A candidate called `identity`, unique among all candidates (see [`identity`]). Sends nothing yet.
    #[must_use]
    pub fn new(client: Client, lease: LeaseName, identity: String, outages: Outages) -> Self {
        show(&lease, false);
        Self {
            remote: Remote::new(client, lease.clone(), outages.clone()),
            lease,
            identity,
            last_renew: None,
            claimed: false,
            overdue: false,
            fence: Fence::shut(),
            outages,
        }
    }

    /// Open while this candidate leads; whoever writes has to ask it before each write.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Waits until this candidate leads (`true`) or `stop` is cancelled (`false`). An error that may pass, missing
    /// rights included, is logged once and tried again every 2 s (up to 2.4 s).
    ///
    /// # Errors
    /// When the API server will never accept the lease, for its name.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> Result<bool, Refused> {
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(false),
            result = self.contend() => result.map(|()| true),
        }
    }

    /// Renews every 2 s until somebody else has taken the lease or `stop` is cancelled. From 10 s after the last renewal until
    /// the next one the fence is closed. Cancel `stop` once the workers are drained, so that the lease is kept for as long as
    /// they write.
    pub async fn hold(&mut self, stop: &CancellationToken) -> Held {
        let held = tokio::select! {
            biased;
            () = stop.cancelled() => Held::Stopped,
            reason = self.keep() => Held::Lost(reason),
        };
        self.fence.close();
        show(&self.lease, false);
        held
    }

    /// Gives the lease back, so that the next leader need not wait for it to expire. Takes at most 3 s.
    pub async fn release(mut self) {
        show(&self.lease, false);
        if !self.claimed {
            return;
        }
        match timeout(RELEASE_TIMEOUT, self.give_back()).await {
            Ok(Ok(())) => {}
            Ok(Err(trouble)) => self.remote.complain(trouble),
            Err(_) => self.remote.complain(LeaseError::silent("release")),
        }
    }

    async fn contend(&mut self) -> Result<(), Refused> {
        loop {
            let outages = self.outages.clone();
            let mut ended = pin!(outages.ended());
            let trouble = tokio::select! {
                biased;
                tried = self.try_to_lead() => match tried {
                    Ok(true) => return Ok(()),
                    Ok(false) => continue,
                    Err(trouble) => trouble,
                },
                () = &mut ended => continue,
            };
            if let LeaseError::Refused(message) = trouble {
                return Err(Refused { lease: self.lease.clone(), message });
            }
            self.remote.complain(trouble);
            drop(timeout(retry_period(), ended).await);
        }
    }

    /// Tries once, or waits until it is worth trying: whether this candidate leads.
    async fn try_to_lead(&mut self) -> Result<bool, LeaseError> {
        match self.attempt().await? {
            Attempt::Leading => return Ok(true),
            Attempt::Wait => self.follow().await?,
            Attempt::Beaten => sleep(RETRY_PERIOD.mul_f64(0.1 * fraction())).await,
        }
        Ok(false)
    }

    async fn attempt(&mut self) -> Result<Attempt, LeaseError> {
        self.remote.look(REQUEST_TIMEOUT).await?;
        let (Step::Acquire(record) | Step::Renew(record)) = self.decide() else {
            return Ok(Attempt::Wait);
        };
        self.claimed = true;
        let sent = self.remote.elapsed();
        if !self.remote.write(&record, REQUEST_TIMEOUT).await? {
            return Ok(Attempt::Beaten);
        }
        self.renewed(sent);
        tracing::info!(lease = %self.lease, identity = self.identity, "leading");
        Ok(Attempt::Leading)
    }

    /// Watches the lease until it is there to be taken, or the watch ends.
    async fn follow(&mut self) -> Result<(), LeaseError> {
        let identity = &self.identity;
        let patience = |seen: &ObservedRecord, monotonic| {
            let now = Now { monotonic, wall: Timestamp::now() };
            match decide(seen, identity, None, now) {
                Step::Wait(left) => Some(left),
                _ => None,
            }
        };
        self.remote.follow(REQUEST_TIMEOUT, patience).await
    }

    async fn keep(&mut self) -> String {
        loop {
            match self.decide() {
                Step::Renew(record) => self.renew(&record).await,
                Step::Wait(left) => sleep(left).await,
                Step::Lost(reason) => return reason,
                Step::Acquire(_) => return "the lease was never acquired".to_owned(),
            }
        }
    }

    async fn renew(&mut self, record: &Record) {
        let sent = self.remote.elapsed();
        if self.time_left().is_zero() && !self.overdue {
            self.overdue = true;
            show(&self.lease, false);
            tracing::warn!(
                lease = %self.lease,
                "the lease could not be renewed for {} s: nothing is written until it is",
                RENEW_DEADLINE.as_secs()
            );
        }
        let outages = self.outages.clone();
        let mut ended = pin!(outages.ended());
        let limit = self.limit();
        let written = tokio::select! {
            biased;
            written = self.remote.write(record, limit) => written,
            // What was sent into an outage may never be answered; what has arrived all the same is found by the next try.
            () = &mut ended => return,
        };
        let result = match written {
            Ok(true) => {
                self.renewed(sent);
                return;
            }
            Ok(false) => self.remote.look(self.limit()).await,
            Err(trouble) => Err(trouble),
        };
        if let Err(trouble) = result {
            self.remote.complain(trouble);
            let longest = if self.overdue { retry_period() } else { retry_period().min(self.time_left()) };
            drop(timeout(longest, ended).await);
        }
    }

    /// How long a request may take: a leader must not miss its deadline by waiting for an answer.
    fn limit(&self) -> Duration {
        if self.overdue { REQUEST_TIMEOUT } else { REQUEST_TIMEOUT.min(self.time_left()) }
    }

    fn renewed(&mut self, sent: Duration) {
        self.last_renew = Some(sent);
        self.fence.keep_until(self.remote.epoch() + sent + RENEW_DEADLINE);
        show(&self.lease, true);
        if std::mem::take(&mut self.overdue) {
            tracing::info!(lease = %self.lease, "the lease is renewed, and nobody else has led: working again");
        }
    }

    async fn give_back(&mut self) -> Result<(), LeaseError> {
        for _ in 0..3 {
            if let Some(record) = self.remote.seen().record.clone().filter(|record| record.holder == self.identity)
                && self.remote.write(&record.released(Timestamp::now()), RELEASE_TIMEOUT).await?
            {
                tracing::info!(lease = %self.lease, "lease released");
                return Ok(());
            }
            self.remote.look(RELEASE_TIMEOUT).await?;
            if self.remote.seen().record.as_ref().is_none_or(|record| record.holder != self.identity) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn decide(&self) -> Step {
        decide(self.remote.seen(), &self.identity, self.last_renew, self.now())
    }

    fn now(&self) -> Now {
        Now { monotonic: self.remote.elapsed(), wall: Timestamp::now() }
    }

    fn time_left(&self) -> Duration {
        (self.last_renew.unwrap_or_default() + RENEW_DEADLINE).saturating_sub(self.remote.elapsed())
    }
}

fn show(lease: &LeaseName, leading: bool) {
    metrics::gauge!("leader_election_master_status", "name" => lease.name.clone()).set(f64::from(u8::from(leading)));
}
