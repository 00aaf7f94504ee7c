//! Reasons of a SampleDB's conditions and Events.

use crate::reason::reasons;

reasons! {
    /// Reasons of a SampleDB's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason).
    SampleDBReason {
        /// The SampleDB has data, so the operator does not adopt the volume that the annotation names.
        AlreadyHasData,
        /// The server runs, but the application cannot log in.
        ApplicationRefused,
        /// The server refuses the password of the superuser's Secret.
        AuthenticationFailed,
        /// The catalog of PostgreSQL images cannot be read.
        CatalogUnreadable,
        /// A PVC with data is terminating.
        ClaimTerminating,
        /// The operator deletes Jobs that have ended.
        CleaningUp,
        /// The database is configured.
        Completed,
        /// The operator cannot connect to the server.
        ConnectionFailed,
        /// The server runs the desired version.
        Current,
        /// The data on the volume is damaged.
        DataCorrupt,
        /// The volume that held the data is deleted, replaced or empty.
        DataMissing,
        /// The SampleDB is being deleted.
        Deleting,
        /// The deletion waits for an administrator.
        DeletionBlocked,
        /// The spec requests an older version than the running one.
        DowngradeRefused,
        /// The final snapshot failed.
        Failed,
        /// The final snapshot failed or cannot be taken.
        FinalSnapshotFailed,
        /// The final snapshot does not cover all data.
        FinalSnapshotIncomplete,
        /// The server or the volume has foreign data.
        ForeignData,
        /// A pod that the operator did not create can receive the database's traffic.
        ForeignPod,
        /// The volume of the data is growing to the requested size.
        Growing,
        /// The SQL of `spec.init` failed.
        InitFailed,
        /// A ConfigMap or a Secret of `spec.init`, or a key in it, does not exist.
        InitSourceMissing,
        /// A ConfigMap or a Secret of `spec.init` cannot be read.
        InitSourceUnreadable,
        /// The operator configures the new database.
        Initializing,
        /// The last snapshot failed.
        LastFailed,
        /// The last snapshot that was due is taken.
        LastSucceeded,
        /// The operator allows applications.
        LettingIn,
        /// A volume has little space or few inodes left.
        NearlyFull,
        /// The manager's system gives no random bytes for a password.
        NoRandomness,
        /// There is no snapshot, or none is verified yet.
        NoneYet,
        /// A snapshot is overdue.
        Overdue,
        /// The server refuses a parameter of `spec.engine.parameters`.
        ParameterRefused,
        /// `spec.paused` is true, so the operator changes nothing.
        Paused,
        /// The cluster would not accept or start the server's new pod, so the current one stays.
        PodRefused,
        /// The volume from before the last upgrade is still kept, so no other upgrade begins.
        PreviousVolumeKept,
        /// `spec.deletion.protection` forbids the deletion.
        Protected,
        /// The operator creates the database's objects.
        Provisioning,
        /// The snapshot cannot be restored.
        RestoreFailed,
        /// A Job restores the snapshot, or the snapshot has yet to be imported.
        Restoring,
        /// The operator returns to the version from before a failed upgrade.
        RollingBack,
        /// The database serves; or, of the final snapshot, a Job takes or verifies it.
        Running,
        /// The backup schedule or its time zone is invalid.
        ScheduleInvalid,
        /// A Secret lacks an entry, or an entry cannot be used.
        SecretMalformed,
        /// The Secret that the spec names does not exist.
        SecretMissing,
        /// The spec names the Secret that the operator keeps for the superuser.
        SecretReserved,
        /// A Secret cannot be read.
        SecretUnreadable,
        /// The server's pod is deleted or not ready, so the operator cannot reach the server.
        ServerAway,
        /// The server does not start.
        ServerFails,
        /// The operator restarts the server.
        ServerRestarting,
        /// The server is ready but does not answer.
        ServerSilent,
        /// The server is starting.
        ServerStarting,
        /// The operator sets the server's parameters.
        SettingParameters,
        /// The operator sets the application's password from the Secret.
        SettingPassword,
        /// The PVC with the snapshots is terminating.
        SnapshotClaimTerminating,
        /// The snapshot to restore does not exist.
        SnapshotMissing,
        /// The snapshot to restore is of a newer version than the one to run.
        SnapshotNewer,
        /// The snapshot to restore is not Ready.
        SnapshotNotReady,
        /// The snapshot to restore holds another application database than the spec names.
        SnapshotOfOtherDatabase,
        /// The snapshot to restore is a physical one of another major version.
        SnapshotPhysical,
        /// The PVC for the snapshots holds the data of a database.
        SnapshotsOnData,
        /// The volumes exist, have the requested size, and are not full.
        Sound,
        /// The status is lost, and no record identifies the existing volume or server.
        StatusLost,
        /// The server rejects the superuser.
        SuperuserShutOut,
        /// A newer version is available, and `spec.upgrade.policy` is `Manual`.
        UpgradeAvailable,
        /// The upgrade failed.
        UpgradeFailed,
        /// The catalog has no path from the running version to the requested one.
        UpgradePathUnknown,
        /// An upgrade to a version of the catalog waits for its turn.
        UpgradeWaits,
        /// An upgrade is under way.
        Upgrading,
        /// A snapshot cannot be uploaded to the object store.
        UploadFailed,
        /// The operator can carry out the spec.
        Valid,
        /// The last snapshot that was verified cannot be restored.
        VerificationFailed,
        /// The snapshot can be restored.
        Verified,
        /// The catalog lacks the requested version, or the tag of the image names no version.
        VersionUnknown,
        /// A volume is full.
        VolumeFull,
        /// A volume of an earlier SampleDB of the same name still exists.
        VolumeLeft,
        /// The PVC of the data has lost its PersistentVolume.
        VolumeLost,
        /// The PVC of the data does not exist.
        VolumeMissing,
        /// The volume to adopt holds another application database than the spec names.
        VolumeOfOtherDatabase,
        /// The volume to adopt does not exist.
        VolumeToAdoptMissing,
        /// The operator completes a Secret with what follows from its password.
        WritingSecret,
        /// The data on the volume is of another major version of PostgreSQL.
        WrongMajor,
    }
}

reasons! {
    /// Reasons of a SampleDB's Events that are no reason of a condition.
    SampleDBEvent {
        /// A snapshot is taken.
        BackupCompleted,
        /// A snapshot failed or is overdue.
        BackupFailed,
        /// A snapshot has begun.
        BackupStarted,
        /// A snapshot has passed its verification.
        BackupVerified,
        /// The SampleDB is deleted without a final snapshot.
        FinalSnapshotSkipped,
        /// The final snapshot is taken.
        FinalSnapshotTaken,
        /// The operator restores the labels of a PVC.
        LabelsRestored,
        /// The operator deletes a snapshot that the retention does not keep.
        SnapshotPruned,
        /// The operator restores the status from the record on a volume.
        StatusRestored,
        /// The upgrade is complete.
        UpgradeCompleted,
        /// The upgrade does not carry over all that the old version has.
        UpgradeLeavesBehind,
        /// An upgrade failed, and the database runs the version from before.
        UpgradeRolledBack,
        /// An upgrade failed, and the operator returns to the version from before.
        UpgradeRollingBack,
        /// An upgrade has begun.
        UpgradeStarted,
    }
}
