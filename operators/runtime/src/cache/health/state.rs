//! State of one watch, and what it lets be said.

use std::time::{Duration, Instant};

use crate::cache::watch_health::Why;

/// How long a watch that had worked may fail before decisions are no longer made from what it saw.
pub(super) const GRACE: Duration = Duration::from_secs(30);

/// State of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The first list is under way.
    Starting,
    /// It has listed, and watches.
    Synced,
    /// The kind is not served, as it may be.
    NotServed,
    /// It cannot list or watch.
    Failing {
        /// Why.
        why: Why,
        /// When it began; `None` if it never listed, so that nothing at all is known.
        since: Option<Instant>,
    },
}

impl State {
    /// Why nothing may be decided by what the watch has seen, if that is so: nothing at all, or nothing for a while.
    pub(super) fn blind(&self) -> Option<&Why> {
        match self {
            Self::Failing { why, since } if since.is_none_or(|since| since.elapsed() > GRACE) => Some(why),
            _ => None,
        }
    }

    /// What may be said of the kind's objects by it.
    pub(super) fn known(&self) -> Known {
        match self {
            Self::NotServed => Known::NotServed,
            Self::Starting => Known::Nothing,
            Self::Synced | Self::Failing { .. } if self.blind().is_none() => Known::Seen,
            Self::Synced | Self::Failing { .. } => Known::Nothing,
        }
    }
}

/// What may be said of the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// That there can be none.
    NotServed,
    /// Nothing.
    Nothing,
    /// What is seen of them, be it of a moment ago.
    Seen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_failed_for_a_while_is_known_no_more() {
        let why = || Why::Fault("away".to_owned());
        let failing = |since: Option<Instant>| State::Failing { why: why(), since }.known();
        let long_ago = Instant::now().checked_sub(GRACE + Duration::from_secs(1));
        assert!(long_ago.is_some(), "the machine has been up for longer");
        assert_eq!([failing(Some(Instant::now())), State::Synced.known()], [Known::Seen; 2]);
        assert_eq!([failing(None), failing(long_ago), State::Starting.known()], [Known::Nothing; 3]);
        assert_eq!(State::NotServed.known(), Known::NotServed);
    }
}
