//! Pure: what etcd and its members report. Pure data.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_protocol::VolumeReport;
use api::etcd_cluster::EtcdClusterReason;

/// What etcd reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Etcd {
    /// The status of each pod's etcd, or why it is not known, by the pod's name. Only of pods that have an address.
    pub endpoints: BTreeMap<Arc<str>, Result<EndpointStatus, String>>,
    /// The member list of a member that has just answered a linearizable read: so there is quorum, and the list is current. Or
    /// why there is no such list.
    pub members: Result<Vec<ListedMember>, String>,
    /// Alarms that are on, by member id.
    pub alarms: Vec<(u64, Alarm)>,
    /// Whether there is no list because etcd's authentication is on.
    pub auth_required: bool,
    /// Whether etcd requires a user, as far as that is known.
    pub authentication: Authentication,
    /// Whether there is no list because a member lists itself alone, which is not trusted.
    pub list_distrusted: bool,
    /// Whether etcd has removed all revisions of keys but the latest ones. Only known while NOSPACE is raised.
    pub is_compacted: bool,
    /// Defragmentations of this manager, by the pod's name.
    pub defragmentations: BTreeMap<Arc<str>, Defragmentation>,
}

impl Default for Etcd {
    fn default() -> Self {
        Self {
            endpoints: BTreeMap::new(),
            members: Err("no member has been queried".to_owned()),
            alarms: Vec::new(),
            auth_required: false,
            authentication: Authentication::Unknown,
            list_distrusted: false,
            is_compacted: false,
            defragmentations: BTreeMap::new(),
        }
    }
}

/// Whether etcd requires a user, and takes the operator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// No member has answered a read, or they require a user even for their status and the operator has none.
    #[default]
    Unknown,
    /// Any client may read.
    Off,
    /// A user is required, and the operator is one, or has no password.
    On,
    /// A user is required, and etcd rejects the password that the operator has; with the error.
    RootRejected(String),
}

/// What is known of a defragmentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defragmentation {
    /// It runs: the member may answer nothing.
    Running,
    /// It failed within the last hour.
    Failed {
        /// Why.
        why: String,
        /// Whether that was less than a minute ago.
        recently: bool,
    },
    /// It ended within the last hour.
    Done {
        /// The latest revision of the member when it began.
        revision: i64,
        /// Whether it ended less than a minute ago.
        recently: bool,
    },
}

/// The status that a member reports of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointStatus {
    /// The cluster that it belongs to.
    pub cluster_id: u64,
    /// Itself.
    pub member_id: u64,
    /// The version that it runs, such as `3.6.16`.
    pub version: String,
    /// The leader that it knows; 0 if none.
    pub leader: u64,
    /// Whether it is a learner, which does not vote.
    pub learner: bool,
    /// The size of its database in bytes.
    pub db_size: i64,
    /// How much of that is in use, in bytes; 0 if the version does not report it (before 3.4).
    pub in_use: i64,
    /// The latest revision of its keys.
    pub revision: i64,
    /// The index of the last entry that it knows to be committed.
    pub raft_index: u64,
    /// The index of the last entry that it has applied; 0 if the version does not report it (before 3.4).
    pub applied_index: u64,
    /// Its quota, in bytes; 0 if the version does not report it (before 3.6).
    pub quota: i64,
    /// Whether it has rejected a transfer of leadership as not implemented.
    pub refuses_transfer: bool,
    /// The usage of its volume, as its agent recently reported it, if it did.
    pub volume: Option<VolumeReport>,
}

/// A member in etcd's member list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedMember {
    /// Its id.
    pub id: u64,
    /// Its name; empty until it has started for the first time.
    pub name: String,
    /// The URLs at which other members reach it.
    pub peer_urls: Vec<String>,
    /// Whether it is a learner, which does not vote.
    pub learner: bool,
}

/// An alarm of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The database has reached its quota, so etcd rejects writes.
    NoSpace,
    /// The member's data differs from that of its peers.
    Corrupt,
}

impl Alarm {
    /// Its name in etcd.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoSpace => "NOSPACE",
            Self::Corrupt => "CORRUPT",
        }
    }

    /// The reason of conditions about it.
    #[must_use]
    pub fn reason(self) -> EtcdClusterReason {
        match self {
            Self::NoSpace => EtcdClusterReason::NoSpace,
            Self::Corrupt => EtcdClusterReason::DataCorrupt,
        }
    }
}
