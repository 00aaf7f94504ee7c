//! The simulated cluster with the operators.

use std::fmt::Write as _;
use std::sync::Arc;

use api::ReconcileReason;
use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::cache::{CacheEntry, Projection as _};
use runtime::plan::{Apply, Effect, Key, Plan};
use runtime::projections::{Pod, Pvc};
use runtime::testing::FakeCluster;
use runtime::testing::fault_injection::{ActAnswer, ReconcileFaults};
use sample_db::database::{self, DbAct};
use sample_db::snapshot;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::infrastructure::{Infrastructure, is_terminating};
use crate::invariants::Invariants;
use crate::manager::Manager;

/// How long a tick takes.
const TICK: SignedDuration = SignedDuration::from_secs(2);
/// When simulations begin: far from the times of a usual schedule.
pub const BEGIN: i64 = 1_799_967_600;

/// An act of a plan, or a write that the API server rejects.
enum SimulatedAct {
    Real(DbAct),
    Rejected,
}

/// The simulated cluster with the operators.
pub struct Simulation {
    pub cluster: FakeCluster,
    pub manager: Manager,
    pub infra: Infrastructure,
    /// The database that scenarios are about.
    pub key: Key,
    pub invariants: Invariants,
    /// What happened, with the number of repetitions.
    pub trace: Vec<(String, u32)>,
    /// The number of acts on servers and Secrets so far.
    pub acts: usize,
    /// The number of effects of the last round of reconciles.
    pub last: usize,
    /// The UID of the database that was deleted last.
    pub deleted_uid: Option<String>,
    /// Whether the manager crashed in the last round.
    pub died: bool,
}

impl Simulation {
    /// A simulation with a database of that spec, which the operator has not observed yet.
    pub fn new(spec: &Value) -> Self {
        let mut cluster = FakeCluster::default();
        let manager = Manager::fed(&mut cluster);
        for kind in [Pod::KIND, Pvc::KIND, SampleDB::KIND, Snapshot::KIND] {
            cluster.block_deletion(kind);
        }
        let now = Timestamp::from_second(BEGIN).expect("it is a time");
        let infra = Infrastructure { now, sql: ("one".to_owned(), true), ..Infrastructure::default() };
        let key = Key::new("n", "shop");
        let mut sim = Self {
            cluster,
            manager,
            infra,
            key: key.clone(),
            invariants: Invariants::default(),
            trace: Vec::new(),
            acts: 0,
            last: 0,
            deleted_uid: None,
            died: false,
        };
        sim.create(&key, spec, &json!({}));
        sim.cluster.deliver_all_events();
        sim
    }

    /// A copy of the simulation.
    pub fn fork(&self) -> Self {
        let mut cluster = self.cluster.copy_without_stores();
        let manager = self.manager.fork(&mut cluster);
        cluster.list_all();
        cluster.deliver_all_events();
        Self {
            cluster,
            manager,
            infra: self.infra.clone(),
            key: self.key.clone(),
            invariants: self.invariants.clone(),
            trace: self.trace.clone(),
            deleted_uid: self.deleted_uid.clone(),
            ..*self
        }
    }

