//! Observes a SampleDB: reads the stores, then queries live systems for what the stores do not hold, as far as a step depends on
//! it.

use std::sync::{Arc, OnceLock};

use api::sample_db::SampleDBReason;
use jiff::Timestamp;
use runtime::Error;
use runtime::cache::{CacheEntry, Projection};
use runtime::plan::DryRun;
use runtime::projections::{Pod, StatefulSet};
use serde_json::Value;

use crate::catalog::Catalogs;
use crate::database::objects::SecretRole;
use crate::database::unlabeled::{self, NamedPod};
use crate::database::{self, Contact, Observed, PlacementCheck};
use crate::named_claims::NamedClaims;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names::{self, SERVER};
use crate::operand::release::major_of;
use crate::password::Password;
use crate::queries::{ApiQueries, ServerAccess, ServerQueries, get_projection};
use crate::secrets::Secrets;
use crate::server_pods::ServerPods;
use crate::settings::Settings;
use crate::stores::DatabaseStores;
use crate::trials::Trials;
use crate::{endpoints, failed_pod, sources};

/// Results of queries that a manager reuses in later reconciles. They are lost when the manager ends.
#[derive(Clone, Default)]
pub struct Memory {
    catalogs: Catalogs,
    pub(crate) secrets: Secrets,
    claims: NamedClaims,
    pods: ServerPods,
    trials: Trials,
    /// When the manager observed for the first time. A manager that waits for leadership does not observe.
    observing_since: OnceLock<Timestamp>,
}

impl Memory {
    /// Drops the cached Secret, after a write to it.
    pub fn forget_secret(&self, db: &SampleDB, of: SecretRole) {
        self.secrets.forget(db, of);
    }
}

/// Observes SampleDBs at one moment.
pub struct Observer<'a, A, S> {
    /// What the caches hold.
    pub stores: &'a DatabaseStores,
    /// Results of earlier queries.
    pub memory: &'a Memory,
    /// The settings of this manager.
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
    superuser: Option<Password>,
    app: Option<Password>,
}

