//! Reasons of a SampleDBSnapshot's conditions and Events.

use crate::reason::reasons;

reasons! {
    /// Reasons of a SampleDBSnapshot's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason).
    SampleDBSnapshotReason {
        /// The backup is complete, and no verification is requested.
        BackupCompleted,
        /// The backup cannot be taken.
        BackupFailed,
        /// A Job takes the backup.
        BackupRunning,
        /// The backup is complete and has passed its verification.
        BackupVerified,
        /// The PVC with the files is terminating.
        ClaimTerminating,
        /// The SampleDB does not serve yet, so the backup cannot begin.
        DatabaseNotReady,
        /// The retention time has passed, and the operator deletes the snapshot.
        Expired,
        /// The directory of the snapshot is not on the volume.
        FilesMissing,
        /// The snapshot cannot be downloaded from the object store.
        ImportFailed,
        /// The snapshot was downloaded from an object store.
        Imported,
        /// A Job downloads the snapshot from an object store.
        Importing,
        /// `spec.reason` is `Final`, but the SampleDB is not being deleted.
        NotDeleting,
        /// The pod of the Job does not start.
        PodInTrouble,
        /// A Job removes the files of the snapshot.
        RemovingFiles,
        /// The SampleDB is being deleted, so no backup begins.
        SampleDBDeleting,
        /// The SampleDB does not exist, or is not the one that the snapshot refers to.
        SampleDBMissing,
        /// The SampleDB does not decode.
        SampleDBUnreadable,
        /// The snapshot is being deleted, but a SampleDB is still being restored from it.
        SnapshotInUse,
        /// The operator restores the status from the record on the snapshot.
        StatusRestored,
        /// The verification failed, or could not be carried out.
        VerificationFailed,
        /// A Job verifies the backup.
        VerificationRunning,
        /// The PVC with the files has lost its PersistentVolume.
        VolumeLost,
        /// The PVC with the files does not exist.
        VolumeMissing,
    }
}

reasons! {
    /// Reasons of a SampleDBSnapshot's Events that are no reason of a condition.
    SampleDBSnapshotEvent {
        /// The backup has begun.
        BackupStarted,
        /// The snapshot is deleted, and its files stay on the volume.
        FilesKept,
        /// The snapshot is deleted, and its files could not be removed.
        FilesLeft,
        /// The snapshot is deleted, and its files are removed.
        FilesRemoved,
        /// The object store has a copy of the snapshot, with the right checksums.
        Uploaded,
        /// The snapshot cannot be uploaded to the object store.
        UploadFailed,
    }
}
