//! Reasons of an EtcdRestore's conditions.

use crate::reason::reasons;

reasons! {
    /// Reasons of an EtcdRestore's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason).
    EtcdRestoreReason {
        /// The EtcdBackup, or the backup that the spec refers to, does not exist.
        BackupMissing,
        /// The EtcdBackup does not decode.
        BackupUnreadable,
        /// The EtcdCluster does not exist, or is being deleted.
        ClusterMissing,
        /// The spec pauses the EtcdCluster.
        ClusterPaused,
        /// The EtcdCluster does not decode.
        ClusterUnreadable,
        /// The cluster exists, and `spec.replaceClusterID` does not name it.
        ConsentRequired,
        /// Members keep their data in their pods, which a restore would delete.
        DataInPods,
        /// Another EtcdRestore of the same cluster is under way.
        OtherRestore,
        /// The pod of the Job does not start.
        PodInTrouble,
        /// The cluster began again from the snapshot.
        Restored,
        /// The cluster begins again from the snapshot.
        Restoring,
        /// The snapshot could not be verified; the operator tries again.
        VerificationFailed,
        /// A Job restores the snapshot into a throwaway member.
        Verifying,
    }
}
