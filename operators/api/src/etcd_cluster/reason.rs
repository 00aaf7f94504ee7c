//! Reasons of an EtcdCluster's conditions and Events.

use crate::reason::reasons;

reasons! {
    /// Reasons of an EtcdCluster's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason).
    EtcdClusterReason {
        /// The operator takes over the PVCs of an earlier EtcdCluster of this name.
        AdoptingVolumes,
        /// The authentication of etcd is on, and the operator has no user, or not the right password.
        AuthenticationRequired,
        /// PVCs with the labels of this cluster belong to no member.
        ClaimCopied,
        /// PVCs of members are labeled as those of removed members.
        ClaimMarked,
        /// PVCs of members are terminating.
        ClaimTerminating,
        /// The operator cannot read whether a member has a PVC.
        ClaimUnknown,
        /// A certificate expires soon.
        CertificateExpiring,
        /// The cluster serves requests.
        ClusterAvailable,
        /// Members do not all run the target version yet.
        ClusterUpgrading,
        /// The members have not agreed yet on the version that the next minor version requires.
        ClusterVersionBehind,
        /// The first member is being created.
        Creating,
        /// The data of a member differs from that of its peers (alarm CORRUPT).
        DataCorrupt,
        /// The change needs new pods, and members keep their data in their pods.
        DataInPods,
        /// A member's database could not be defragmented.
        DefragmentationFailed,
        /// A member's database is being defragmented.
        Defragmenting,
        /// The deletion waits for members that cannot be replaced.
        DeletionBlocked,
        /// A member is not healthy, or quorum is lost.
        DisasterRecovery,
        /// Members of the cluster that was taken over still belong to it, as the spec asks.
        EarlierMembers,
        /// Members keep their data in their pods, as the spec asks.
        Ephemeral,
        /// A member refuses a change with an error.
        EtcdError,
        /// No member answers a request for a change.
        EtcdUnreachable,
        /// The size is even, which tolerates no more failures than one member less.
        EvenSize,
        /// The spec sets a field that has no effect.
        FieldNotUsed,
        /// The operator fills the log up to a snapshot before members leave 3.6.
        FillingLog,
        /// etcd lists a member that the operator did not add.
        ForeignMember,
        /// Pods that do not belong to this cluster have its labels.
        ForeignPods,
        /// All members are stopped, as the spec asks.
        Hibernated,
        /// The operator stops all members, as the spec asks.
        Hibernating,
        /// An image that members need cannot be used.
        ImageUnavailable,
        /// The spec asks for a version that the operator does not support.
        InvalidVersion,
        /// A learner has not caught up with the leader.
        LearnerNotInSync,
        /// The members leave the cluster that they have joined, before they are deleted.
        LeavingCluster,
        /// A new member is being added, or catches up before it votes.
        MemberJoining,
        /// A member has lost its data, and the others cannot replace it.
        MemberLost,
        /// A member's pod is starting.
        MemberStarting,
        /// A member does not answer.
        MemberUnhealthy,
        /// A member does not yet run its version, or has not caught up.
        MemberUnsettled,
        /// The pods of some members are not ready.
        MembersNotReady,
        /// Members that the kubelet finds ready do not answer the manager.
        MembersUnreachable,
        /// Leadership moves to another member.
        MovingLeader,
        /// There is no default StorageClass, so members keep their data in their pods.
        NoDefaultStorageClass,
        /// The members have not agreed on a leader.
        NoLeader,
        /// A database has reached its quota, so etcd refuses writes (alarm NOSPACE).
        NoSpace,
        /// All members are healthy.
        NothingToRecover,
        /// The spec sets an option that fills volumes.
        OptionRefused,
        /// The spec pauses the cluster.
        Paused,
        /// The API server or the cluster does not accept pods as the spec asks.
        PodRefused,
        /// The operator cannot list the pods that have the labels of this cluster.
        PodsUnknown,
        /// A pod checks whether an image can be pulled.
        PullingImage,
        /// etcd has answered a linearizable read.
        QuorumAnswers,
        /// etcd has not answered a linearizable read for 10 seconds.
        QuorumLost,
        /// etcd does not answer a linearizable read at the moment.
        QuorumUnconfirmed,
        /// The quota is larger than what the volumes have room for.
        QuotaTooLarge,
        /// Work is under way.
        Reconciling,
        /// Quorum is lost, and the cluster continues with one member.
        Recovering,
        /// A member, or what is left of one, is being removed.
        RemovingMember,
        /// A member that cannot come back is being replaced.
        ReplacingMember,
        /// The cluster begins again from a snapshot, as an EtcdRestore asks.
        Restoring,
        /// The Secret of `spec.authentication` is missing, or has no usable password.
        RootSecretInvalid,
        /// Members restart as the spec asks.
        RestartingMember,
        /// Members start again after hibernation.
        Resuming,
        /// All members are ready and run the requested version.
        Running,
        /// Members on terminating PVCs are replaced before the cluster is deleted.
        SavingVolumes,
        /// The cluster has more members than the spec asks for.
        ScalingDown,
        /// The cluster has fewer members than the spec asks for.
        ScalingUp,
        /// The cluster has as many members as the spec asks for.
        SizeAsDesired,
        /// The largest database takes most of the space that it can have.
        SpaceLow,
        /// The operator cannot read what a member last ran with.
        SpecUnknown,
        /// The status is lost, and no member has reported yet which cluster this is.
        StatusLost,
        /// It is not known yet whether there is a default StorageClass.
        StorageUndecided,
        /// The spec turns TLS between members on or off, which was decided when the cluster was created.
        TLSChangeRefused,
        /// A Secret of `spec.TLS` is missing, or its certificate cannot be used.
        TLSSecretInvalid,
        /// The spec asks for a version that cannot follow the current one.
        UpgradeRefused,
        /// The cluster that the spec names cannot be taken over.
        TakeoverRefused,
        /// An EtcdBackup takes the last backup before the cluster is deleted.
        TakingLastBackup,
        /// The members join the cluster that the spec names, or its earlier members leave.
        TakingOver,
        /// A member changes to the requested version.
        Upgrading,
        /// All members run the target version.
        VersionAsDesired,
        /// A volume is full, so a member's etcd has ended.
        VolumeFull,
        /// A volume is nearly full.
        VolumeLow,
        /// Each member has a volume of its own.
        Volumes,
        /// PVCs name several clusters, and the status of this one is lost.
        VolumesAmbiguous,
        /// PVCs of an earlier cluster, or of another namespace's, are in the way of a new one.
        VolumesFound,
        /// Volumes are larger than the spec asks for.
        VolumesLarger,
        /// The annotation asks for volumes that do not exist.
        VolumesNotFound,
        /// PVCs are released a few seconds after the deletion of the cluster.
        WaitingForClaims,
        /// etcd does not take a change of membership yet.
        WaitingForEtcd,
    }
}

