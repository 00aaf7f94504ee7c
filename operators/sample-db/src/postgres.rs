//! PostgreSQL servers over connections as their superuser: queries about themselves, and changes without a restart.
//!
//! Each database has at most one short connection at a time, with deadlines; about one a minute while nothing changes.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use runtime::Error;
use runtime::plan::Key;
use tokio::time::Instant;

use crate::database::{LoginCheck, ServerProbe, effective_parameters, is_step_recent, retry_delay};
use crate::operand::database_state::blocks_clients;
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::password::Password;
use crate::queries::{ServerAccess, ServerQueries};
use crate::saslprep::is_prepared_alike;

mod change;
mod client;
mod connect;
mod live;
mod query;

pub use change::RemainingSessions;
pub use client::{PostgresClient, ServerFuture};
pub use connect::ConnectError;
pub use live::LivePostgres;

/// How long an answer is used without another query. Together with the next reconcile, an edit of a Secret takes effect within 90
/// s.
const ANSWER_TTL: Duration = Duration::from_secs(20);
/// The same while an upgrade blocks and allows clients, for some minutes at most.
const UPGRADE_ANSWER_TTL: Duration = Duration::from_secs(2);
/// After how long a password that the server rejects although it was set is set again.
const PASSWORD_RETRY_AFTER: Duration = Duration::from_secs(60);
/// After how many queries in a row without a login of the application its rules are reported. Before, the server may not have
/// read a new file yet.
const FAILURES_BEFORE_REFUSED: u32 = 3;
/// How long the result of a ping of a server that is not ready is used.
const PING_TTL: Duration = Duration::from_secs(5);

/// What is known of a server between two reconciles.
#[derive(Default)]
struct KnownServer {
    /// A hash of the pod, the Secrets and the spec that the answer depends on.
    inputs: u64,
    answer: Option<(Instant, ServerProbe)>,
    /// How many queries in a row were inconclusive.
    failures: u32,
    /// Since when it has not answered.
    silent_since: Option<Instant>,
    /// When the record of a copy was last read.
    copy_read_at: Option<Instant>,
    /// When it was last pinged, while it is not ready.
    pinged_at: Option<Instant>,
    /// When the application's password was last set, if no login with it has succeeded since.
    password_set_at: Option<Instant>,
    /// The pod whose server has reloaded its files since this process started.
    reloaded: Option<String>,
    /// How many times in a row its file was older than the spec.
    stale: u32,
    /// Sessions that have yet to end since clients were blocked.
    remaining: Option<RemainingSessions>,
    /// Parameters that it rejected, and why.
    refused: Option<RejectedParameters>,
}

/// Parameters that a pod's server rejected. The server of another pod gets them again, since it may run another release.
struct RejectedParameters {
    /// The pod's UID.
    pod: String,
    values: BTreeMap<String, String>,
    why: String,
}

impl RejectedParameters {
    /// Whether the rejection is of the spec's parameters, by the server that runs now.
    fn holds(&self, db: &SampleDB, access: &ServerAccess) -> bool {
        self.pod == access.pod && self.values == db.spec.engine.parameters
    }
}

/// What is known of all servers, and how they are reached.
pub(crate) struct Servers {
    known: Mutex<HashMap<Key, KnownServer>>,
    client: Arc<dyn PostgresClient>,
}

impl Default for Servers {
    fn default() -> Self {
        Self::new(Arc::new(LivePostgres))
    }
}

impl ServerQueries for Servers {
    async fn query(&self, db: &SampleDB, access: &ServerAccess) -> ServerProbe {
        let inputs = fingerprint(db, access);
        let (cached, reload, report_refusal) = {
            let mut all = self.lock();
            let server = all.entry(db.meta.key.clone()).or_default();
            if server.inputs != inputs {
                (server.failures, server.silent_since) = (0, None);
            }
            let ttl = |answer| ttl(db, answer, server.failures.max(server.stale));
            let cached =
                server.answer.as_ref().filter(|(at, answer)| server.inputs == inputs && at.elapsed() < ttl(answer));
            // A reload reads what a process that died has changed, and what the kubelet has brought.
            let reload = server.reloaded.as_ref() != Some(&access.pod) || server.stale > 0;
            (cached.map(|(_, answer)| answer.clone()), reload, server.failures >= FAILURES_BEFORE_REFUSED)
        };
        if let Some(answer) = cached {
            return answer;
        }
        let mut is_silent = false;
        let mut probe = match self.client.info(db, access, reload, report_refusal).await {
            Ok(answer) => ServerProbe::Answered(Box::new(answer)),
            Err(ConnectError::BadPassword) => ServerProbe::BadPassword,
            Err(ConnectError::Server(_, why)) => ServerProbe::Failed(format!("the server says: {why}")),
            Err(ConnectError::NoAnswer(why)) => {
                self.mark_silent(&db.meta.key);
                is_silent = true;
                ServerProbe::Failed(why)
            }
        };
        let mut all = self.lock();
        let server = all.entry(db.meta.key.clone()).or_default();
        if let ServerProbe::Answered(answer) = &mut probe {
            server.reloaded = Some(access.pod.clone());
            server.stale = if answer.parameters.stale.is_empty() { 0 } else { server.stale.saturating_add(1) };
            let refused = server.refused.as_ref().filter(|refused| refused.holds(db, access));
            answer.parameters.refused = refused.map(|refused| refused.why.clone());
            server.password_set_at = server.password_set_at.filter(|_| answer.login != LoginCheck::Ok);
            // A password that was set a moment ago is not set again: something else blocks the application.
            if answer.login == LoginCheck::BadPassword
                && server.password_set_at.is_some_and(|at| at.elapsed() < PASSWORD_RETRY_AFTER)
            {
                answer.login =
                    LoginCheck::Refused("the server rejects the password of the Secret although it was set".to_owned());
            }
        }
        server.silent_since = server.silent_since.filter(|_| is_silent);
        server.failures = if is_conclusive(&probe) { 0 } else { server.failures.saturating_add(1) };
        server.inputs = inputs;
        server.answer = Some((Instant::now(), probe.clone()));
        probe
    }

