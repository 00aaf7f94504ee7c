//! Pure: what live reads have found about members' PVCs. Pure data.

use std::collections::BTreeSet;

/// What live reads have found about members' PVCs that the stores do not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimLookups {
    /// Members without a PVC, which the API server has confirmed.
    pub absent: BTreeSet<Box<str>>,
    /// Members whose names foreign PVCs have.
    pub foreign: BTreeSet<Box<str>>,
    /// Members that etcd lists and whose PVCs have the label of retired ones. A user has set it, so the operator does not protect
    /// such a PVC from deletion; but as long as it exists, its member uses it.
    pub marked: BTreeSet<Box<str>>,
}

impl ClaimLookups {
    /// Adds the results of other reads.
    pub fn extend(&mut self, other: Self) {
        self.absent.extend(other.absent);
        self.foreign.extend(other.foreign);
        self.marked.extend(other.marked);
    }
}
