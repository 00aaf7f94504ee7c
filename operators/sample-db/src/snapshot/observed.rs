//! Pure: what was observed of a snapshot.

use std::sync::Arc;

use api::sample_db_snapshot::SnapshotPhase;
use jiff::Timestamp;
use runtime::job::{self, JobProgress};
use runtime::projections::{Job, Pod, PodDiagnosis};

use crate::operand::kinds::{SampleDB, Snapshot};
use runtime::job::outcome::AgentOutcome;

/// The state of the PVC of a snapshot's volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// It was not read, because nothing depends on it now, or could not be read.
    Unknown,
    /// There is no PVC of that name.
    Absent,
    /// It exists.
    Claim {
        /// Its UID.
        uid: Box<str>,
        /// Whether it is terminating: no new pod can use it.
        terminating: bool,
        /// Whether its volume is lost.
        lost: bool,
        /// Whether it has the operator's labels, so that a store holds it.
        watched: bool,
        /// Its capacity in bytes, known only if a store holds it.
        capacity: Option<i64>,
    },
}

impl Volume {
    /// Whether files can be written to it or removed from it, as far as is known.
    #[must_use]
    pub fn stays(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Absent => false,
            Self::Claim { terminating, .. } => !terminating,
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

    /// The UID of the PVC, if it can be used.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Claim { uid, terminating: false, lost: false, .. } => Some(uid),
            _ => None,
        }
    }
}

/// Whether the files of a snapshot may be removed: it is being deleted, or `retainUntil` has passed.
#[must_use]
pub fn may_remove_files(snapshot: &Snapshot, now: Timestamp) -> bool {
    snapshot.meta.deleting || snapshot.spec.retain_until.is_some_and(|until| until < now)
}

/// Whether a new database is being restored from a snapshot: its pod or its Job reads the files, or is about to. Nothing is
/// restored from files that verification found damaged. A database that is being deleted counts as long as it is protected, since
/// its Job continues.
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
    /// The database with the name that the spec gives, if it exists.
    pub db: Option<Arc<SampleDB>>,
    /// The pod of that database's server, if it exists.
    pub server: Option<Arc<Pod>>,
    /// All snapshots of databases of that name, including this one.
    pub siblings: Vec<Arc<Snapshot>>,
    /// The SampleDBs that are being restored from it; only read if [`may_remove_files`].
    pub restoring: Vec<Box<str>>,
    /// The PVC of the volume with its files.
    pub volume: Volume,
    /// Its Jobs, by name.
    pub jobs: Vec<Arc<Job>>,
    /// The pods of these Jobs.
    pub pods: Vec<Arc<Pod>>,
    /// Whether the namespace is terminating; read only while the object is.
    pub namespace_terminating: bool,
    /// Whether the namespace assigns the users that pods run as.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

impl Observed {
    /// The database that it was taken of: a later one of the same name is another.
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

    /// The progress of a Job.
    pub(crate) fn progress(&self, name: &str) -> JobProgress<'_> {
        JobProgress::of(&self.jobs, &self.pods, name)
    }

    /// The outcome of a Job's last pod.
    #[must_use]
    pub fn outcome(&self, name: &str) -> Option<AgentOutcome> {
        job::last_end(&self.pods, name).map(AgentOutcome::of)
    }

    /// Why one of its pods makes no progress.
    #[must_use]
    pub fn diagnosis(&self) -> Option<&PodDiagnosis> {
        self.pods.iter().find_map(|pod| pod.diagnosis.as_ref())
    }
}
