//! The operator of SampleDBSnapshot: takes a backup by a Job, has another Job prove it, and removes its files when it goes.

use std::sync::Arc;

use api::sample_db_snapshot::{SampleDBSnapshotReason, SnapshotReason};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use runtime::cache::{Cache, Entry, Store, View};
use runtime::controller::Watches;
use runtime::namespaces::Namespaces;
use runtime::plan::Owner;
use runtime::views::{Claim, Job, Pod};
use runtime::{Error, Operator};

use crate::plan::{earlier, names};
use crate::{SampleDB, Settings, Snapshot, look};

mod events;
mod jobs;
pub mod observed;
pub mod plan;
mod proof;
pub(crate) mod record;
mod release;
mod size;
mod status;
pub(crate) mod volume;

use observed::{Observed, Volume};

/// The stores that the operator of SampleDBSnapshot reads.
pub struct SnapshotOperator {
    snapshots: Arc<Store<Snapshot>>,
    databases: Arc<Store<SampleDB>>,
    claims: Arc<Store<Claim>>,
    jobs: Arc<Store<Job>>,
    pods: Arc<Store<Pod>>,
    client: Client,
    namespaces: Namespaces,
    settings: Settings,
}

impl SnapshotOperator {
    /// The controller's name.
    pub const NAME: &'static str = "sample-db-snapshot";

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, settings: Settings) -> Self {
        Self {
            snapshots: cache.store(),
            databases: cache.store(),
            claims: cache.store(),
            jobs: cache.store(),
            pods: cache.store(),
            namespaces: Namespaces::new(client.clone()),
            client,
            settings,
        }
    }
}

/// Whether a claim that no store holds is asked for: once the files are written, since the Job of a verification would wait for
/// its deadline if the claim is gone, and always for a final one, whose files must be on one and the same volume from the backup
/// to the end of its verification. So is that of a database that is being deleted, which waits for the backup.
#[must_use]
pub fn volume_matters(snapshot: &Snapshot, db: Option<&SampleDB>) -> bool {
    let last = snapshot.spec.reason == SnapshotReason::Final;
    let written = snapshot.status.completed_at.is_some();
    let awaited = db.is_some_and(|db| db.meta.deleting);
    snapshot.meta.deleting || last || written || awaited || plan::is_settled(&snapshot.status)
}

impl SnapshotOperator {
    /// The claim of the volume that its files are on. One of the user's bears no label of ours, so no store holds it: that is
    /// asked for when it matters.
    async fn volume(&self, snapshot: &Snapshot, db: Option<&SampleDB>) -> Result<Volume, Error> {
        let Some(claim) = snapshot.status.location.claim.as_deref() else { return Ok(Volume::Absent) };
        let key = snapshot.meta.key.sibling(claim);
        if let Some(Entry::Object(claim)) = self.claims.get(&key) {
            let (uid, leaving) = (claim.meta.uid.clone(), claim.meta.deleting);
            let capacity = volume::capacity(&claim);
            return Ok(Volume::Claim { uid, leaving, lost: claim.lost, watched: true, capacity });
        }
        if !volume_matters(snapshot, db) {
            return Ok(Volume::Unknown);
        }
        let api: Api<PartialObjectMeta<PersistentVolumeClaim>> = Api::namespaced(self.client.clone(), &key.namespace);
        let found = match api.get_opt(claim).await {
            Ok(found) => found.map(|found| found.metadata),
            Err(error) if snapshot.meta.deleting => return Err(error.into()),
            Err(error) => {
                tracing::debug!(%error, "the claim cannot be read");
                return Ok(Volume::Unknown);
            }
        };
        Ok(found.map_or(Volume::Absent, |found| Volume::Claim {
            uid: found.uid.unwrap_or_default().into(),
            leaving: found.deletion_timestamp.is_some(),
            lost: false,
            watched: false,
            capacity: None,
        }))
    }

    /// The SampleDBs that are being restored from it.
    fn restoring(&self, snapshot: &Snapshot) -> Vec<Box<str>> {
        if !observed::may_remove_files(snapshot, Timestamp::now()) {
            return Vec::new();
        }
        let here = self.databases.keys().into_iter().filter(|key| key.namespace == snapshot.meta.key.namespace);
        let all = look::decoded(here.filter_map(|key| self.databases.get(&key)).collect());
        let mut names: Vec<Box<str>> = all
            .iter()
            .filter(|db| observed::is_restoring_from(snapshot, db))
            .map(|db| (*db.meta.key.name).into())
            .collect();
        names.sort();
        names
    }
}

impl Operator for SnapshotOperator {
    const NAME: &'static str = Self::NAME;
    type Object = Snapshot;
    type Observed = Observed;
    type Act = std::convert::Infallible;

    fn objects(&self) -> &Arc<Store<Snapshot>> {
        &self.snapshots
    }

    fn watch(&self, watches: &mut Watches) {
        watches.children(&self.jobs);
        watches.children(&self.pods);
        // None of these belongs to a snapshot; but until both have been read, what they lack is not absent.
        watches.children(&self.databases);
        watches.children(&self.claims);
    }

    async fn observe(&self, snapshot: &Arc<Snapshot>) -> Result<Observed, Error> {
        let key = &snapshot.meta.key;
        let owner = Owner { kind: Snapshot::KIND.qualified().into(), name: key.name.clone() };
        let entry = self.databases.get(&key.sibling(&snapshot.spec.sample_db));
        let of = Owner { kind: SampleDB::KIND.qualified().into(), name: snapshot.spec.sample_db.as_str().into() };
        let db = match entry {
            Some(Entry::Object(db)) => Some(db),
            Some(Entry::Broken(broken)) => {
                return Err(Error::transient(SampleDBSnapshotReason::SampleDBUnreadable, broken.error.clone()));
            }
            None => None,
        };
        let server = db.as_deref().and_then(|db| self.pods.get(&key.sibling(&names::pod(db))));
        let mut jobs = look::decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = look::decoded(self.pods.owned(&key.namespace, &owner));
        earlier::leave_out(&snapshot.meta.uid, &mut jobs, &mut pods);
        Ok(Observed {
            server: server.and_then(Entry::into_object),
            siblings: look::decoded(self.snapshots.owned(&key.namespace, &of)),
            volume: self.volume(snapshot, db.as_deref()).await?,
            restoring: self.restoring(snapshot),
            jobs,
            pods,
            namespace_going: snapshot.meta.deleting && self.namespaces.is_going(&key.namespace, Snapshot::KIND).await,
            dictated_users: self.namespaces.dictates_users(&key.namespace).await?,
            agent_image: self.settings.agent_image.clone(),
            snapshot: snapshot.clone(),
            db,
        })
    }

    fn plan(observed: &Observed, now: Timestamp) -> plan::SnapshotPlan {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<Snapshot>, act: std::convert::Infallible) -> Result<(), Error> {
        match act {}
    }
}

#[cfg(test)]
mod tests;
