//! Pure: what may be done to an etcd cluster, and a plan that does so. Pure data.

use api::etcd_cluster::EtcdClusterStatus;
use runtime::plan::{Key, Kind, Plan};

/// A plan for an EtcdCluster.
pub type EtcdPlan = Plan<EtcdClusterStatus, EtcdAct>;

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
