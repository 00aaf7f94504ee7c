//! Observes a SampleDB: reads the stores, then queries live systems for what these do not hold, as far as a step depends on it.

use std::sync::{Arc, OnceLock};

use api::sample_db::SampleDBReason;
use jiff::Timestamp;
use runtime::Error;
use runtime::cache::{Entry, Projection};
use runtime::plan::DryRun;
use runtime::projections::{Pod, StatefulSet};
use serde_json::Value;

use crate::catalog::Catalogs;
use crate::database::objects::SecretOf;
use crate::database::unlabeled::{self, Found};
use crate::database::{self, Contact, Observed, Placement};
use crate::named_claims::NamedClaims;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names::{self, SERVER};
use crate::operand::release::major_of;
use crate::password::Password;
use crate::queries::{Access, ApiQueries, ServerQueries, live};
use crate::secrets::Secrets;
use crate::server_pods::ServerPods;
use crate::settings::Settings;
use crate::stores::DatabaseStores;
use crate::trials::Trials;
use crate::{endpoints, failed_pod, sources};

/// What a manager remembers of its queries between two reconciles. It is lost when the manager ends.
#[derive(Clone, Default)]
pub struct Memory {
    catalogs: Catalogs,
    pub(crate) secrets: Secrets,
    claims: NamedClaims,
    pods: ServerPods,
    trials: Trials,
    /// When it observed for the first time: a manager that waits to lead does not observe.
    began: OnceLock<Timestamp>,
}

impl Memory {
    /// Has a Secret that was written be read again.
    pub fn forget_secret(&self, db: &SampleDB, of: SecretOf) {
        self.secrets.forget(db, of);
    }
}

/// Observes SampleDBs at one moment.
pub struct Observer<'a, A, S> {
    /// What the caches hold.
    pub stores: &'a DatabaseStores,
    /// What is known from earlier queries.
    pub memory: &'a Memory,
    /// What holds for all databases.
    pub settings: &'a Settings,
    /// The API server.
    pub api: &'a A,
    /// The servers of the databases.
    pub servers: &'a S,
    /// The time.
    pub now: Timestamp,
}

/// The passwords of a database, as far as they are known.
struct Passwords {
    system: Option<Password>,
    app: Option<Password>,
}

