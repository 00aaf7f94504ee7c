//! Reasons of an EtcdBackup's conditions.

use crate::reason::reasons;

reasons! {
    /// Reasons of an EtcdBackup's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason).
    EtcdBackupReason {
        /// The last attempt failed; the operator tries again.
        BackupFailed,
        /// A Job takes and verifies a backup.
        BackupRunning,
        /// The newest backup is complete, and was restored for its verification.
        BackupVerified,
        /// The EtcdCluster does not exist.
        ClusterMissing,
        /// The EtcdCluster has no ready member, so no backup can begin.
        ClusterNotReady,
        /// The EtcdCluster does not decode.
        ClusterUnreadable,
        /// `spec.schedule` or `spec.timeZone` is wrong.
        InvalidSchedule,
        /// The first backup by schedule or interval is not due yet.
        WaitingForSchedule,
        /// The pod of the Job does not start.
        PodInTrouble,
        /// `spec.suspend` is set, and there is no backup yet.
        Suspended,
    }
}
