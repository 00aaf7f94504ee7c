//! Looks: reads the stores, and the Secrets by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::sample_db::SampleDBReason;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1 as apps;
use runtime::cache::{Entry, View};
use runtime::plan::{DryRun, Owner, Seen};
use runtime::views::Pod;
use runtime::{Error, pods};

use crate::look::{self, decoded};
use crate::plan::objects::{OWNER_UID, SERVER, SecretOf};
use crate::plan::unlabeled::{self, Found};
use crate::plan::wish::major_of;
use crate::plan::{self, Asked, Contact, InitSources, Observed, Placement, names};
use crate::postgres::Access;
use crate::secrets::Password;
use crate::{SampleDB, SampleDBOperator, Snapshot, sources};

impl SampleDBOperator {
    /// Snapshots that a new database may be filled from.
    fn sources(&self, db: &SampleDB) -> Vec<Arc<Snapshot>> {
        let key = &db.meta.key;
        let from = db.spec.bootstrap.from_snapshot.as_ref().filter(|_| db.status.restore.completed_at.is_none());
        let Some(from) = from else { return Vec::new() };
        let name = db.status.restore.snapshot.as_deref().or(from.name.as_deref());
        match (name, &from.of_sample_db) {
            (Some(name), _) => decoded(self.snapshots.get(&key.sibling(name)).into_iter().collect()),
            (None, Some(of)) => {
                let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: of.as_str().into() };
                decoded(self.snapshots.owned(&key.namespace, &owner))
            }
            (None, None) => Vec::new(),
        }
    }

    /// What can be seen of `db` now.
    ///
    /// # Errors
    /// Transient, if its namespace was never read and cannot be.
    pub async fn look(&self, db: &Arc<SampleDB>) -> Result<Observed, Error> {
        let key = &db.meta.key;
        let dictated_users = self.namespaces.dictates_users(&key.namespace).await?;
        let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: key.name.clone() };
        let sibling = |name: String| key.sibling(&name);
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        plan::earlier::leave_out(&db.meta.uid, &mut jobs, &mut pods);
        let (system, app) = (self.secrets.look(db, SecretOf::System).await, self.secrets.look(db, SecretOf::App).await);
        let mut observed = Observed {
            catalog: self.catalogs.look().await,
            server: self.servers.child(&sibling(names::server(db).to_owned()), &db.meta),
            successor: match plan::successor(db) {
                Some(name) => self.servers.child(&sibling(name), &db.meta),
                None => Seen::Absent,
            },
            servers: decoded(self.servers.owned(&key.namespace, &owner)),
            peers: self.services.child(&sibling(names::peers(db)), &db.meta),
            read_write: self.services.child(&sibling(names::read_write(db)), &db.meta),
            connection: self.configs.child(&sibling(names::connection(db)), &db.meta),
            configuration: self.configs.child(&sibling(names::configuration(db)), &db.meta),
            claims: decoded(self.claims.owned(&key.namespace, &owner)),
            pods,
            taken: BTreeSet::new(),
            saving: Vec::new(),
            jobs,
            snapshots: decoded(self.snapshots.owned(&key.namespace, &owner)),
            sources: self.sources(db),
            system: system.seen,
            app: app.seen,
            system_remade: system.remade,
            init_sources: InitSources::Digest(String::new()),
            asked: Asked::Nothing,
            failed: None,
            replacement: DryRun::Accepted,
            placement: Placement::Proven,
            silent_for: None,
            copied: None,
            began: Some(*self.began.get_or_init(Timestamp::now)),
            external: look::external(&self.client, db).await,
            existing_claim: None,
            snapshots_on_data: self.snapshots_on_data(db),
            namespace_going: db.meta.deleting && self.namespaces.is_going(&key.namespace, Snapshot::KIND).await,
            dictated_users,
            agent_image: self.settings.agent_image.clone(),
            db: db.clone(),
        };
        self.named_claims.look(&mut observed).await?;
        self.server_pods.look(&mut observed).await?;
        if db.meta.deleting {
            let claim = plan::final_claim(&observed);
            if observed.claim(&claim).is_none() && claim != names::own_snapshot_claim(db) {
                observed.existing_claim = self.named_claims.read(&key.sibling(&claim)).await?;
            }
            if let Some(set) = unlabeled::unseen_set(&observed) {
                observed.servers.extend(look::live::<apps::StatefulSet, _>(&self.client, &set).await?);
            }
            let last = Owner { kind: Snapshot::KIND.qualified().into(), name: plan::final_name(&observed).into() };
            observed.saving = decoded(self.pods.owned(&key.namespace, &last));
            match access(&observed, system.password, app.password).filter(|_| plan::is_to_be_asked(&observed)) {
                Some(access) => observed.asked = self.postgres.look(db, &access).await,
                None => self.postgres.drop(key),
            }
            crate::metrics::tell(&observed);
            return Ok(observed);
        }
        observed.failed = match observed.pod().filter(|pod| stands_still(pod, Timestamp::now())) {
            Some(pod) => look::failed(&self.client, pod).await,
            None => None,
        };
        if db.status.initialization.completed_at.is_none() && !is_at_work(&observed) {
            observed.init_sources = sources::look(&self.client, db).await;
        }
        self.ask(&mut observed, system.password.clone(), app.password).await;
        if let Some(note) = plan::note_of(&observed, Timestamp::now()) {
            let next = observed.pod_named(&note.pod).and_then(|pod| reach(pod, system.password, None));
            observed.copied = match next {
                Some(next) => self.postgres.copied(key, &next, note.every).await,
                None => None,
            };
        }
        self.try_successor(&mut observed).await;
        crate::metrics::tell(&observed);
        Ok(observed)
    }

    /// Looks whether the pod that is to replace the server's, if one is, would be taken by the API server, and would start.
    async fn try_successor(&self, observed: &mut Observed) {
        let present = observed.db.meta.key.sibling(&names::pod(&observed.db));
        let known = plan::placement(observed, Timestamp::now());
        // As long as it would not start, it is not asked for.
        if let Some(known @ (Placement::Trying(_) | Placement::Refused(_))) = known {
            observed.placement = known;
            return;
        }
        if let Some(trial) = plan::trial(observed, Timestamp::now()) {
            observed.replacement = self.trials.ask(&trial, &present).await;
        }
        if known.is_none() && observed.replacement == DryRun::Accepted {
            observed.placement = match pods::get(&self.client, &present).await {
                Ok(pod) => plan::beside(observed, &pod.unwrap_or_default()),
                Err(error) => Placement::Trying(format!("waiting for the API server to show the present one: {error}")),
            };
        }
    }

    /// Asks the server, or whether it answers at all, if it is not ready.
    async fn ask(&self, observed: &mut Observed, system: Option<Password>, app: Option<Password>) {
        let db = observed.db.clone();
        match (observed.contact(), access(observed, system, app)) {
            (Contact::Ask, Some(access)) => observed.asked = self.postgres.look(&db, &access).await,
            (Contact::Knock, Some(access)) => self.postgres.knock(&db, &access).await,
            (Contact::Nothing, _) | (_, None) => self.postgres.is_away(&db.meta.key),
        }
        observed.silent_for = self.postgres.silent_for(&db.meta.key);
    }

    /// How to get at the server, for an act.
    pub(crate) async fn access(&self, db: &Arc<SampleDB>) -> Result<Access, Error> {
        let (system, app) = (self.secrets.look(db, SecretOf::System).await, self.secrets.look(db, SecretOf::App).await);
        let key = db.meta.key.sibling(&names::pod(db));
        let pod = match self.pods.get(&key).and_then(Entry::into_object) {
            Some(pod) => Some(pod),
            // Its labels may have been edited.
            None => match Found::of(db, pods::get(&self.client, &key).await?.as_ref()) {
                Found::Own(pod) => Some(pod),
                Found::Nothing | Found::Taken => None,
            },
        };
        let found = pod.and_then(|pod| reach(&pod, system.password, app.password));
        found.ok_or_else(|| Error::transient(SampleDBReason::ServerAway, "the server has gone away meanwhile"))
    }

    /// Whether the claim that the spec names for snapshots holds the data of a database.
    fn snapshots_on_data(&self, db: &SampleDB) -> bool {
        let Some(claim) = &db.spec.backup.storage.existing_claim else { return false };
        let claim = self.claims.get(&db.meta.key.sibling(claim)).and_then(Entry::into_object);
        claim.is_some_and(|claim| claim.labels.contains_key(OWNER_UID) && names::is_data(&claim.meta.key.name))
    }
}

