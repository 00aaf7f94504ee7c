//! Keeps a former leader from writing: a process that was suspended resumes in the middle of its reconciles, and these must not
//! write after the deadline, even before the elector has noticed that it has passed.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use crate::watched_value::WatchedValue;

/// Until when this process may write. Checked before each write, so that only a write that was already sent can be late.
#[derive(Clone, Debug)]
pub struct Fence(Arc<WatchedValue<FenceState>>);

#[derive(Clone, Copy, Debug)]
enum FenceState {
    /// There is no election.
    Always,
    /// This process leads until the renew deadline.
    Until(Instant),
    /// This process does not lead.
    Closed,
}

impl FenceState {
    fn is_open(self) -> bool {
        match self {
            Self::Always => true,
            Self::Until(deadline) => Instant::now() < deadline,
            Self::Closed => false,
        }
    }
}

impl Fence {
    /// A fence for a process without leader election.
    #[must_use]
    pub fn open() -> Self {
        Self::new(FenceState::Always)
    }

    /// Whether this process may write now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.get().is_open()
    }

    /// Waits until this process may write.
    pub async fn opened(&self) {
        self.0.wait_for(|state| state.is_open()).await;
    }

    /// Waits until this process may no longer write.
    pub async fn closed(&self) {
        let mut changes = self.0.changes();
        loop {
            match self.0.get() {
                state if !state.is_open() => return,
                FenceState::Until(deadline) => {
                    tokio::select! { biased; () = changes.next() => {}, () = sleep_until(deadline) => {} }
                }
                _ => changes.next().await,
            }
        }
    }

    pub(super) fn new_closed() -> Self {
        Self::new(FenceState::Closed)
    }

    pub(super) fn keep_until(&self, deadline: Instant) {
        self.0.set(FenceState::Until(deadline));
    }

    pub(super) fn close(&self) {
        self.0.set(FenceState::Closed);
    }

    fn new(state: FenceState) -> Self {
        Self(Arc::new(WatchedValue::new(state)))
    }
}
