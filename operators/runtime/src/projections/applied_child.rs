//! Pure: children that are applied and have exclusive places.

use crate::apply::drift::Additions;
use crate::cache::Projection;
use crate::plan::{Apply, ChildState};

/// A child that is applied and has exclusive places.
pub trait AppliedChild: Projection {
    /// Additions of others in these places.
    fn additions(&self) -> &Additions;
}

impl<V: AppliedChild> ChildState<V> {
    /// The apply that makes the child as desired; `None` if it is, and has no additions to remove.
    #[must_use]
    pub fn apply_if_drifted(&self, desired: Apply) -> Option<Apply> {
        desired.if_drifted(self.owned().map(|child| (child.meta(), child.fingerprint, child.additions())))
    }
}
