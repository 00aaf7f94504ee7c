//! What live systems answer to the manager's queries: the API server, and PostgreSQL.

use std::cell::RefCell;
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use api::ReconcileReason;
use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::plan::{Create, DryRun, Key, Kind};
use runtime::testing::World;
use sample_db::database::{Asked, is_young};
use sample_db::operand::database_state::shuts_out;
use sample_db::{Access, ApiQueries, SECRET, SampleDB, ServerQueries};
use serde_json::{Value, json};

use crate::site::Site;

/// For how long what a server said is taken for true; less while an upgrade opens and closes the door.
const SAID: SignedDuration = SignedDuration::from_secs(20);
const UPGRADING: SignedDuration = SignedDuration::from_secs(2);

/// The world at one moment.
pub struct Live<'a> {
    world: &'a World,
    site: RefCell<&'a mut Site>,
}

impl<'a> Live<'a> {
    pub fn of(world: &'a World, site: &'a mut Site) -> Self {
        Self { world, site: RefCell::new(site) }
    }

    pub fn now(&self) -> Timestamp {
        self.site.borrow().now
    }

    fn blind(&self) -> Result<(), Error> {
        if self.site.borrow().faults.blind {
            return Err(Error::transient(ReconcileReason::APIServerError, "the API server is not available"));
        }
        Ok(())
    }
}

impl ApiQueries for Live<'_> {
    async fn get(&self, kind: Kind, key: &Key) -> Result<Option<Value>, Error> {
        self.blind()?;
        let site = self.site.borrow();
        if kind == SECRET {
            return Ok(site.secrets.get(&*key.name).map(|secret| secret.object(key)));
        }
        if *key.name == *"sql" {
            return Ok(Some(json!({ "metadata": { "name": "sql" }, "data": { "init.sql": site.sql.0 } })));
        }
        Ok(self.world.get(kind, key).cloned())
    }

    async fn dry_run(&self, pod: &Create) -> DryRun {
        match self.blind() {
            Err(error) => DryRun::Unknown(error.to_string()),
            Ok(()) if self.site.borrow().rejects(&pod.body) => DryRun::Rejected("the policy says no".to_owned()),
            Ok(()) => DryRun::Accepted,
        }
    }

    async fn assigns_uids(&self, _: &str) -> Result<bool, Error> {
        let read = self.blind();
        let mut site = self.site.borrow_mut();
        if !site.held.namespace {
            read?;
        }
        site.held.namespace = true;
        Ok(site.assigns_uids)
    }

    async fn is_terminating(&self, _: &str, _: Kind) -> bool {
        self.blind().is_ok() && self.site.borrow().going
    }
}

impl ServerQueries for Live<'_> {
    async fn ask(&self, db: &SampleDB, access: &Access) -> Asked {
        let mut site = self.site.borrow_mut();
        let (key, now) = (db.meta.key.name.to_string(), site.now);
        let app = access.app.as_ref().map(|app| app.text().to_owned());
        let (system, step) = (access.system.text(), db.status.upgrade.step);
        let of = format!("{} {app:?} {system:?} {:?} {step:?}", access.pod, db.spec.engine.parameters);
        let lasts = if shuts_out(db) && is_young(db, now) { UPGRADING } else { SAID };
        if let Some((held, at, said)) = site.held.said.get(&key)
            && *held == of
            && now.duration_since(*at) < lasts
        {
            return said.clone();
        }
        let said = site.answer(self.world, db, &access.pod, system, app);
        if site.serves(&access.pod) {
            site.held.silent.remove(&key);
        } else {
            site.held.silent.entry(key.clone()).or_insert(now);
        }
        if matches!(said, Asked::Answered(_)) {
            site.held.said.insert(key, (of, now, said.clone()));
        }
        said
    }

    async fn knock(&self, db: &SampleDB, access: &Access) {
        let mut site = self.site.borrow_mut();
        let (key, now) = (db.meta.key.name.to_string(), site.now);
        if site.serves(&access.pod) {
            site.held.silent.remove(&key);
        } else {
            site.held.silent.entry(key).or_insert(now);
        }
    }

    fn silent_for(&self, db: &Key) -> Option<Duration> {
        let site = self.site.borrow();
        let since = site.held.silent.get(&*db.name)?;
        Some(site.now.duration_since(*since).unsigned_abs())
    }

    fn is_away(&self, db: &Key) {
        self.site.borrow_mut().held.silent.remove(&*db.name);
    }

    async fn copied(&self, db: &Key, access: &Access, every: Duration) -> Option<PgUpgradeResult> {
        let mut site = self.site.borrow_mut();
        let (key, now) = (db.name.to_string(), site.now);
        if site.held.noted.get(&key).is_some_and(|at| now.duration_since(*at).unsigned_abs() < every) {
            return None;
        }
        site.held.noted.insert(key, now);
        site.copied(&access.pod)
    }

    fn forget(&self, db: &Key) {
        let held = &mut self.site.borrow_mut().held;
        held.said.remove(&*db.name);
        held.silent.remove(&*db.name);
        held.noted.remove(&*db.name);
    }
}
