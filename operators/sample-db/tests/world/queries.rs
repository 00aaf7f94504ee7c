//! The answers of the API server and of PostgreSQL to the manager's queries.

use std::cell::RefCell;
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use api::ReconcileReason;
use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::plan::{Create, DryRun, Key, ResourceKind};
use runtime::testing::FakeCluster;
use sample_db::database::{ServerProbe, is_step_recent};
use sample_db::operand::database_state::blocks_clients;
use sample_db::{ApiQueries, SECRET, SampleDB, ServerAccess, ServerQueries};
use serde_json::{Value, json};

use crate::infrastructure::Infrastructure;

/// How long an answer of a server is used; less while an upgrade blocks and allows clients.
const ANSWER_TTL: SignedDuration = SignedDuration::from_secs(20);
const UPGRADE_ANSWER_TTL: SignedDuration = SignedDuration::from_secs(2);

/// The simulation at one moment.
pub struct LiveQueries<'a> {
    cluster: &'a FakeCluster,
    infra: RefCell<&'a mut Infrastructure>,
}

impl<'a> LiveQueries<'a> {
    pub fn of(cluster: &'a FakeCluster, infra: &'a mut Infrastructure) -> Self {
        Self { cluster, infra: RefCell::new(infra) }
    }

    pub fn now(&self) -> Timestamp {
        self.infra.borrow().now
    }

    fn fail_if_reads_fail(&self) -> Result<(), Error> {
        if self.infra.borrow().faults.reads_fail {
            return Err(Error::transient(ReconcileReason::APIServerError, "the API server is not available"));
        }
        Ok(())
    }
}

impl ApiQueries for LiveQueries<'_> {
    async fn get(&self, kind: ResourceKind, key: &Key) -> Result<Option<Value>, Error> {
        self.fail_if_reads_fail()?;
        let infra = self.infra.borrow();
        if kind == SECRET {
            return Ok(infra.secrets.get(&*key.name).map(|secret| secret.object(key)));
        }
        if *key.name == *"sql" {
            return Ok(Some(json!({ "metadata": { "name": "sql" }, "data": { "init.sql": infra.sql.0 } })));
        }
        Ok(self.cluster.get(kind, key).cloned())
    }

    async fn dry_run(&self, pod: &Create) -> DryRun {
        match self.fail_if_reads_fail() {
            Err(error) => DryRun::Unknown(error.to_string()),
            Ok(()) if self.infra.borrow().rejects(&pod.body) => DryRun::Rejected("the policy says no".to_owned()),
            Ok(()) => DryRun::Accepted,
        }
    }

    async fn assigns_uids(&self, _: &str) -> Result<bool, Error> {
        let read = self.fail_if_reads_fail();
        let mut infra = self.infra.borrow_mut();
        if !infra.manager_memory.namespace {
            read?;
        }
        infra.manager_memory.namespace = true;
        Ok(infra.assigns_uids)
    }

    async fn is_terminating(&self, _: &str, _: ResourceKind) -> bool {
        self.fail_if_reads_fail().is_ok() && self.infra.borrow().namespace_terminating
    }
}

impl ServerQueries for LiveQueries<'_> {
    async fn query(&self, db: &SampleDB, access: &ServerAccess) -> ServerProbe {
        let mut infra = self.infra.borrow_mut();
        let (key, now) = (db.meta.key.name.to_string(), infra.now);
        let app = access.app_password.as_ref().map(|app| app.text().to_owned());
        let (system, step) = (access.superuser_password.text(), db.status.upgrade.step);
        let inputs_now = format!("{} {app:?} {system:?} {:?} {step:?}", access.pod, db.spec.engine.parameters);
        let ttl = if blocks_clients(db) && is_step_recent(db, now) { UPGRADE_ANSWER_TTL } else { ANSWER_TTL };
        if let Some((inputs, at, probe)) = infra.manager_memory.answers.get(&key)
            && *inputs == inputs_now
            && now.duration_since(*at) < ttl
        {
            return probe.clone();
        }
        let probe = infra.answer(self.cluster, db, &access.pod, system, app);
        if infra.serves(&access.pod) {
            infra.manager_memory.silent.remove(&key);
        } else {
            infra.manager_memory.silent.entry(key.clone()).or_insert(now);
        }
        if matches!(probe, ServerProbe::Answered(_)) {
            infra.manager_memory.answers.insert(key, (inputs_now, now, probe.clone()));
        }
        probe
    }

    async fn ping(&self, db: &SampleDB, access: &ServerAccess) {
        let mut infra = self.infra.borrow_mut();
        let (key, now) = (db.meta.key.name.to_string(), infra.now);
        if infra.serves(&access.pod) {
            infra.manager_memory.silent.remove(&key);
        } else {
            infra.manager_memory.silent.entry(key).or_insert(now);
        }
    }

    fn silent_for(&self, db: &Key) -> Option<Duration> {
        let infra = self.infra.borrow();
        let since = infra.manager_memory.silent.get(&*db.name)?;
        Some(infra.now.duration_since(*since).unsigned_abs())
    }

    fn forget_silence(&self, db: &Key) {
        self.infra.borrow_mut().manager_memory.silent.remove(&*db.name);
    }

    async fn copy_result(&self, db: &Key, access: &ServerAccess, every: Duration) -> Option<PgUpgradeResult> {
        let mut infra = self.infra.borrow_mut();
        let (key, now) = (db.name.to_string(), infra.now);
        if infra.manager_memory.copy_read_at.get(&key).is_some_and(|at| now.duration_since(*at).unsigned_abs() < every)
        {
            return None;
        }
        infra.manager_memory.copy_read_at.insert(key, now);
        infra.copy_result(&access.pod)
    }

    fn forget(&self, db: &Key) {
        let memory = &mut self.infra.borrow_mut().manager_memory;
        memory.answers.remove(&*db.name);
        memory.silent.remove(&*db.name);
        memory.copy_read_at.remove(&*db.name);
    }
}
