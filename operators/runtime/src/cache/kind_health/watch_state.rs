//! The state of one watch, and what is visible through it.

use std::time::Duration;

use tokio::time::Instant;

use crate::cache::watch_health::WatchFailure;

/// How long a watch that has listed may fail until its objects are too stale for decisions.
pub(super) const STALE_AFTER: Duration = Duration::from_secs(30);

/// The state of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchState {
    /// The first list is under way.
    Starting,
    /// It has listed, and watches.
    Synced,
    /// The API server does not serve the kind, which is optional.
    NotServed,
    /// It cannot list or watch.
    Failing {
        /// Why.
        why: WatchFailure,
        /// Since when; `None` if it never listed, so that nothing is known.
        since: Option<Instant>,
    },
}

impl WatchState {
    /// Why the objects of the watch are too stale for decisions, if they are: it never listed, or fails for too long.
    pub(super) fn stale(&self) -> Option<&WatchFailure> {
        match self {
            Self::Failing { why, since } if since.is_none_or(|since| since.elapsed() > STALE_AFTER) => Some(why),
            _ => None,
        }
    }

    /// The visibility of the kind's objects through it.
    pub(super) fn visibility(&self) -> KindVisibility {
        match self {
            Self::NotServed => KindVisibility::NotServed,
            Self::Starting => KindVisibility::Unknown,
            Self::Synced | Self::Failing { .. } if self.stale().is_none() => KindVisibility::Known,
            Self::Synced | Self::Failing { .. } => KindVisibility::Unknown,
        }
    }
}

/// The visibility of the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindVisibility {
    /// There can be no objects.
    NotServed,
    /// Nothing is known.
    Unknown,
    /// The objects are known, possibly as of a moment ago.
    Known,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_watch_that_keeps_failing_are_unknown() {
        let why = || WatchFailure::Fault("away".to_owned());
        let failing = |since: Option<Instant>| WatchState::Failing { why: why(), since }.visibility();
        let long_ago = Instant::now().checked_sub(STALE_AFTER + Duration::from_secs(1));
        assert!(long_ago.is_some(), "the machine has been up for longer");
        assert_eq!([failing(Some(Instant::now())), WatchState::Synced.visibility()], [KindVisibility::Known; 2]);
        assert_eq!([failing(None), failing(long_ago), WatchState::Starting.visibility()], [KindVisibility::Unknown; 3]);
        assert_eq!(WatchState::NotServed.visibility(), KindVisibility::NotServed);
    }
}
