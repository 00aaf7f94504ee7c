//! Pure: what etcd and its members say. Pure data.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_protocol::VolumeReport;
use api::etcd_cluster::EtcdClusterReason;

/// What etcd says.
#[derive(Clone, Debug, PartialEq)]
pub struct Etcd {
    /// What each pod's etcd answers, by the pod's name; why it does not, otherwise. Only of pods that have an address.
    pub endpoints: BTreeMap<Arc<str>, Result<Endpoint, String>>,
    /// The members, as listed by one that has just answered a linearizable read: so with quorum, and not outdated. Why
    /// there is no such list, otherwise.
    pub members: Result<Vec<Member>, String>,
    /// Alarms that are on, by member id.
    pub alarms: Vec<(u64, Alarm)>,
    /// Whether there is no list because members want to know who asks: etcd's authentication is on.
    pub denied: bool,
    /// Whether there is no list because the one that a member gives is not believed: it lists itself alone.
    pub alone: bool,
}

impl Default for Etcd {
    fn default() -> Self {
        Self {
            endpoints: BTreeMap::new(),
            members: Err("no member has been queried".to_owned()),
            alarms: Vec::new(),
            denied: false,
            alone: false,
        }
    }
}

/// What one member says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The cluster that it belongs to.
    pub cluster_id: u64,
    /// Itself.
    pub member_id: u64,
    /// The version that it runs, such as `3.6.16`.
    pub version: String,
    /// The leader that it knows; 0 for none.
    pub leader: u64,
    /// Whether it does not vote yet.
    pub learner: bool,
    /// The size of its database in bytes.
    pub db_size: i64,
    /// The index of the last entry that it knows to be committed.
    pub raft_index: u64,
    /// The index of the last entry that it has applied; 0 where the version does not tell (before 3.4).
    pub applied_index: u64,
    /// How large its database may grow, in bytes; 0 where the version does not tell (before 3.6).
    pub quota: i64,
    /// Whether it has said that it cannot hand leadership over.
    pub keeps_leading: bool,
    /// How full its volume is, as its agent has told not long ago; none where it does not tell.
    pub room: Option<VolumeReport>,
}

/// A member as the cluster lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: u64,
    /// Its name; empty until it has started for the first time.
    pub name: String,
    /// Where other members reach it.
    pub peer_urls: Vec<String>,
    /// Whether it does not vote yet.
    pub learner: bool,
}

/// What an alarm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The database has reached its quota, so writes are refused.
    NoSpace,
    /// The member's data differs from the others'.
    Corrupt,
}

impl Alarm {
    /// Its name, as etcd has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSpace => "NOSPACE",
            Self::Corrupt => "CORRUPT",
        }
    }

    /// The reason of conditions that tell of it.
    #[must_use]
    pub fn reason(self) -> EtcdClusterReason {
        match self {
            Self::NoSpace => EtcdClusterReason::NoSpace,
            Self::Corrupt => EtcdClusterReason::DataCorrupt,
        }
    }
}
