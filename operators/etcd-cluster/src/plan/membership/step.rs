//! Pure: one step of the membership. Pure data.

use std::sync::Arc;

use api::Reason;

use crate::plan::objects::InitialState;
use crate::plan::restore::RestoreStep;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtcdStep {
    /// Do nothing: the members are as desired.
    Rest,
    /// Wait until something changes.
    Wait(Wait),
    /// Wait for a user or administrator: the reason and message of the condition.
    Stuck(Reason, String),
    /// Adopt PVCs of an earlier object of this name.
    Adopt {
        /// Their names.
        names: Vec<String>,
    },
    /// Create a member's pod, and its PVC if it has none.
    Start {
        /// The member.
        name: Arc<str>,
        /// How its etcd starts.
        state: InitialState,
    },
    /// Add a member whose pod waits for that.
    Add {
        /// The member.
        name: String,
        /// Whether it joins as a learner.
        learner: bool,
    },
    /// Append a log entry that changes nothing, so that a learner proceeds.
    Nudge {
        /// The learner.
        name: String,
    },
    /// Promote a learner.
    Promote {
        /// The learner.
        name: String,
        /// Its id.
        id: u64,
    },
    /// Mark a member's pod and PVC for removal, and remove the member.
    Remove {
        /// The member.
        name: String,
        /// Its id.
        id: u64,
        /// Why it is replaced, unless it is removed for a smaller size.
        replaced_because: Option<String>,
        /// Whether its PVC is retained, whatever the policy says.
        keeps_claim: bool,
    },
    /// Delete a pod.
    DeletePod {
        /// Its name.
        name: String,
    },
    /// Delete the pod of a member that returns on its volume with the desired configuration, which its PVC records first.
    RecreatePod {
        /// The member.
        name: String,
    },
    /// Record that the cluster continues with one member, and without others, because quorum is lost for good.
    BeginRecovery {
        /// That member.
        from: String,
        /// The other voters.
        without: Vec<String>,
    },
    /// Stop a member, and mark its PVC, before another one continues alone.
    Fence {
        /// The member.
        name: String,
        /// The one that goes on.
        from: String,
    },
    /// Create an EtcdRestore, because the volumes of all members are lost.
    RequestRestore {
        /// The EtcdBackup.
        backup: String,
        /// Which of its backups.
        entry: String,
    },
    /// Record that the recovery ends without a change.
    CancelRecovery,
    /// Delete the pods of all members, which hibernate.
    Stop,
    /// Do nothing: all members are stopped, as the spec asks.
    Hibernate,
    /// A step of a restore from a snapshot.
    Restore(RestoreStep),
    /// Delete or retire the PVC of a removed member.
    RemoveClaim {
        /// Its name.
        name: String,
    },
    /// Transfer leadership.
    MoveLeader {
        /// The next leader.
        to: String,
        /// Whether the reason is a user's request.
        requested: bool,
    },
    /// Append log entries until all members have taken a snapshot, before the first one leaves 3.6.
    Fill {
        /// The member to write through.
        name: String,
        /// How many now.
        entries: u64,
        /// How many are left after that.
        left: u64,
    },
    /// Compact the history of keys, because a database has reached its quota.
    Compact {
        /// Up to this revision.
        revision: i64,
    },
    /// Begin to defragment the database of a member.
    Defragment {
        /// The member.
        name: String,
        /// The latest revision.
        revision: i64,
    },
    /// Turn the authentication of etcd on or off.
    SetAuthentication {
        /// Whether it is on from then on.
        on: bool,
    },
    /// Disarm the NOSPACE alarms: etcd rejects writes until the last one is disarmed.
    Disarm {
        /// The members that raised them.
        ids: Vec<u64>,
    },
    /// Check whether the desired image can be pulled, before the first member gets it.
    CheckImage {
        /// The member on whose node.
        member: String,
    },
    /// Delete the pod of that check.
    DeleteImageCheck {
        /// Whether it had no result, so that the check is repeated.
        retry: bool,
    },
    /// Check whether a pod of the current spec starts, before a member gives up its own for one.
    CheckPlacement {
        /// The member.
        member: String,
        /// Whether the trial pod requests all resources that the member's does, and not only what the present pod lacks.
        full: bool,
    },
    /// Delete the pods of that check.
    DeletePlacementChecks,
    /// Set the desired image in a member's pod.
    Upgrade {
        /// The member.
        name: String,
    },
}

/// What the step waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The reason of the condition.
    pub reason: Reason,
    /// The message of the condition.
    pub message: String,
    /// Whether etcd has to be polled, since no watch reports the change.
    pub polls: bool,
}

impl EtcdStep {
    pub(in crate::plan) fn stuck(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Stuck(reason.into(), message.into())
    }

    pub(in crate::plan) fn wait(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Wait(Wait { reason: reason.into(), message: message.into(), polls: false })
    }

    pub(in crate::plan) fn poll(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Wait(Wait { reason: reason.into(), message: message.into(), polls: true })
    }
}
