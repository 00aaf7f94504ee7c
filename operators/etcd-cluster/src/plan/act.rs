//! Pure: the changes that the operator can make to an etcd cluster, and the plan that includes them. Pure data.

use api::etcd_cluster::{EtcdClusterStatus, IssuedTls};
use runtime::plan::{Key, Plan, ResourceKind};

/// A plan for an EtcdCluster.
pub type EtcdPlan = Plan<EtcdClusterStatus, EtcdAct>;

/// What the operator does for a cluster beside writing objects.
#[derive(Clone, Debug, PartialEq)]
pub enum EtcdAct {
    /// Change etcd, through any of the members at `endpoints`.
    Change {
        /// Addresses of members that have quorum.
        endpoints: Vec<Box<str>>,
        /// The change.
        change: EtcdChange,
    },
    /// Issue the certificates that are due. Keys are in no plan: the Secrets are read for that.
    IssueCertificates {
        /// Which ones the cluster has: what the spec says, as far as it is not refused.
        issued: IssuedTls,
        /// Which authorities the members that run know.
        members: MembersKnow,
    },
}

/// Which authorities the members that run verify others by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersKnow {
    /// None runs.
    None,
    /// All have started with those of this fingerprint.
    Same(String),
    /// They differ, or may.
    Different,
}

impl MembersKnow {
    /// Whether none knows others than those of that fingerprint.
    #[must_use]
    pub fn all_know(&self, authorities: &str) -> bool {
        match self {
            Self::None => true,
            Self::Same(known) => known == authorities,
            Self::Different => false,
        }
    }
}

/// A change of membership, leadership or data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtcdChange {
    /// Add a member that is about to start.
    Add {
        /// Where other members will reach it.
        peer_url: String,
        /// Whether it joins as a learner, which does not vote until it has caught up.
        learner: bool,
    },
    /// Promote a learner to a voter.
    Promote {
        /// The learner.
        id: u64,
    },
    /// Remove a member.
    Remove {
        /// The member.
        id: u64,
        /// Objects that must not exist, which a live read confirms first: the plan relies on their absence.
        absent: Vec<(ResourceKind, Key)>,
        /// Pods of other voters that must exist and not be terminating, which a live read confirms first: the plan relies on
        /// them.
        staying: Vec<Key>,
    },
    /// Write a key, and delete it. `endpoints` must have the address of the member concerned alone.
    ///
    /// Up to 3.4 a member records how much of its log its database holds only when keys are written. A member that then starts as
    /// 3.5.26 or later, on a log with membership changes that its database does not have, takes the members that later entries of
    /// the log add for removed ones while it reads on. 3.5 recovers from that, and 3.6 then rejects them
    /// (`CleanupZombieMembersIfNeeded` in etcd's `server/etcdserver`, seen with 3.5.35).
    Touch,
    /// Append entries to the log that change nothing. `endpoints` must have the address of the member concerned alone.
    ///
    /// etcd 3.7 reads every log entry after its last snapshot as one of API v3, and panics on the others that 3.5 and earlier
    /// wrote (seen with a cluster that was created as 3.5.35, upgraded to 3.6.16, then to 3.7.3). A member takes a snapshot after
    /// `--snapshot-count` entries, and no other request of a client makes it do so.
    Fill {
        /// How many.
        entries: u64,
    },
    /// Remove all revisions of keys before this one, except the latest of each key.
    Compact {
        /// The revision.
        revision: i64,
    },
    /// Begin to rewrite the database without the space that is not in use. `endpoints` must have the address of the member concerned
    /// alone.
    Defragment {
        /// The latest revision that the member reports.
        revision: i64,
    },
    /// Disarm a NOSPACE alarm.
    Disarm {
        /// The member that raised it.
        id: u64,
    },
    /// Turn authentication on, with the password of `root` that the client has, or off.
    SetAuthentication {
        /// Whether it is on from then on.
        on: bool,
    },
    /// Transfer leadership. `endpoints` must have the address of the leader alone.
    MoveLeader {
        /// The next leader.
        to: u64,
    },
}
