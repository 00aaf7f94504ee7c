//! A crash after a chosen effect, for tests. Not in a release binary: it needs the feature `failpoints`.

use std::fmt::Debug;

/// The environment variable with a part of the debug text of the effect after which the process aborts.
const FAILPOINT: &str = "FAILPOINT";

/// Whether the process aborts after an effect.
pub(crate) struct Failpoint(bool);

impl Failpoint {
    /// Whether the environment variable selects `effect`.
    pub(crate) fn of(effect: &impl Debug) -> Self {
        let selected = std::env::var(FAILPOINT).ok().filter(|selected| !selected.is_empty());
        Self(selected.is_some_and(|selected| format!("{effect:?}").contains(&selected)))
    }

    /// Aborts the process if the effect is selected.
    pub(crate) fn passed(&self) {
        if self.0 {
            tracing::warn!("the failpoint is reached");
            std::process::abort();
        }
    }
}
