//! Leader election with a Lease, with the semantics of client-go. [`decision`] decides; this module has the clocks and requests.
//!
//! Every write is a PUT with the resourceVersion of the decision, so one of two concurrent writers gets a conflict and reads
//! again. Candidates watch the Lease and detect its expiry with a local timer. A Lease is not a fence: a leader stops acting at
//! its renew deadline, 5 s before another candidate may start, and its writes have preconditions of their own.
//!
//! Unlike with client-go, a leader that misses its deadline does not exit: it keeps trying to renew, and acts again once it has.
//! That write has the version that the leader wrote last, so it succeeds only if no other candidate has led in the meantime. So
//! after an outage of the API server, no cache has to be filled again, and no process restarts.

use std::pin::pin;
use std::time::Duration;

use kube::Client;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::lease_client::{LeaseClient, LeaseError};
use self::retry::{fraction, retry_period};
use crate::leader_election::decision::{
    ElectionStep, LeaseRecord, Now, ObservedRecord, RENEW_DEADLINE, RETRY_PERIOD, decide,
};
use crate::outage::Outages;

pub mod decision;
mod fence;
mod foreign_leases;
mod lease_client;
mod name;
mod retry;
#[cfg(test)]
mod tests;

pub use self::fence::Fence;
pub use self::foreign_leases::{ForeignLease, ForeignLeases};
pub use self::name::{InvalidLeaseName, LeaseName, identity};

/// How long one request may take: two fit into a renew deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a release may take; the process is about to exit.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

/// The API server rejects the name of the Lease: a retry cannot succeed.
#[derive(Debug, thiserror::Error)]
#[error("the API server rejects the lease {lease}: {message}")]
pub struct LeaseRejected {
    /// The rejected Lease.
    pub lease: LeaseName,
    /// The message of the API server.
    pub message: String,
}

/// Why [`LeaderElector::keep_leading`] returned.
#[derive(Debug, PartialEq, Eq)]
pub enum LeadershipEnd {
    /// Another candidate has the Lease or may have had it, for this reason: write nothing more, and exit.
    Lost(String),
    /// The caller canceled `stop`; the Lease stays held until [`LeaderElector::release`].
    Stopped,
}

/// One candidate for one lease.
pub struct LeaderElector {
    lease_client: LeaseClient,
    lease: LeaseName,
    identity: String,
    /// When the last successful renewal was sent, not when it was answered: other candidates count from a later time.
    last_renew: Option<Duration>,
    /// Whether a write of the Lease was ever sent; it may have taken effect without a response.
    claimed: bool,
    /// Whether this candidate leads and has missed its renew deadline.
    overdue: bool,
    fence: Fence,
    outages: Outages,
}

enum CampaignResult {
    Leading,
    Conflict,
    Wait,
}

impl LeaderElector {
    /// A candidate called `identity`, unique among all candidates (see [`identity`]). Sends nothing yet.
    #[must_use]
    pub fn new(client: Client, lease: LeaseName, identity: String, outages: Outages) -> Self {
        set_leading_metric(&lease, false);
        Self {
            lease_client: LeaseClient::new(client, lease.clone(), outages.clone()),
            lease,
            identity,
            last_renew: None,
            claimed: false,
            overdue: false,
            fence: Fence::new_closed(),
            outages,
        }
    }

