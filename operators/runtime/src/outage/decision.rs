//! Pure: whether the API server is away.
//!
//! That one request fails proves nothing: its connection may have broken, or a webhook or an aggregated API be away. So a
//! request that gets no answer only raises a suspicion, upon which one probe asks for all.

use std::time::{Duration, Instant};

/// How long no further probe is sent after one that was answered: what fails again and again, and is no outage, costs little.
const TRUSTED: Duration = Duration::from_secs(10);

/// How long after an outage watches may take to begin again.
pub(crate) const RESUMED: Duration = Duration::from_secs(5);

/// What is known of the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reachability {
    /// Since when it is away, if it is.
    pub away_since: Option<Instant>,
    /// When a probe was last answered.
    answered: Option<Instant>,
    /// How many outages are over.
    pub ended: u64,
    /// When the last one ended.
    last: Option<Instant>,
}

impl Reachability {
    /// Whether a request without an answer is reason to probe.
    #[must_use]
    pub fn is_suspicious(&self, now: Instant) -> bool {
        self.away_since.is_none() && self.answered.is_none_or(|answered| now.duration_since(answered) >= TRUSTED)
    }

    /// What is known after a probe.
    #[must_use]
    pub fn probed(self, answered: bool, now: Instant) -> Self {
        match (answered, self.away_since) {
            (false, since) => Self { away_since: since.or(Some(now)), ..self },
            (true, None) => Self { answered: Some(now), ..self },
            (true, Some(_)) => Self { away_since: None, answered: Some(now), ended: self.ended + 1, last: Some(now) },
        }
    }

    /// How many outages have begun.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.ended + u64::from(self.away_since.is_some())
    }

    /// What is known once connections turn out to have been lost in an outage that no probe has seen. One that is under way is
    /// over when a probe says so.
    #[must_use]
    pub fn missed(self, now: Instant) -> Self {
        match self.away_since {
            Some(_) => self,
            None => Self { answered: Some(now), ended: self.ended + 1, last: Some(now), ..self },
        }
    }

    /// Whether the API server is away or has just come back, so that a watch which has yet to begin again proves nothing. Another
    /// request may be answered before the probe is, such as the one that renews the Lease and lets passes begin.
    #[must_use]
    pub fn is_resuming(&self, now: Instant) -> bool {
        self.away_since.is_some() || self.last.is_some_and(|last| now.duration_since(last) < RESUMED)
    }
}

/// Whether an answer with that code is one of the API server's, rather than of what stands before it; a server that starts or
/// has no etcd is away as well.
#[must_use]
pub fn is_answer(code: u16) -> bool {
    code < 500
}

/// Whether such an answer to any request raises a suspicion: a proxy's or load balancer's, that reaches no server.
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
        assert!(away.is_resuming(start + 9 * second), "something else may be answered before the probe is");
        let missed = back.missed(start + 30 * second);
        assert_eq!((missed.away_since, missed.ended), (None, 2));
        assert_eq!([Reachability::default(), away, back, missed].map(|sight| sight.begun()), [0, 1, 1, 2]);
        assert!(missed.is_resuming(start + 34 * second) && !missed.is_resuming(start + 35 * second));
        assert_eq!(away.missed(start + 30 * second), away, "a probe tells when that one is over");
    }

    #[test]
    fn what_fails_while_the_server_answers_is_no_outage_and_costs_a_probe_now_and_then() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        assert!(Reachability::default().is_suspicious(start));
        let fine = Reachability::default().probed(true, start);
        assert_eq!((fine.away_since, fine.ended), (None, 0));
        assert!(!fine.is_suspicious(start + 9 * second) && fine.is_suspicious(start + 10 * second));
    }

    #[test]
    fn an_answer_is_the_servers_own() {
        assert!([200, 401, 403, 404, 429].into_iter().all(is_answer));
        assert!([500, 502, 503, 504].into_iter().all(|code| !is_answer(code)));
        assert!(is_suspect(503) && !is_suspect(500) && !is_suspect(429));
    }
}
