//! Pure: children that are applied, and of which some places are ours alone.

use crate::apply::drift::Additions;
use crate::cache::Projection;
use crate::plan::{Apply, ChildState};

/// A child that is applied, and of which some places are ours alone.
pub trait Kept: Projection {
    /// What others have added there.
    fn additions(&self) -> &Additions;
}

impl<V: Kept> ChildState<V> {
    /// What makes the child as wanted; nothing if it is so, and others have added nothing that is to go.
    #[must_use]
    pub fn kept(&self, wanted: Apply) -> Option<Apply> {
        wanted.over(self.owned().map(|child| (child.meta(), child.fingerprint, child.additions())))
    }
}
