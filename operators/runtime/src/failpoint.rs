//! A crash at a chosen boundary, for tests. Not in a release binary: it takes the feature `failpoints`.

use std::fmt::Debug;

/// The environment variable with the boundary: a part of the debug text of the effect after which the process dies.
const FAILPOINT: &str = "FAILPOINT";

/// What to die after, if after `effect`.
pub(crate) struct Failpoint(bool);

impl Failpoint {
    /// Looks whether `effect` is the one.
    pub(crate) fn of(effect: &impl Debug) -> Self {
        let wanted = std::env::var(FAILPOINT).ok().filter(|wanted| !wanted.is_empty());
        Self(wanted.is_some_and(|wanted| format!("{effect:?}").contains(&wanted)))
    }

    /// Dies, if that was the one.
    pub(crate) fn passed(&self) {
        if self.0 {
            tracing::warn!("the failpoint is reached");
            std::process::abort();
        }
    }
}
