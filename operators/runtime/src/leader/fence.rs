//! What keeps a process that led from writing: a process that stood still for a while wakes in the middle of its passes,
//! and those must learn before their next write what the elector has yet to find out.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Until when this process may write. Asked before each write, so that only a write already on its way can be late.
#[derive(Clone, Debug)]
pub struct Fence(Arc<Mutex<Until>>);

#[derive(Clone, Copy, Debug)]
enum Until {
    /// There is no election.
    Ever,
    /// The renew deadline.
    Then(Instant),
    /// Does not lead.
    Over,
}

impl Fence {
    /// For a process that leads without asking.
    #[must_use]
    pub fn open() -> Self {
        Self::of(Until::Ever)
    }

    /// Whether this process may write now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Until::Ever => true,
            Until::Then(deadline) => Instant::now() < deadline,
            Until::Over => false,
        }
    }

    pub(super) fn closed() -> Self {
        Self::of(Until::Over)
    }

    pub(super) fn keep_until(&self, deadline: Instant) {
        self.set(Until::Then(deadline));
    }

    pub(super) fn close(&self) {
        self.set(Until::Over);
    }

    fn of(until: Until) -> Self {
        Self(Arc::new(Mutex::new(until)))
    }

    fn set(&self, until: Until) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}