impl<A: ApiQueries, S: ServerQueries> Observer<'_, A, S> {
    /// Observes `db`.
    ///
    /// # Errors
    /// If something cannot be read that decides what is done with data.
    pub async fn observe(&self, db: &Arc<SampleDB>) -> Result<Observed, Error> {
        let (api, memory, key) = (self.api, self.memory, &db.meta.key);
        let namespace_assigns_uids = api.assigns_uids(&key.namespace).await?;
        let mut observed = self.stores.read(db, &self.settings.agent_image);
        observed.namespace_assigns_uids = namespace_assigns_uids;
        observed.observing_since = Some(*memory.observing_since.get_or_init(|| self.now));
        let passwords = self.read_secrets(&mut observed).await;
        observed.catalog = memory.catalogs.read(api, &self.settings.catalog, self.now).await;
        observed.external = endpoints::external(api, db).await;
        observed.namespace_terminating = db.meta.deleting && api.is_terminating(&key.namespace, Snapshot::KIND).await;
        memory.claims.read(api, &mut observed, self.now).await?;
        memory.pods.read(api, &mut observed, self.now).await?;
        if db.meta.deleting {
            self.observe_deletion(&mut observed, passwords).await?;
            return Ok(observed);
        }
        observed.pod_failure = match observed.pod().filter(|pod| failed_pod::is_idle(pod, self.now)) {
            Some(pod) => failed_pod::failure_reason(api, pod).await,
            None => None,
        };
        if db.status.initialization.completed_at.is_none() && !is_init_job_running(&observed) {
            observed.init_sources = sources::read(api, db).await;
        }
        let superuser = passwords.superuser.clone();
        self.query_server(&mut observed, passwords).await;
        if let Some(poll) = database::copy_result_poll(&observed, self.now) {
            let target =
                observed.pod_named(&poll.pod).and_then(|pod| access_if_ready(pod, Passwords { superuser, app: None }));
            observed.copy_result = match target {
                Some(target) => self.servers.copy_result(key, &target, poll.every).await,
                None => None,
            };
        }
        self.try_replacement(&mut observed).await;
        Ok(observed)
    }

    async fn read_secrets(&self, observed: &mut Observed) -> Passwords {
        let db = &observed.db;
        let superuser = self.memory.secrets.read(self.api, db, SecretRole::System, self.now).await;
        let app = self.memory.secrets.read(self.api, db, SecretRole::App, self.now).await;
        (observed.superuser_secret, observed.app_secret, observed.password_regenerated_at) =
            (superuser.state, app.state, superuser.regenerated_at);
        Passwords { superuser: superuser.password, app: app.password }
    }

    /// Observes what only the deletion of a database depends on.
    async fn observe_deletion(&self, observed: &mut Observed, passwords: Passwords) -> Result<(), Error> {
        let db = observed.db.clone();
        let claim = database::final_claim(observed);
        if observed.claim(&claim).is_none() && claim != names::own_snapshot_claim(&db) {
            observed.existing_claim = get_projection(self.api, &db.meta.key.sibling(&claim)).await?;
        }
        if let Some(set) = unlabeled::unwatched_set(observed) {
            observed.servers.extend(get_projection::<StatefulSet>(self.api, &set).await?);
        }
        match access_if_running(observed, passwords).filter(|_| database::should_query_server(observed)) {
            Some(access) => observed.probe = self.servers.query(&db, &access).await,
            None => self.servers.forget(&db.meta.key),
        }
        Ok(())
    }

    /// Observes whether the API server would accept the pod that is to replace the server's pod, and whether it would start.
    async fn try_replacement(&self, observed: &mut Observed) {
        let present = observed.db.meta.key.sibling(&names::pod(&observed.db));
        let known = database::check_placement(observed, self.now);
        // A pod that would not start is not tried at the API server.
        if let Some(known @ (PlacementCheck::Pending(_) | PlacementCheck::Refused(_))) = known {
            observed.placement = known;
            return;
        }
        if let Some(trial) = database::replacement_pod(observed, self.now) {
            observed.replacement = self.memory.trials.dry_run(self.api, &trial, &present, self.now).await;
        }
        if known.is_none() && observed.replacement == DryRun::Accepted {
            observed.placement = match self.api.get(Pod::KIND, &present).await {
                Ok(pod) => database::prepare_trial(observed, &pod.unwrap_or(Value::Null)),
                Err(error) => {
                    PlacementCheck::Pending(format!("waiting for the API server to return the present pod: {error}"))
                }
            };
        }
    }

    /// Queries a ready server, and pings one that is not.
    async fn query_server(&self, observed: &mut Observed, passwords: Passwords) {
        let db = observed.db.clone();
        match (observed.contact(), access_if_running(observed, passwords)) {
            (Contact::Query, Some(access)) => observed.probe = self.servers.query(&db, &access).await,
            (Contact::Ping, Some(access)) => self.servers.ping(&db, &access).await,
            (Contact::None, _) | (_, None) => self.servers.forget_silence(&db.meta.key),
        }
        observed.silent_for = self.servers.silent_for(&db.meta.key);
    }

    /// Returns access to the server, for an act.
    ///
    /// # Errors
    /// Transient, if it cannot be reached now.
    pub async fn access(&self, db: &Arc<SampleDB>) -> Result<ServerAccess, Error> {
        let superuser = self.memory.secrets.read(self.api, db, SecretRole::System, self.now).await.password;
        let app = self.memory.secrets.read(self.api, db, SecretRole::App, self.now).await.password;
        let key = db.meta.key.sibling(&names::pod(db));
        let pod = match self.stores.pods.get(&key).and_then(CacheEntry::into_object) {
            Some(pod) => Some(pod),
            // Its labels may have been edited.
            None => match NamedPod::of(db, self.api.get(Pod::KIND, &key).await?.as_ref()) {
                NamedPod::Own(pod) => Some(pod),
                NamedPod::Absent | NamedPod::Foreign => None,
            },
        };
        let found = pod.and_then(|pod| access_if_ready(&pod, Passwords { superuser, app }));
        found.ok_or_else(|| {
            Error::transient(SampleDBReason::ServerAway, "the server is gone; the next reconcile observes it again")
        })
    }
}

/// Whether the init Job is running: its SQL is not read then.
fn is_init_job_running(observed: &Observed) -> bool {
    observed.job(&names::init_job(&observed.db)).is_some_and(|job| job.end.is_none())
}

/// Access to the server, if it runs.
fn access_if_running(observed: &Observed, passwords: Passwords) -> Option<ServerAccess> {
    server_access(observed.pod().filter(|_| observed.is_running())?, passwords)
}

/// Access to the server in a pod, if it is ready.
fn access_if_ready(pod: &Pod, passwords: Passwords) -> Option<ServerAccess> {
    pod.details.as_deref().filter(|running| running.ready && !pod.meta.deleting)?;
    server_access(pod, passwords)
}

fn server_access(pod: &Pod, passwords: Passwords) -> Option<ServerAccess> {
    let running = pod.details.as_deref()?;
    let ip = running.ip.as_deref()?.to_owned();
    let major = running.container(SERVER).and_then(|server| major_of(&server.image));
    Some(ServerAccess {
        pod: pod.meta.uid.to_string(),
        ip,
        major,
        superuser_password: passwords.superuser?,
        app_password: passwords.app,
    })
}
