//! How full the volumes of members are, as their agents report it. Requests run in the background, so no reconcile waits for a
//! port that a network policy closes, or that pods of earlier managers do not have.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_protocol::VolumeReport;
use tokio::time::Instant;

use super::http;

/// How long a report is used before the next request. The members of an idle cluster are observed a little less often.
const REPORT_TTL: Duration = Duration::from_secs(8);
/// How long after a request without an answer the next one follows.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// How long the report of an address that no reconcile reads is kept.
const UNUSED_TTL: Duration = Duration::from_secs(300);

/// The last reports, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeReports(Arc<Mutex<BTreeMap<Box<str>, LastReport>>>);

#[derive(Clone, Copy, Debug)]
struct LastReport {
    requested: Instant,
    report: Option<VolumeReport>,
}

impl LastReport {
    fn is_due(&self, now: Instant) -> bool {
        now.duration_since(self.requested) >= if self.report.is_some() { REPORT_TTL } else { RETRY_INTERVAL }
    }
}

impl VolumeReports {
    /// The last report of the member at `address`. If it is old, a request for the next one starts.
    pub(super) fn get(&self, address: &str) -> Option<VolumeReport> {
        let (report, is_due) = self.last(address, Instant::now());
        if is_due {
            let (reports, address) = (self.clone(), Box::from(address));
            tokio::spawn(async move {
                let report = http::volume_report(&address).await;
                reports.lock().insert(address, LastReport { requested: Instant::now(), report });
            });
        }
        report
    }

    /// The last report, and whether the next request is due. If so, it counts as started.
    fn last(&self, address: &str, now: Instant) -> (Option<VolumeReport>, bool) {
        let mut all = self.lock();
        all.retain(|_, last| now.duration_since(last.requested) < UNUSED_TTL);
        let last = all.get(address).copied();
        let report = last.and_then(|last| last.report);
        let is_due = last.is_none_or(|last| last.is_due(now));
        if is_due {
            all.insert(address.into(), LastReport { requested: now, report });
        }
        (report, is_due)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, LastReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_requested_seldom_and_missing_ones_more_seldom() {
        let reports = VolumeReports::default();
        let start = Instant::now();
        let last = |seconds: u64| reports.last("10.0.0.1", start + Duration::from_secs(seconds));
        assert_eq!([last(0), last(10), last(59), last(60)], [(None, true), (None, false), (None, false), (None, true)]);
        let report = Some(VolumeReport { free_bytes: 7, ..VolumeReport::default() });
        reports.lock().insert("10.0.0.1".into(), LastReport { requested: start + Duration::from_secs(61), report });
        assert_eq!([last(62), last(70), last(71)], [(report, false), (report, true), (report, false)]);
        assert_eq!(last(500), (None, true), "that is too long ago");
    }

    #[tokio::test]
    async fn no_reconcile_waits_for_a_report() {
        let reports = VolumeReports::default();
        // Nothing answers at this address, not even with a refusal.
        let begun = Instant::now();
        assert_eq!(reports.get("192.0.2.1"), None);
        assert!(begun.elapsed() < Duration::from_millis(500));
    }
}
