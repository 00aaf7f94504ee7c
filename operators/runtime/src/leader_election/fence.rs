//! Keeps a former leader from writing: a process that was suspended resumes in the middle of its reconciles, and these must not
//! write after the deadline, even before the elector has noticed that it has passed.

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Until when this process may write. Checked before each write, so that only a write that was already sent can be late.
#[derive(Clone, Debug)]
pub struct Fence(watch::Sender<FenceState>);

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
        Self(watch::Sender::new(FenceState::Always))
    }

    /// Whether this process may write now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.borrow().is_open()
    }

    /// Waits until this process may write.
    pub async fn opened(&self) {
        // `self` holds the sender, so this does not end early.
        drop(self.0.subscribe().wait_for(|until| until.is_open()).await);
    }

    /// Waits until this process may no longer write.
    pub async fn closed(&self) {
        let mut until = self.0.subscribe();
        loop {
            let now = *until.borrow_and_update();
            match now {
                _ if !now.is_open() => return,
                FenceState::Until(deadline) => {
                    tokio::select! { biased; _ = until.changed() => {}, () = sleep_until(deadline) => {} }
                }
                _ => drop(until.changed().await),
            }
        }
    }

    pub(super) fn new_closed() -> Self {
        Self(watch::Sender::new(FenceState::Closed))
    }

    pub(super) fn keep_until(&self, deadline: Instant) {
        self.0.send_replace(FenceState::Until(deadline));
    }

    pub(super) fn close(&self) {
        self.0.send_replace(FenceState::Closed);
    }
}