    async fn ping(&self, db: &SampleDB, access: &ServerAccess) {
        let key = &db.meta.key;
        if self.lock().get(key).and_then(|server| server.pinged_at).is_some_and(|at| at.elapsed() < PING_TTL) {
            return;
        }
        let answers = self.client.ping(access).await;
        if !answers {
            self.mark_silent(key);
        }
        let mut all = self.lock();
        let server = all.entry(key.clone()).or_default();
        server.pinged_at = Some(Instant::now());
        if answers {
            server.silent_since = None;
        }
    }

    fn silent_for(&self, key: &Key) -> Option<Duration> {
        self.lock().get(key).and_then(|server| server.silent_since).map(|since| since.elapsed())
    }

    fn forget_silence(&self, key: &Key) {
        if let Some(server) = self.lock().get_mut(key) {
            server.silent_since = None;
        }
    }

    async fn copy_result(&self, key: &Key, access: &ServerAccess, every: Duration) -> Option<PgUpgradeResult> {
        {
            let mut all = self.lock();
            let server = all.entry(key.clone()).or_default();
            if server.copy_read_at.is_some_and(|at| at.elapsed() < every) {
                return None;
            }
            server.copy_read_at = Some(Instant::now());
        }
        match self.client.copy_result(access).await {
            Ok(result) => result,
            Err(refused) => {
                tracing::debug!(?refused, "the record of a copy cannot be read from the new server");
                None
            }
        }
    }

    fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }
}

impl Servers {
    pub(crate) fn new(client: Arc<dyn PostgresClient>) -> Self {
        Self { known: Mutex::default(), client }
    }

    /// Sets the application's password of the Secret in the server, unless PostgreSQL's own clients could not log in with it.
    pub(crate) async fn set_password(&self, db: &SampleDB, access: &ServerAccess) -> Result<(), Error> {
        self.invalidate(&db.meta.key);
        let Some(app) = access.app_password.as_ref().filter(|app| is_prepared_alike(app.text())) else { return Ok(()) };
        self.client.set_password(access, names::database(db), app).await?;
        self.lock().entry(db.meta.key.clone()).or_default().password_set_at = Some(Instant::now());
        Ok(())
    }

    /// Sets and resets parameters. A rejection is remembered until the spec or the pod changes.
    pub(crate) async fn set_parameters(
        &self,
        db: &SampleDB,
        access: &ServerAccess,
        set: &[(String, String)],
        reset: &[String],
    ) -> Result<(), Error> {
        self.invalidate(&db.meta.key);
        if let Some(why) = self.client.set_parameters(access, set, reset).await? {
            let values = db.spec.engine.parameters.clone();
            let refused = RejectedParameters { pod: access.pod.clone(), values, why };
            self.lock().entry(db.meta.key.clone()).or_default().refused = Some(refused);
        }
        Ok(())
    }

    /// Allows clients to connect.
    pub(crate) async fn allow_clients(&self, db: &SampleDB, access: &ServerAccess) -> Result<(), Error> {
        self.invalidate(&db.meta.key);
        self.client.allow_clients(access).await.map_err(Error::from)
    }

    /// Blocks all clients but the superuser, and ends their sessions.
    pub(crate) async fn block_clients(&self, db: &SampleDB, access: &ServerAccess) -> Result<(), Error> {
        let key = &db.meta.key;
        self.invalidate(key);
        let before = self.lock().get_mut(key).and_then(|server| server.remaining.take());
        let mut remaining = match before.filter(|remaining| remaining.pod == access.pod) {
            Some(remaining) if self.client.is_blocking(access).await => remaining,
            _ => self.client.block_clients(access).await?,
        };
        let ended = self.client.end_others(access, &mut remaining).await;
        if ended.is_err() {
            self.lock().entry(key.clone()).or_default().remaining = Some(remaining);
        }
        ended.map_err(Error::from)
    }

    fn mark_silent(&self, key: &Key) {
        self.lock().entry(key.clone()).or_default().silent_since.get_or_insert_with(Instant::now);
    }

    /// Drops the known answer, so that the server is queried again.
    fn invalidate(&self, key: &Key) {
        if let Some(server) = self.lock().get_mut(key) {
            server.answer = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, KnownServer>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of what an answer depends on.
fn fingerprint(db: &SampleDB, access: &ServerAccess) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&access.pod, &access.ip, access.superuser_password.text(), access.app_password.as_ref().map(Password::text))
        .hash(&mut hasher);
    (effective_parameters(db), db.status.upgrade.step.map(|step| step as u8)).hash(&mut hasher);
    hasher.finish()
}

fn ttl(db: &SampleDB, answer: &ServerProbe, failures: u32) -> Duration {
    match answer {
        _ if failures > 0 => retry_delay(failures),
        ServerProbe::Answered(_) if blocks_clients(db) && is_step_recent(db, runtime::clock::now()) => {
            UPGRADE_ANSWER_TTL
        }
        _ => ANSWER_TTL,
    }
}

/// Whether another query a moment later would give the same result.
fn is_conclusive(probe: &ServerProbe) -> bool {
    probe
        .info()
        .is_some_and(|answer| matches!(answer.login, LoginCheck::Ok | LoginCheck::Busy | LoginCheck::BadPassword))
}

#[cfg(test)]
mod tests;
