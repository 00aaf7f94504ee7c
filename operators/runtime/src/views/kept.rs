//! Children that are applied, and of which some places are ours alone.

use crate::cache::View;
use crate::plan::drift::Additions;
use crate::plan::{Apply, Seen};

/// A child that is applied, and of which some places are ours alone.
pub trait Kept: View {
    /// What others have added there.
    fn additions(&self) -> &Additions;
}

impl<V: Kept> Seen<V> {
    /// What makes the child as wanted; nothing if it is so, and others have added nothing that is to go.
    #[must_use]
    pub fn kept(&self, wanted: Apply) -> Option<Apply> {
        wanted.over(self.ours().map(|child| (child.meta(), child.fingerprint, child.additions())))
    }
}