impl<A: ApiQueries, S: ServerQueries> Observer<'_, A, S> {
    /// What is known of `db` now.
    ///
    /// # Errors
    /// If something cannot be read on which it depends what becomes of data.
    pub async fn observe(&self, db: &Arc<SampleDB>) -> Result<Observed, Error> {
        let (api, memory, key) = (self.api, self.memory, &db.meta.key);
        let namespace_assigns_uids = api.assigns_uids(&key.namespace).await?;
        let mut observed = self.stores.read(db, &self.settings.agent_image);
        observed.namespace_assigns_uids = namespace_assigns_uids;
        observed.began = Some(*memory.began.get_or_init(|| self.now));
        let passwords = self.read_secrets(&mut observed).await;
        observed.catalog = memory.catalogs.read(api, &self.settings.catalog, self.now).await;
        observed.external = endpoints::external(api, db).await;
        observed.namespace_going = db.meta.deleting && api.is_terminating(&key.namespace, Snapshot::KIND).await;
        memory.claims.read(api, &mut observed, self.now).await?;
        memory.pods.read(api, &mut observed, self.now).await?;
        if db.meta.deleting {
            self.observe_deletion(&mut observed, passwords).await?;
            return Ok(observed);
        }
        observed.failed = match observed.pod().filter(|pod| failed_pod::stands_still(pod, self.now)) {
            Some(pod) => failed_pod::why(api, pod).await,
            None => None,
        };
        if db.status.initialization.completed_at.is_none() && !is_at_work(&observed) {
            observed.init_sources = sources::read(api, db).await;
        }
        let system = passwords.system.clone();
        self.ask(&mut observed, passwords).await;
        if let Some(note) = database::note_of(&observed, self.now) {
            let next = observed.pod_named(&note.pod).and_then(|pod| reach(pod, Passwords { system, app: None }));
            observed.copied = match next {
                Some(next) => self.servers.copied(key, &next, note.every).await,
                None => None,
            };
        }
        self.try_replacement(&mut observed).await;
        Ok(observed)
    }

    async fn read_secrets(&self, observed: &mut Observed) -> Passwords {
        let db = &observed.db;
        let system = self.memory.secrets.read(self.api, db, SecretOf::System, self.now).await;
        let app = self.memory.secrets.read(self.api, db, SecretOf::App, self.now).await;
        (observed.system, observed.app, observed.system_remade) = (system.seen, app.seen, system.remade);
        Passwords { system: system.password, app: app.password }
    }

    /// What only the deletion of a database depends on.
    async fn observe_deletion(&self, observed: &mut Observed, passwords: Passwords) -> Result<(), Error> {
        let db = observed.db.clone();
        let claim = database::final_claim(observed);
        if observed.claim(&claim).is_none() && claim != names::own_snapshot_claim(&db) {
            observed.existing_claim = live(self.api, &db.meta.key.sibling(&claim)).await?;
        }
        if let Some(set) = unlabeled::unseen_set(observed) {
            observed.servers.extend(live::<StatefulSet>(self.api, &set).await?);
        }
        match access(observed, passwords).filter(|_| database::is_to_be_asked(observed)) {
            Some(access) => observed.asked = self.servers.ask(&db, &access).await,
            None => self.servers.forget(&db.meta.key),
        }
        Ok(())
    }

    /// Whether the pod that is to replace the server's, if one is, would be accepted by the API server, and would start.
    async fn try_replacement(&self, observed: &mut Observed) {
        let present = observed.db.meta.key.sibling(&names::pod(&observed.db));
        let known = database::placement(observed, self.now);
        // As long as it would not start, it is not asked for.
        if let Some(known @ (Placement::Trying(_) | Placement::Refused(_))) = known {
            observed.placement = known;
            return;
        }
        if let Some(trial) = database::trial(observed, self.now) {
            observed.replacement = self.memory.trials.ask(self.api, &trial, &present, self.now).await;
        }
        if known.is_none() && observed.replacement == DryRun::Accepted {
            observed.placement = match self.api.get(Pod::KIND, &present).await {
                Ok(pod) => database::beside(observed, &pod.unwrap_or(Value::Null)),
                Err(error) => Placement::Trying(format!("waiting for the API server to show the present one: {error}")),
            };
        }
    }

    /// Asks the server, or whether it answers at all, if it is not ready.
    async fn ask(&self, observed: &mut Observed, passwords: Passwords) {
        let db = observed.db.clone();
        match (observed.contact(), access(observed, passwords)) {
            (Contact::Ask, Some(access)) => observed.asked = self.servers.ask(&db, &access).await,
            (Contact::Knock, Some(access)) => self.servers.knock(&db, &access).await,
            (Contact::Nothing, _) | (_, None) => self.servers.is_away(&db.meta.key),
        }
        observed.silent_for = self.servers.silent_for(&db.meta.key);
    }

    /// How to get at the server, for an act.
    ///
    /// # Errors
    /// Transient, if it cannot be reached now.
    pub async fn access(&self, db: &Arc<SampleDB>) -> Result<Access, Error> {
        let system = self.memory.secrets.read(self.api, db, SecretOf::System, self.now).await.password;
        let app = self.memory.secrets.read(self.api, db, SecretOf::App, self.now).await.password;
        let key = db.meta.key.sibling(&names::pod(db));
        let pod = match self.stores.pods.get(&key).and_then(Entry::into_object) {
            Some(pod) => Some(pod),
            // Its labels may have been edited.
            None => match Found::of(db, self.api.get(Pod::KIND, &key).await?.as_ref()) {
                Found::Own(pod) => Some(pod),
                Found::Nothing | Found::Taken => None,
            },
        };
        let found = pod.and_then(|pod| reach(&pod, Passwords { system, app }));
        found.ok_or_else(|| Error::transient(SampleDBReason::ServerAway, "the server has gone away meanwhile"))
    }
}

/// Whether the Job of the initial configuration has yet to end: then its SQL is not read.
fn is_at_work(observed: &Observed) -> bool {
    observed.job(&names::init_job(&observed.db)).is_some_and(|job| job.end.is_none())
}

/// How to get at the server, as long as it runs.
fn access(observed: &Observed, passwords: Passwords) -> Option<Access> {
    address(observed.pod().filter(|_| observed.runs())?, passwords)
}

/// How to get at a server that is ready.
fn reach(pod: &Pod, passwords: Passwords) -> Option<Access> {
    pod.running.as_deref().filter(|running| running.ready && !pod.meta.deleting)?;
    address(pod, passwords)
}

fn address(pod: &Pod, passwords: Passwords) -> Option<Access> {
    let running = pod.running.as_deref()?;
    let ip = running.ip.as_deref()?.to_owned();
    let major = running.container(SERVER).and_then(|server| major_of(&server.image));
    Some(Access { pod: pod.meta.uid.to_string(), ip, major, system: passwords.system?, app: passwords.app })
}
