//! Pure: whether there is an outage of the API server.
//!
//! One failed request does not show that: its connection may be broken, or a webhook or an aggregated API unavailable. So a
//! request without a response only raises a suspicion, which triggers a probe.

use std::time::Duration;

use tokio::time::Instant;

/// How long no further probe is sent after a successful one: repeated failures without an outage cost little.
const ANSWER_TTL: Duration = Duration::from_secs(10);

/// How long watches may take to begin again after an outage.
pub(crate) const RESUME_TIME: Duration = Duration::from_secs(5);

/// Whether the API server can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reachability {
    /// Since when there is an outage, if there is one.
    pub away_since: Option<Instant>,
    /// When a probe last succeeded.
    answered: Option<Instant>,
    /// The number of outages that have ended.
    pub ended: u64,
    /// When the last one ended.
    last: Option<Instant>,
}

impl Reachability {
    /// Whether a request without a response triggers a probe.
    #[must_use]
    pub fn is_suspicious(&self, now: Instant) -> bool {
        self.away_since.is_none() && self.answered.is_none_or(|answered| now.duration_since(answered) >= ANSWER_TTL)
    }

    /// The state after a probe.
    #[must_use]
    pub fn probed(self, answered: bool, now: Instant) -> Self {
        match (answered, self.away_since) {
            (false, since) => Self { away_since: since.or(Some(now)), ..self },
            (true, None) => Self { answered: Some(now), ..self },
            (true, Some(_)) => Self { away_since: None, answered: Some(now), ended: self.ended + 1, last: Some(now) },
        }
    }

    /// The number of outages that have begun.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.ended + u64::from(self.away_since.is_some())
    }

    /// The state after connections were lost in an outage that no probe has detected. A probe decides when a present outage has
    /// ended.
    #[must_use]
    pub fn missed(self, now: Instant) -> Self {
        match self.away_since {
            Some(_) => self,
            None => Self { answered: Some(now), ended: self.ended + 1, last: Some(now), ..self },
        }
    }

    /// Whether there is an outage, or one has just ended, so that a failing watch has no meaning. Another request may succeed
    /// before the probe, such as the renewal of the Lease that lets reconciles begin.
    #[must_use]
    pub fn is_resuming(&self, now: Instant) -> bool {
        self.away_since.is_some() || self.last.is_some_and(|last| now.duration_since(last) < RESUME_TIME)
    }
}

/// Whether a response with that code is one of the API server, not of a proxy. A server that starts or has no etcd counts as an
/// outage.
#[must_use]
pub fn is_answer(code: u16) -> bool {
    code < 500
}

/// Whether a response with that code raises a suspicion: that of a proxy or load balancer without a server.
#[must_use]
pub fn is_suspect(code: u16) -> bool {
    (502..=504).contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_and_ends_with_a_probe() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let away = Reachability::default().probed(false, start).probed(false, start + second);
        assert_eq!((away.away_since, away.ended), (Some(start), 0));
        assert!(!away.is_suspicious(start + 100 * second), "it is being probed already");
        let back = away.probed(true, start + 9 * second);
        assert_eq!((back.away_since, back.ended), (None, 1));
        let resuming = |after: u32| back.is_resuming(start + (9 + after) * second);
        assert!(!Reachability::default().is_resuming(start) && resuming(4) && !resuming(5));
        assert!(away.is_resuming(start + 9 * second), "another request may succeed before the probe");
        let missed = back.missed(start + 30 * second);
        assert_eq!((missed.away_since, missed.ended), (None, 2));
        assert_eq!(
            [Reachability::default(), away, back, missed].map(|reachability| reachability.begun()),
            [0, 1, 1, 2]
        );
        assert!(missed.is_resuming(start + 34 * second) && !missed.is_resuming(start + 35 * second));
        assert_eq!(away.missed(start + 30 * second), away, "a probe decides when that one has ended");
    }

    #[test]
    fn failures_without_an_outage_cost_an_occasional_probe() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        assert!(Reachability::default().is_suspicious(start));
        let fine = Reachability::default().probed(true, start);
        assert_eq!((fine.away_since, fine.ended), (None, 0));
        assert!(!fine.is_suspicious(start + 9 * second) && fine.is_suspicious(start + 10 * second));
    }

    #[test]
    fn responses_of_proxies_do_not_count() {
        assert!([200, 401, 403, 404, 429].into_iter().all(is_answer));
        assert!([500, 502, 503, 504].into_iter().all(|code| !is_answer(code)));
        assert!(is_suspect(503) && !is_suspect(500) && !is_suspect(429));
    }
}
