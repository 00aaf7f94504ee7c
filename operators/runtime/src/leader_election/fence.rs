//! What keeps a process that led from writing: a process that stood still for a while wakes in the middle of its passes,
//! and those must learn before their next write what the elector has yet to find out.

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Until when this process may write. Asked before each write, so that only a write already on its way can be late.
#[derive(Clone, Debug)]
pub struct Fence(watch::Sender<Until>);

#[derive(Clone, Copy, Debug)]
enum Until {
    /// There is no election.
    Ever,
    /// The renew deadline.
    Then(Instant),
    /// Does not lead.
    Over,
}

impl Until {
    fn is_open(self) -> bool {
        match self {
            Self::Ever => true,
            Self::Then(deadline) => Instant::now() < deadline,
            Self::Over => false,
        }
    }
}

impl Fence {
    /// For a process that leads without asking.
    #[must_use]
    pub fn open() -> Self {
        Self(watch::Sender::new(Until::Ever))
    }

    /// Whether this process may write now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.borrow().is_open()
    }

    /// Waits until this process may write.
    pub async fn opened(&self) {
        // The sender is here, so this does not end early.
        drop(self.0.subscribe().wait_for(|until| until.is_open()).await);
    }

    /// Waits until this process may no longer write.
    pub async fn closed(&self) {
        let mut until = self.0.subscribe();
        loop {
            let now = *until.borrow_and_update();
            match now {
                _ if !now.is_open() => return,
                Until::Then(deadline) => {
                    tokio::select! { () = sleep_until(deadline) => {}, _ = until.changed() => {} }
                }
                _ => drop(until.changed().await),
            }
        }
    }

    pub(super) fn shut() -> Self {
        Self(watch::Sender::new(Until::Over))
    }

    pub(super) fn keep_until(&self, deadline: Instant) {
        self.0.send_replace(Until::Then(deadline));
    }

    pub(super) fn close(&self) {
        self.0.send_replace(Until::Over);
    }
}
