//! A cluster, as its members know it.

use std::collections::{BTreeMap, BTreeSet};

use etcd_cluster::plan::ListedMember;

/// A cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Cluster {
    /// The URL of all members, which two clusters of one object share.
    pub(super) domain: String,
    /// The committed list of members.
    pub(super) members: Vec<ListedMember>,
    /// The id of the leader; 0 if there is none.
    pub(super) leader: u64,
    /// How many elections there were.
    pub(super) term: u64,
    /// For how many ticks each has been connected.
    pub(super) connected: BTreeMap<u64, u32>,
    /// The last acknowledged index.
    pub(super) acknowledged: u64,
    /// How many entries clients have written.
    pub(super) entries: u64,
    /// The minor version of the cluster.
    pub(super) minor: u64,
    /// The index of the log when a learner was added.
    pub(super) added: BTreeMap<u64, u64>,
    /// The ids of removed members.
    pub(super) removed: BTreeSet<u64>,
    /// After how many ticks the next leader is elected.
    pub(super) election: Option<u64>,
}

impl Cluster {
    /// The voters.
    pub(super) fn voters(&self) -> impl Iterator<Item = &ListedMember> {
        self.members.iter().filter(|member| !member.learner)
    }

    /// The number of voters of a majority.
    pub(super) fn quorum(&self) -> usize {
        self.voters().count() / 2 + 1
    }
}

/// FNV-1a, 64 bits.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