    /// The fence, which is open while this candidate leads. Each write has to check it.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Waits until this candidate leads (`true`) or `stop` is canceled (`false`). A transient error or a missing permission is
    /// logged once, and retried every 2 s (up to 2.4 s).
    ///
    /// # Errors
    /// If the API server rejects the name of the Lease.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> Result<bool, LeaseRejected> {
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(false),
            result = self.campaign() => result.map(|()| true),
        }
    }

    /// Renews every 2 s until another candidate has taken the Lease or `stop` is canceled. From 10 s after the last renewal until
    /// the next one, the fence is closed. Cancel `stop` once the workers have ended, so that the Lease is held as long as they
    /// write.
    pub async fn keep_leading(&mut self, stop: &CancellationToken) -> LeadershipEnd {
        let held = tokio::select! {
            biased;
            () = stop.cancelled() => LeadershipEnd::Stopped,
            reason = self.renew_until_lost() => LeadershipEnd::Lost(reason),
        };
        self.fence.close();
        set_leading_metric(&self.lease, false);
        held
    }

    /// Releases the Lease, so that the next leader need not wait for its expiry. Takes at most 3 s.
    pub async fn release(mut self) {
        set_leading_metric(&self.lease, false);
        if !self.claimed {
            return;
        }
        match timeout(RELEASE_TIMEOUT, self.give_up()).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => self.lease_client.log_failure(failure),
            Err(_) => self.lease_client.log_failure(LeaseError::silent("release")),
        }
    }

    async fn campaign(&mut self) -> Result<(), LeaseRejected> {
        loop {
            let outages = self.outages.clone();
            let mut ended = pin!(outages.ended());
            let failure = tokio::select! {
                biased;
                tried = self.try_to_lead() => match tried {
                    Ok(true) => return Ok(()),
                    Ok(false) => continue,
                    Err(failure) => failure,
                },
                () = &mut ended => continue,
            };
            if let LeaseError::Refused(message) = failure {
                return Err(LeaseRejected { lease: self.lease.clone(), message });
            }
            self.lease_client.log_failure(failure);
            drop(timeout(retry_period(), ended).await);
        }
    }

    /// Tries to acquire the Lease once, or waits until that may succeed. Returns whether this candidate leads.
    async fn try_to_lead(&mut self) -> Result<bool, LeaseError> {
        match self.try_acquire().await? {
            CampaignResult::Leading => return Ok(true),
            CampaignResult::Wait => self.wait_for_change().await?,
            CampaignResult::Conflict => sleep(RETRY_PERIOD.mul_f64(0.1 * fraction())).await,
        }
        Ok(false)
    }

    async fn try_acquire(&mut self) -> Result<CampaignResult, LeaseError> {
        self.lease_client.read(REQUEST_TIMEOUT).await?;
        let (ElectionStep::Acquire(record) | ElectionStep::Renew(record)) = self.decide() else {
            return Ok(CampaignResult::Wait);
        };
        self.claimed = true;
        let sent = self.lease_client.elapsed();
        if !self.lease_client.write(&record, REQUEST_TIMEOUT).await? {
            return Ok(CampaignResult::Conflict);
        }
        self.renewed(sent);
        tracing::info!(lease = %self.lease, identity = self.identity, "leading");
        Ok(CampaignResult::Leading)
    }

    /// Watches the Lease until it may be acquired, or the watch ends.
    async fn wait_for_change(&mut self) -> Result<(), LeaseError> {
        let identity = &self.identity;
        let wait_time = |observed: &ObservedRecord, monotonic| {
            let now = Now { monotonic, wall: crate::clock::now() };
            match decide(observed, identity, None, now) {
                ElectionStep::Wait(left) => Some(left),
                _ => None,
            }
        };
        self.lease_client.wait_for_change(REQUEST_TIMEOUT, wait_time).await
    }

    async fn renew_until_lost(&mut self) -> String {
        loop {
            match self.decide() {
                ElectionStep::Renew(record) => self.renew(&record).await,
                ElectionStep::Wait(left) => sleep(left).await,
                ElectionStep::Lost(reason) => return reason,
                ElectionStep::Acquire(_) => return "the lease was never acquired".to_owned(),
            }
        }
    }

    async fn renew(&mut self, record: &LeaseRecord) {
        let sent = self.lease_client.elapsed();
        if self.time_left().is_zero() && !self.overdue {
            self.overdue = true;
            set_leading_metric(&self.lease, false);
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
            written = self.lease_client.write(record, limit) => written,
            // A request that was sent during an outage may never be answered; if it took effect, the next attempt finds that.
            () = &mut ended => return,
        };
        let result = match written {
            Ok(true) => {
                self.renewed(sent);
                return;
            }
            Ok(false) => self.lease_client.read(self.limit()).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = result {
            self.lease_client.log_failure(failure);
            let longest = if self.overdue { retry_period() } else { retry_period().min(self.time_left()) };
            drop(timeout(longest, ended).await);
        }
    }

    /// How long a request may take: a leader must not miss its deadline while it waits for a response.
    fn limit(&self) -> Duration {
        if self.overdue { REQUEST_TIMEOUT } else { REQUEST_TIMEOUT.min(self.time_left()) }
    }

    fn renewed(&mut self, sent: Duration) {
        self.last_renew = Some(sent);
        self.fence.keep_until(self.lease_client.epoch() + sent + RENEW_DEADLINE);
        set_leading_metric(&self.lease, true);
        if std::mem::take(&mut self.overdue) {
            tracing::info!(lease = %self.lease, "the lease is renewed, and no other manager has led: resuming");
        }
    }

    async fn give_up(&mut self) -> Result<(), LeaseError> {
        for _ in 0..3 {
            if let Some(record) =
                self.lease_client.observed().record.clone().filter(|record| record.holder == self.identity)
                && self.lease_client.write(&record.released(crate::clock::now()), RELEASE_TIMEOUT).await?
            {
                tracing::info!(lease = %self.lease, "lease released");
                return Ok(());
            }
            self.lease_client.read(RELEASE_TIMEOUT).await?;
            if self.lease_client.observed().record.as_ref().is_none_or(|record| record.holder != self.identity) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn decide(&self) -> ElectionStep {
        decide(self.lease_client.observed(), &self.identity, self.last_renew, self.now())
    }

    fn now(&self) -> Now {
        Now { monotonic: self.lease_client.elapsed(), wall: crate::clock::now() }
    }

    fn time_left(&self) -> Duration {
        (self.last_renew.unwrap_or_default() + RENEW_DEADLINE).saturating_sub(self.lease_client.elapsed())
    }
}

fn set_leading_metric(lease: &LeaseName, leading: bool) {
    metrics::gauge!("leader_election_master_status", "name" => lease.name.clone()).set(f64::from(u8::from(leading)));
}
