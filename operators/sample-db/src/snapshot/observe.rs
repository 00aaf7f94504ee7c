//! Observes a SampleDBSnapshot: reads the stores, then queries the API server for what the stores do not hold.

use std::sync::Arc;

use api::sample_db_snapshot::{SampleDBSnapshotReason, SnapshotReason};
use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use runtime::Error;
use runtime::cache::{Cache, CacheEntry, Projection, Store};
use runtime::controller::WatchBuilder;
use runtime::job::earlier;
use runtime::plan::Owner;
use runtime::projections::{Job, Pod, Pvc};

use super::location;
use super::observed::{self, Observed, Volume};
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::{names, snapshot_state};
use crate::queries::{ApiQueries, get_object};
use crate::stores::decoded;

/// The stores that the operator of SampleDBSnapshot reads.
pub struct SnapshotStores {
    /// The SampleDBSnapshots.
    pub snapshots: Arc<Store<Snapshot>>,
    databases: Arc<Store<SampleDB>>,
    claims: Arc<Store<Pvc>>,
    jobs: Arc<Store<Job>>,
    pods: Arc<Store<Pod>>,
}

impl SnapshotStores {
    /// Takes the stores of `cache`.
    #[must_use]
    pub fn new(cache: &mut Cache) -> Self {
        Self {
            snapshots: cache.store(),
            databases: cache.store(),
            claims: cache.store(),
            jobs: cache.store(),
            pods: cache.store(),
        }
    }

    /// Reconciles a SampleDBSnapshot on each event of its children.
    pub(crate) fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.jobs);
        watches.children(&self.pods);
        // A snapshot owns none of these, but what they lack is absent only after both have been listed.
        watches.children(&self.databases);
        watches.children(&self.claims);
    }

    /// Returns what the stores hold of `snapshot`. Everything that takes a query is unknown in it.
    fn read(&self, snapshot: &Arc<Snapshot>, agent_image: &Arc<str>, now: Timestamp) -> Result<Observed, Error> {
        let key = &snapshot.meta.key;
        let owner = Owner { kind: Snapshot::KIND.qualified().into(), name: key.name.clone() };
        let of = Owner { kind: SampleDB::KIND.qualified().into(), name: snapshot.spec.sample_db.as_str().into() };
        let db = match self.databases.get(&key.sibling(&snapshot.spec.sample_db)) {
            Some(CacheEntry::Object(db)) => Some(db),
            Some(CacheEntry::Undecodable(broken)) => {
                return Err(Error::transient(SampleDBSnapshotReason::SampleDBUnreadable, broken.error.clone()));
            }
            None => None,
        };
        let server = db.as_deref().and_then(|db| self.pods.get(&key.sibling(&names::pod(db))));
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        earlier::remove_jobs_of_others(&snapshot.meta.uid, &mut jobs, &mut pods);
        Ok(Observed {
            server: server.and_then(CacheEntry::into_object),
            siblings: decoded(self.snapshots.owned(&key.namespace, &of)),
            volume: self.volume(snapshot),
            restoring: self.restoring(snapshot, now),
            jobs,
            pods,
            namespace_terminating: false,
            namespace_assigns_uids: false,
            agent_image: agent_image.clone(),
            snapshot: snapshot.clone(),
            db,
        })
    }

    /// The PVC of the volume with its files, if it has the labels of the operator: a store holds no other.
    fn volume(&self, snapshot: &Snapshot) -> Volume {
        let Some(claim) = snapshot.status.location.claim.as_deref() else { return Volume::Absent };
        let Some(CacheEntry::Object(claim)) = self.claims.get(&snapshot.meta.key.sibling(claim)) else {
            return Volume::Unknown;
        };
        Volume::Claim {
            uid: claim.meta.uid.clone(),
            terminating: claim.meta.deleting,
            lost: claim.lost,
            watched: true,
            capacity: location::capacity(&claim),
        }
    }

    /// The SampleDBs that are being restored from it.
    fn restoring(&self, snapshot: &Snapshot, now: Timestamp) -> Vec<Box<str>> {
        if !observed::may_remove_files(snapshot, now) {
            return Vec::new();
        }
        let here = self.databases.keys().into_iter().filter(|key| key.namespace == snapshot.meta.key.namespace);
        let all = decoded(here.filter_map(|key| self.databases.get(&key)).collect());
        let mut names: Vec<Box<str>> = all
            .iter()
            .filter(|db| observed::is_restoring_from(snapshot, db))
            .map(|db| (*db.meta.key.name).into())
            .collect();
        names.sort();
        names
    }
}

/// Observes `snapshot` at that time.
///
/// # Errors
/// If something cannot be read that decides what is done with its files.
pub async fn observe(
    stores: &SnapshotStores,
    api: &impl ApiQueries,
    agent_image: &Arc<str>,
    snapshot: &Arc<Snapshot>,
    now: Timestamp,
) -> Result<Observed, Error> {
    let namespace = &snapshot.meta.key.namespace;
    let mut observed = stores.read(snapshot, agent_image, now)?;
    if observed.volume == Volume::Unknown && volume_matters(snapshot, observed.db.as_deref()) {
        observed.volume = unlabeled_volume(api, snapshot).await?;
    }
    observed.namespace_terminating = snapshot.meta.deleting && api.is_terminating(namespace, Snapshot::KIND).await;
    observed.namespace_assigns_uids = api.assigns_uids(namespace).await?;
    Ok(observed)
}

/// Whether the API server is asked for a PVC that no store holds. It is asked once the files are written, since the Job of a
/// verification would wait until its deadline for a deleted PVC. It is always asked for a final snapshot, whose files must be on
/// the same volume from the backup to the end of the verification, and for a snapshot of a database that is being deleted, which
/// waits for the backup.
fn volume_matters(snapshot: &Snapshot, db: Option<&SampleDB>) -> bool {
    let last = snapshot.spec.reason == SnapshotReason::Final;
    let written = snapshot.status.completed_at.is_some();
    let awaited = db.is_some_and(|db| db.meta.deleting);
    let imported = snapshot.spec.from_store.is_some();
    snapshot.meta.deleting || imported || last || written || awaited || snapshot_state::is_settled(&snapshot.status)
}

/// The PVC of the volume with its files, as the API server returns it: a user's PVC does not have the operator's labels.
async fn unlabeled_volume(api: &impl ApiQueries, snapshot: &Snapshot) -> Result<Volume, Error> {
    let Some(claim) = snapshot.status.location.claim.as_deref() else { return Ok(Volume::Absent) };
    let key = snapshot.meta.key.sibling(claim);
    let found = match get_object::<v1::PersistentVolumeClaim>(api, Pvc::KIND, &key).await {
        Ok(found) => found.map(|found| found.metadata),
        Err(error) if snapshot.meta.deleting => return Err(error),
        Err(error) => {
            tracing::debug!(%error, "the PVC cannot be read");
            return Ok(Volume::Unknown);
        }
    };
    Ok(found.map_or(Volume::Absent, |found| Volume::Claim {
        uid: found.uid.unwrap_or_default().into(),
        terminating: found.deletion_timestamp.is_some(),
        lost: false,
        watched: false,
        capacity: None,
    }))
}
