//! A request that may get no response.

use std::time::Duration;

use tokio::time::Instant;

use crate::outage::Outages;
use crate::outage::decision::is_suspect;

/// A request under way. One that its caller abandons after a while got no response.
pub(super) struct PendingRequest {
    outages: Outages,
    since: Instant,
    ended: bool,
}

/// A request that is abandoned after at least this time counts as one without a response.
const ABANDONED_AFTER: Duration = Duration::from_secs(2);

impl PendingRequest {
    pub(super) fn new(outages: Outages) -> Self {
        Self { outages, since: Instant::now(), ended: false }
    }

    /// Records the end of the request, with that code or without a response.
    pub(super) fn end(mut self, code: Option<u16>) {
        self.ended = true;
        if code.is_none_or(is_suspect) {
            self.outages.suspect();
        }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.ended && self.since.elapsed() >= ABANDONED_AFTER {
            self.outages.suspect();
        }
    }
}