/// Whether the Job of the initial configuration has yet to end: then its SQL is not looked at.
fn is_at_work(observed: &Observed) -> bool {
    observed.job(&names::init_job(&observed.db)).is_some_and(|job| job.end.is_none())
}

/// How to get at the server, as long as it runs.
fn access(observed: &Observed, system: Option<Password>, app: Option<Password>) -> Option<Access> {
    address(observed.pod().filter(|_| observed.runs())?, system, app)
}

/// How to get at a server that is ready.
fn reach(pod: &Pod, system: Option<Password>, app: Option<Password>) -> Option<Access> {
    pod.running.as_deref().filter(|running| running.ready && !pod.meta.deleting)?;
    address(pod, system, app)
}

fn address(pod: &Pod, system: Option<Password>, app: Option<Password>) -> Option<Access> {
    let running = pod.running.as_deref()?;
    let ip = running.ip.as_deref()?.to_owned();
    let major = running.container(SERVER).and_then(|server| major_of(&server.image));
    Some(Access { pod: pod.meta.uid.to_string(), ip, major, system: system?, app })
}

/// After how long nothing of a pod that is not ready runs, it is asked for whether anything will.
const STILL: SignedDuration = SignedDuration::from_secs(10);

/// Whether nothing of a pod has run for a while.
fn stands_still(pod: &Pod, now: Timestamp) -> bool {
    let Some(running) = pod.running.as_deref().filter(|running| !running.ready && !pod.meta.deleting) else {
        return false;
    };
    let rests = !running.containers.iter().any(|of| of.running);
    rests && running.ready_since.is_some_and(|since| now.duration_since(since) > STILL)
}