    /// Creates another database, or a later one of the same name.
    pub fn create(&mut self, key: &Key, spec: &Value, annotations: &Value) {
        self.cluster.create(SampleDB::KIND, key, json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    }

    /// Advances everything but the operator by one tick.
    pub fn tick(&mut self) {
        self.infra.now += TICK;
        let (infra, cluster) = (&mut self.infra, &mut self.cluster);
        infra.collect_garbage(cluster);
        infra.run_stateful_sets(cluster);
        infra.run_jobs(cluster);
        infra.run_kubelets(cluster);
        infra.run_pvcs(cluster);
        let databases: Vec<Key> = cluster.all(SampleDB::KIND).map(|(key, _)| key.clone()).collect();
        databases.iter().for_each(|key| infra.write(cluster, key));
        self.invariants.check_state(cluster, infra);
    }

    /// Reconciles each object that stores hold.
    pub fn reconcile_all(&mut self, pass: ReconcileFaults) {
        if !pass.stale_caches {
            self.cluster.deliver_own_writes();
        }
        (self.last, self.died) = (0, false);
        self.cluster.remaining_writes = pass.crash_after;
        let (databases, snapshots) = self.manager.keys();
        for key in databases {
            if let Some(CacheEntry::Object(db)) = self.manager.databases.databases.get(&key).filter(|_| !self.died) {
                self.reconcile_database(&db, pass.act_answer);
            }
        }
        for key in snapshots {
            if let Some(CacheEntry::Object(snapshot)) =
                self.manager.snapshots.snapshots.get(&key).filter(|_| !self.died)
            {
                self.reconcile_snapshot(&snapshot);
            }
        }
        self.cluster.remaining_writes = None;
        self.end_reconciles();
    }

    /// Advances by one tick, and reconciles snapshots alone.
    pub fn round_of_snapshots(&mut self) {
        self.tick();
        self.cluster.deliver_all_events();
        for key in self.manager.keys().1 {
            if let Some(CacheEntry::Object(snapshot)) = self.manager.snapshots.snapshots.get(&key) {
                self.reconcile_snapshot(&snapshot);
            }
        }
        self.end_reconciles();
    }

    fn end_reconciles(&mut self) {
        if self.died {
            // The next manager begins by listing everything.
            self.manager.restart(&mut self.infra);
            self.cluster.deliver_all_events();
        }
        self.infra.collect_garbage(&mut self.cluster);
    }

    fn reconcile_database(&mut self, db: &Arc<SampleDB>, answer: ActAnswer) {
        let observed = match self.manager.observe(&self.cluster, &mut self.infra, db) {
            Ok(observed) => observed,
            Err(error) => return self.log(&format!("  {} is not observed: {error}", db.meta.key.name)),
        };
        let plan = database::plan(&observed, self.infra.now);
        let ready = plan.status.as_ref().and_then(|status| status.contract.condition("Ready").cloned());
        let line = ready.map(|ready| format!("{}: {}", ready.reason, ready.message)).unwrap_or_default();
        let step = plan.status.as_ref().and_then(|status| status.upgrade.step);
        self.log_plan(&format!("{} {step:?} {line}", db.meta.key.name), &plan.effects, &plan.independent);
        self.last += plan.effects.len() + plan.independent.len();
        self.invariants.before(&self.cluster, &observed, &plan);
        Invariants::check_users(&mut self.infra, &plan.effects);
        let plan = self.with_rejections(&db.meta, plan, SimulatedAct::Real);
        let (infra, acts, manager) = (&mut self.infra, &mut self.acts, &self.manager);
        let done = self.cluster.reconcile_with(&**db, plan, |cluster, act| match act {
            SimulatedAct::Real(act) => {
                *acts += 1;
                infra.act(cluster, manager, db, &act, answer)
            }
            SimulatedAct::Rejected => {
                Err(Error::transient(ReconcileReason::Forbidden, "the owner or the namespace is terminating"))
            }
        });
        self.done(done);
        self.invariants.after(&self.cluster, &mut self.infra);
    }

    fn reconcile_snapshot(&mut self, snapshot: &Arc<Snapshot>) {
        let observed = match self.manager.observe_snapshot(&self.cluster, &mut self.infra, snapshot) {
            Ok(observed) => observed,
            Err(error) => return self.log(&format!("  {} is not observed: {error}", snapshot.meta.key.name)),
        };
        let plan = snapshot::plan::plan(&observed, self.infra.now);
        let ready = plan.status.as_ref().and_then(|status| status.contract.condition("Ready").cloned());
        let line = ready.map(|ready| format!("{}: {}", ready.reason, ready.message)).unwrap_or_default();
        self.log_plan(&format!("{} {line}", snapshot.meta.key.name), &plan.effects, &plan.independent);
        self.last += plan.effects.len() + plan.independent.len();
        self.invariants.remember(&self.cluster, &plan.effects);
        Invariants::check_users(&mut self.infra, &plan.effects);
        let plan = self.with_rejections(&snapshot.meta, plan, |never| match never {});
        let done = self
            .cluster
            .reconcile_with(&**snapshot, plan, |_, _| Err(Error::transient(ReconcileReason::Forbidden, "no")));
        self.done(done);
        self.invariants.after(&self.cluster, &mut self.infra);
    }

    fn done(&mut self, done: Result<(), Option<Error>>) {
        self.died |= matches!(done, Err(None));
        if let Err(error) = done {
            self.log(&format!("    {}", error.map_or("the manager crashes".to_owned(), |error| error.to_string())));
        }
    }

    /// Replaces writes that the API server rejects in a terminating namespace, and writes that the runtime rejects for an owner
    /// that is terminating but not yet observed as such.
    fn with_rejections<S, X>(
        &self,
        owner: &runtime::plan::Meta,
        plan: Plan<S, X>,
        of: impl Fn(X) -> SimulatedAct,
    ) -> Plan<S, SimulatedAct> {
        let owner_goes = !owner.deleting
            && [SampleDB::KIND, Snapshot::KIND].iter().any(|kind| {
                self.cluster
                    .get(*kind, &owner.key)
                    .is_some_and(|live| live["metadata"]["uid"] == *owner.uid && is_terminating(live))
            });
        let owned = |body: &Value| body["metadata"]["ownerReferences"].is_array();
        let refused = |kind, key: &Key, body: &Value| {
            self.cluster.get(kind, key).is_none() && (self.infra.namespace_terminating || owner_goes && owned(body))
        };
        let bar = |effect: Effect<X>| match effect {
            Effect::Apply(apply) if refused(apply.kind, &apply.key, &apply.body) => Effect::Act(SimulatedAct::Rejected),
            Effect::Create(create) if refused(create.kind, &create.key, &create.body) => {
                Effect::Act(SimulatedAct::Rejected)
            }
            Effect::Apply(apply) => Effect::Apply(apply),
            Effect::Create(create) => Effect::Create(create),
            Effect::Delete(delete) => Effect::Delete(delete),
            Effect::Act(act) => Effect::Act(of(act)),
        };
        let Plan { effects, mut independent, events_after_status: events, events_after_effects: done, status, next } =
            plan;
        independent.retain(|apply: &Apply| !refused(apply.kind, &apply.key, &apply.body));
        Plan {
            effects: effects.into_iter().map(bar).collect(),
            independent,
            events_after_status: events,
            events_after_effects: done,
            status,
            next,
        }
    }

    /// Logs what a plan does.
    fn log_plan<X: std::fmt::Debug>(&mut self, line_start: &str, effects: &[Effect<X>], independent: &[Apply]) {
        let mut line = format!("  {line_start}");
        for effect in effects {
            let _ = match effect {
                Effect::Apply(apply) => write!(line, "; apply {} {}", apply.kind.kind, apply.key.name),
                Effect::Create(create) => write!(line, "; create {} {}", create.kind.kind, create.key.name),
                Effect::Delete(delete) => write!(line, "; delete {} {}", delete.kind.kind, delete.key.name),
                Effect::Act(act) => write!(line, "; {act:?}"),
            };
        }
        for apply in independent {
            let _ = write!(line, "; independent {} {}", apply.kind.kind, apply.key.name);
        }
        self.log(&line);
    }

    /// Logs what happened, once if it repeats.
    pub fn log(&mut self, what: &str) {
        let last = self.trace.iter_mut().rev().take(4).find(|line| line.0 == what);
        match last {
            Some((_, times)) => *times += 1,
            None => self.trace.push((what.to_owned(), 1)),
        }
    }

    /// Advances everything, including the operator.
    pub fn round(&mut self) {
        self.tick();
        self.cluster.deliver_all_events();
        self.reconcile_all(ReconcileFaults::default());
    }
}