reasons! {
    /// Reasons of an EtcdCluster's Events that no condition has. Those about members have blanks, as in the
    /// archived operator.
    EtcdClusterEvent {
        /// etcd no longer requires users, as the spec asks.
        AuthenticationDisabled,
        /// etcd requires users, as the spec asks.
        AuthenticationEnabled,
        /// All databases are defragmented, as the annotation asks.
        Defragmented,
        /// Another member leads, as the annotation asks.
        LeaderMoved,
        /// No other member can lead, though the annotation asks for that.
        LeaderNotMoved,
        /// etcd no longer lists a member.
        MemberRemoved = "Member Removed",
        /// A member runs another version.
        MemberUpgraded = "Member Upgraded",
        /// etcd lists a new member.
        NewMemberAdded = "New Member Added",
        /// Members keep their data in their pods, since there is no default StorageClass.
        NotDurable,
        /// The cluster continues with one member after it has lost quorum.
        Recovered,
        /// A recovery from a lost quorum ended without a change, or was requested while there was quorum.
        RecoveryCanceled,
        /// Quorum is lost, and the operator begins to recover the cluster from one member, or from a backup.
        RecoveryStarted,
        /// The operator replaces a member that cannot come back.
        ReplacingDeadMember = "Replacing Dead Member",
        /// A restore ended before the cluster began again, which returned to its earlier volumes.
        RestoreCanceled,
        /// The operator stops all members, because the cluster begins again from a snapshot.
        RestoreStarted,
        /// The cluster began again from a snapshot.
        Restored,
        /// The members of a cluster that hibernated start again.
        Resumed,
        /// The operator has deleted the oldest of many PVCs of removed members.
        RetiredClaimDeleted,
        /// The members join a cluster that runs already.
        TakeoverStarted,
        /// The earlier members of a cluster that was taken over have left.
        TakenOver,
    }
}
