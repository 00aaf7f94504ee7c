//! Pure: what live looks have found out about members' claims. Pure data.

use std::collections::BTreeSet;

/// What was found out about members' claims beyond what watches tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Members' names under which the API server has no claim.
    pub gone: BTreeSet<Box<str>>,
    /// Members' names under which there is a claim that is not the cluster's.
    pub taken: BTreeSet<Box<str>>,
    /// Members whose claims are marked as those of removed members though etcd lists them. A person has done that, so nothing
    /// keeps such a claim from being deleted; but as long as it is there, its member uses it.
    pub marked: BTreeSet<Box<str>>,
}

impl Found {
    /// Adds what another look has found.
    pub fn extend(&mut self, other: Self) {
        self.gone.extend(other.gone);
        self.taken.extend(other.taken);
        self.marked.extend(other.marked);
    }
}
