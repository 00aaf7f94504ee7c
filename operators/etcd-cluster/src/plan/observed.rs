//! What was seen. Pure data, unknowns included.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use runtime::namespaces::Termination;
use runtime::plan::{Key, Kind, Seen};
use runtime::views::{Claim, DisruptionBudget, Pod, Running, Service};
use serde::Deserialize;

use super::placement::Beside;
use super::proven::Proven;
use super::unlabeled::claims;
use crate::EtcdCluster;

/// A cluster and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub cluster: Arc<EtcdCluster>,
    /// The headless Service, which gives members their names.
    pub peers: Seen<Service>,
    /// The Service that clients use.
    pub clients: Seen<Service>,
    /// The budget that keeps evictions from breaking quorum.
    pub budget: Seen<DisruptionBudget>,
    /// Its pods, by name.
    pub pods: Vec<Arc<Pod>>,
    /// The pod that finds out whether an image can be pulled.
    pub pull: Option<Arc<Pod>>,
    /// Whether the API server would not take that pod. Only asked before it is made.
    pub pull_refused: bool,
    /// The pods that find out whether one as the spec asks starts.
    pub trials: Vec<Arc<Pod>>,
    /// What is known of the present pod beside which another one is to do so. Only read before that is made.
    pub beside: Option<Beside>,
    /// Its claims, by name.
    pub claims: Vec<Arc<Claim>>,
    /// What its etcd says, asked just now.
    pub etcd: Etcd,
    /// Addresses of pods that cluster DNS tells of. Only read while a pod waits to join.
    pub published: Vec<Box<str>>,
    /// The version that all members have agreed upon. Only asked while they are to run another minor version.
    pub cluster_version: Option<String>,
    /// Members that are being sent a snapshot. Only asked once one has been getting no further for long.
    pub receiving: BTreeSet<u64>,
    /// Members' names that foreign pods have. Only looked at where a member's own pod is missing.
    pub taken: BTreeSet<Box<str>>,
    /// Foreign pods that bear all labels by which the Services find members.
    pub foreign: BTreeSet<Box<str>>,
    /// What was found out about members' claims by reading them by their names.
    pub found: claims::Found,
    /// What members have been seen to run with, by name. Only read of those whose pods are gone and whose claims are not retired.
    pub proven: BTreeMap<Box<str>, Proven>,
    /// Why the API server would not take a pod as the spec asks. Only asked before a member loses its pod for one, or one more gets a
    /// claim.
    pub refused: Option<String>,
    /// Why options of etcd that the spec gives are refused; the cluster here is without them.
    pub options_refused: Option<String>,
    /// A member's name that nobody has had.
    pub fresh_name: Arc<str>,
    /// Whether a claim that names no class would get one, or why that cannot be told. Only asked before storage has been
    /// decided.
    pub default_class: Option<Result<bool, String>>,
    /// Pods that bear the cluster's labels and are not its own. Only looked at before the first member is made; none if
    /// that cannot be told.
    pub strangers: Option<Vec<Stranger>>,
    /// What is being deleted together with the cluster, if anything. Only read once the cluster is being deleted.
    pub termination: Option<Termination>,
    /// Whether the namespace dictates which users pods run as (OpenShift). Only read before pods are made.
    pub dictated_users: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

/// A pod that bears the labels of a cluster that it is not of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Its name.
    pub name: Box<str>,
    /// Whether it goes by itself: it is being deleted, or belonged to an earlier cluster of that name.
    pub leaving: bool,
}

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
            members: Err("no member has been asked".to_owned()),
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
    pub room: Option<Room>,
}

/// What a file system says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Its size, in bytes.
    pub volume_bytes: u64,
    /// What is free of that.
    pub free_bytes: u64,
    /// How many files there can be; 0 where it has no bound.
    pub files: u64,
    /// How many more there can be.
    pub free_files: u64,
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

/// What may be done to an etcd cluster, through any of the members at `via`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdAct {
    /// Addresses of members that have quorum.
    pub via: Vec<Box<str>>,
    /// What to do.
    pub change: Change,
}

/// A change of membership or leadership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// List a member that is about to start.
    Add {
        /// Where other members will reach it.
        peer_url: String,
        /// Whether it shall not vote until it has caught up.
        learner: bool,
    },
    /// Let a learner vote.
    Promote {
        /// The learner.
        id: u64,
    },
    /// Take a member off the list.
    Remove {
        /// The member.
        id: u64,
        /// What, by a live look, must not be there to stay: what is taken for gone must be gone.
        absent: Vec<(Kind, Key)>,
        /// Pods of other voters that, by a live look, must be there to stay: what is counted upon must be there.
        staying: Vec<Key>,
    },
    /// Write a key, and delete it. `via` must be the one member concerned.
    ///
    /// Up to 3.4 a member notes how much of its log its database holds only when keys are written. One that starts as
    /// 3.5.26 or later, on a log with changes of membership that its database has not noted, takes the members that the
    /// log tells of later for removed ones while it reads on; 3.5 gets over that, and 3.6 then refuses them
    /// (`CleanupZombieMembersIfNeeded` in etcd's `server/etcdserver`, seen with 3.5.35).
    Touch,
    /// Have the log grow by so many entries that change nothing. `via` must be the one member concerned.
    ///
    /// etcd 3.7 reads every entry of the log behind its last snapshot as one of API v3, and panics on those that 3.5 and
    /// earlier wrote otherwise (seen with a cluster made as 3.5.35, brought to 3.6.16, then to 3.7.3). A member takes a
    /// snapshot once `--snapshot-count` entries have come, and nothing else that is open to clients makes it do so.
    Fill {
        /// How many.
        entries: u64,
    },
    /// Take back an alarm for want of room.
    Disarm {
        /// The member that raised it.
        id: u64,
    },
    /// Hand leadership over. `via` must be the leader alone.
    MoveLeader {
        /// The next leader.
        to: u64,
    },
}

impl Observed {
    /// The pods that are there to stay, with how they fare.
    pub fn staying(&self) -> impl Iterator<Item = (&Pod, &Running)> {
        self.pods.iter().filter(|pod| !pod.meta.deleting).filter_map(|pod| Some((&**pod, pod.running.as_deref()?)))
    }
}
