//! Pure: what was seen of a snapshot. Pure data.

use std::sync::Arc;

use api::sample_db_snapshot::SnapshotPhase;
use jiff::Timestamp;
use runtime::job::{self, Progress};
use runtime::projections::{Job, Pod, PodDiagnosis};

use crate::operand::job_result::Words;
use crate::operand::kinds::{SampleDB, Snapshot};

/// What was seen of the claim of a snapshot's volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// It was not looked at: nothing depends on it now, or it could not be read.
    Unknown,
    /// There is none of that name.
    Absent,
    /// It is there.
    Claim {
        /// Its uid.
        uid: Box<str>,
        /// Whether it is being deleted: no new pod can use it.
        leaving: bool,
        /// Whether its volume is gone.
        lost: bool,
        /// Whether it is one of ours, which no request is needed for.
        watched: bool,
        /// Its capacity in bytes; only known of one of ours.
        capacity: Option<i64>,
    },
}

impl Volume {
    /// Whether files can be written to it, or removed from it, as far as is known.
    #[must_use]
    pub fn stays(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Absent => false,
            Self::Claim { leaving, .. } => !leaving,
        }
    }

    /// Its capacity in bytes, if that is known.
    #[must_use]
    pub fn capacity(&self) -> Option<i64> {
        match self {
            Self::Claim { capacity, .. } => *capacity,
            _ => None,
        }
    }

    /// The uid of the claim, if it can be used.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Claim { uid, leaving: false, lost: false, .. } => Some(uid),
            _ => None,
        }
    }
}

/// Whether the files of a snapshot may be removed: it is being deleted, or `retainUntil` has passed.
#[must_use]
pub fn may_remove_files(snapshot: &Snapshot, now: Timestamp) -> bool {
    snapshot.meta.deleting || snapshot.spec.retain_until.is_some_and(|until| until < now)
}

/// Whether a new database is being restored from a snapshot: its pod or its Job reads the files, or is about to. Nothing is restored from
/// files that verification has found damaged. One that is being deleted counts as long as it is protected: its Job goes on, if there is one.
#[must_use]
pub fn is_restoring_from(snapshot: &Snapshot, db: &SampleDB) -> bool {
    let status = &db.status;
    let chosen = status.restore.snapshot_uid.as_deref() == Some(&*snapshot.meta.uid);
    let ended = status.restore.completed_at.is_some() || status.initialization.completed_at.is_some();
    let damaged = snapshot.status.phase == Some(SnapshotPhase::Failed);
    let stays = !db.meta.deleting || db.spec.deletion.protection;
    chosen && !ended && !damaged && stays && db.meta.key.namespace == snapshot.meta.key.namespace
}

/// A snapshot and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub snapshot: Arc<Snapshot>,
    /// The database of the name that it gives, if there is one.
    pub db: Option<Arc<SampleDB>>,
    /// The pod of that database's server, if it is there.
    pub server: Option<Arc<Pod>>,
    /// All snapshots of databases of that name, itself among them.
    pub siblings: Vec<Arc<Snapshot>>,
    /// The SampleDBs that are being restored from it; only read if [`may_remove_files`].
    pub restoring: Vec<Box<str>>,
    /// The claim of the volume that its files are on.
    pub volume: Volume,
    /// Its Jobs, by name.
    pub jobs: Vec<Arc<Job>>,
    /// The pods of these.
    pub pods: Vec<Arc<Pod>>,
    /// Whether the namespace is being deleted; only looked at while the object is.
    pub namespace_going: bool,
    /// Whether the namespace dictates whom pods run as.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

impl Observed {
    /// The database that it is of: one of the same name that was made later is another.
    #[must_use]
    pub fn source(&self) -> Option<&SampleDB> {
        let latched = self.snapshot.status.sample_db_uid.as_deref();
        let uid = latched.or(self.snapshot.spec.sample_db_uid.as_deref());
        self.db.as_deref().filter(|db| uid.is_none_or(|uid| *uid == *db.meta.uid))
    }

    /// The SampleDB whose spec its Jobs follow: [`Self::source`], or the one that adopted its volumes under another UID. A new snapshot
    /// is taken of [`Self::source`] only.
    #[must_use]
    pub fn adopter_or_source(&self) -> Option<&SampleDB> {
        let latched = self.snapshot.status.sample_db_uid.as_deref();
        let taken_over =
            |db: &&SampleDB| latched.is_some_and(|uid| db.status.storage.adopted_from.iter().any(|of| of == uid));
        self.source().or_else(|| self.db.as_deref().filter(taken_over))
    }

    /// A Job by its name.
    #[must_use]
    pub fn job(&self, name: &str) -> Option<&Job> {
        job::find(&self.jobs, name)
    }

    /// How far a Job has come.
    pub(crate) fn progress(&self, name: &str) -> Progress<'_> {
        Progress::of(&self.jobs, &self.pods, name)
    }

    /// The last words of a Job's pods.
    #[must_use]
    pub fn words(&self, name: &str) -> Option<Words> {
        job::last_end(&self.pods, name).map(Words::of)
    }

    /// What keeps its pods from working.
    #[must_use]
    pub fn trouble(&self) -> Option<&PodDiagnosis> {
        self.pods.iter().find_map(|pod| pod.diagnosis.as_ref())
    }
}
