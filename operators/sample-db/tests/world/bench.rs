//! The world with the operators in it.

use std::fmt::Write as _;
use std::sync::Arc;

use api::ReconcileReason;
use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::cache::{Entry, Projection as _};
use runtime::plan::{Apply, Effect, Key, Plan};
use runtime::projections::{Claim, Pod};
use runtime::testing::World;
use runtime::testing::branching::{Answer, Pass};
use sample_db::database::{self, DbAct};
use sample_db::snapshot;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::guard::Guard;
use crate::manager::Manager;
use crate::site::{Site, is_going};

/// How long a tick takes.
const TICK: SignedDuration = SignedDuration::from_secs(2);
/// When worlds begin: no time of a usual schedule is near.
pub const BEGIN: i64 = 1_799_967_600;

/// An act of a plan, or what the API server refuses.
enum Act {
    Of(DbAct),
    Refused,
}

/// The world with the operators in it.
pub struct Bench {
    pub world: World,
    pub manager: Manager,
    pub site: Site,
    /// The database that stories are about.
    pub key: Key,
    pub guard: Guard,
    /// What happened, in words.
    pub trace: Vec<(String, u32)>,
    /// Acts upon servers and Secrets so far.
    pub acts: usize,
    /// The effects of the last round of passes.
    pub last: usize,
    /// The uid of the database that was deleted last.
    pub doomed: Option<String>,
    /// Whether the manager died in the last round.
    pub died: bool,
}

impl Bench {
    /// A database of that spec, of which the operator knows nothing yet.
    pub fn new(spec: &Value) -> Self {
        let mut world = World::default();
        let manager = Manager::fed(&mut world);
        for kind in [Pod::KIND, Claim::KIND, SampleDB::KIND, Snapshot::KIND] {
            world.linger(kind);
        }
        let now = Timestamp::from_second(BEGIN).expect("it is a time");
        let site = Site { now, sql: ("one".to_owned(), true), ..Site::default() };
        let key = Key::new("n", "shop");
        let mut bench = Self {
            world,
            manager,
            site,
            key: key.clone(),
            guard: Guard::default(),
            trace: Vec::new(),
            acts: 0,
            last: 0,
            doomed: None,
            died: false,
        };
        bench.create(&key, spec, &json!({}));
        bench.world.deliver_all();
        bench
    }

    /// Another world that is as this one is now.
    pub fn fork(&self) -> Self {
        let mut world = self.world.fork();
        let manager = self.manager.fork(&mut world);
        world.list();
        world.deliver_all();
        Self {
            world,
            manager,
            site: self.site.clone(),
            key: self.key.clone(),
            guard: self.guard.clone(),
            trace: self.trace.clone(),
            doomed: self.doomed.clone(),
            ..*self
        }
    }

    /// Another database, or one after that of the name.
    pub fn create(&mut self, key: &Key, spec: &Value, annotations: &Value) {
        self.world.create(SampleDB::KIND, key, json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    }

    /// Lets time go by for all but the operator.
    pub fn tick(&mut self) {
        self.site.now += TICK;
        let (site, world) = (&mut self.site, &mut self.world);
        site.collect(world);
        site.keep_sets(world);
        site.keep_jobs(world);
        site.keep_pods(world);
        site.keep_claims(world);
        let databases: Vec<Key> = world.all(SampleDB::KIND).map(|(key, _)| key.clone()).collect();
        databases.iter().for_each(|key| site.write(world, key));
        self.guard.standing(world, site);
    }

    /// A pass over each object that stores hold.
    pub fn pass(&mut self, pass: Pass) {
        if !pass.late {
            self.world.catch_up();
        }
        (self.last, self.died) = (0, false);
        self.world.lifetime = pass.lives;
        let (databases, snapshots) = self.manager.keys();
        for key in databases {
            if let Some(Entry::Object(db)) = self.manager.databases.databases.get(&key).filter(|_| !self.died) {
                self.pass_database(&db, pass.answer);
            }
        }
        for key in snapshots {
            if let Some(Entry::Object(snapshot)) = self.manager.snapshots.snapshots.get(&key).filter(|_| !self.died) {
                self.pass_snapshot(&snapshot);
            }
        }
        self.world.lifetime = None;
        self.end_pass();
    }

    /// Time goes by, and passes over snapshots alone come to their end.
    pub fn round_of_snapshots(&mut self) {
        self.tick();
        self.world.deliver_all();
        for key in self.manager.keys().1 {
            if let Some(Entry::Object(snapshot)) = self.manager.snapshots.snapshots.get(&key) {
                self.pass_snapshot(&snapshot);
            }
        }
        self.end_pass();
    }

    fn end_pass(&mut self) {
        if self.died {
            // The next one begins with a list of everything.
            self.manager.restart(&mut self.site);
            self.world.deliver_all();
        }
        self.site.collect(&mut self.world);
    }

    fn pass_database(&mut self, db: &Arc<SampleDB>, answer: Answer) {
        let observed = match self.manager.observe(&self.world, &mut self.site, db) {
            Ok(observed) => observed,
            Err(error) => return self.say(&format!("  {} is not observed: {error}", db.meta.key.name)),
        };
        let plan = database::plan(&observed, self.site.now);
        let ready = plan.status.as_ref().and_then(|status| status.contract.condition("Ready").cloned());
        let line = ready.map(|ready| format!("{}: {}", ready.reason, ready.message)).unwrap_or_default();
        let step = plan.status.as_ref().and_then(|status| status.upgrade.step);
        self.note(&format!("{} {step:?} {line}", db.meta.key.name), &plan.effects, &plan.independent);
        self.last += plan.effects.len() + plan.independent.len();
        self.guard.before(&self.world, &observed, &plan);
        Guard::users(&mut self.site, &plan.effects);
        let plan = self.barred(&db.meta, plan, Act::Of);
        let (site, acts, manager) = (&mut self.site, &mut self.acts, &self.manager);
        let done = self.world.pass_with(&**db, plan, |world, act| match act {
            Act::Of(act) => {
                *acts += 1;
                site.act(world, manager, db, &act, answer)
            }
            Act::Refused => Err(Error::transient(ReconcileReason::Forbidden, "it is not made any more")),
        });
        self.done(done);
        self.guard.after(&self.world, &mut self.site);
    }

    fn pass_snapshot(&mut self, snapshot: &Arc<Snapshot>) {
        let observed = match self.manager.observe_snapshot(&self.world, &mut self.site, snapshot) {
            Ok(observed) => observed,
            Err(error) => return self.say(&format!("  {} is not observed: {error}", snapshot.meta.key.name)),
        };
        let plan = snapshot::plan::plan(&observed, self.site.now);
        let ready = plan.status.as_ref().and_then(|status| status.contract.condition("Ready").cloned());
        let line = ready.map(|ready| format!("{}: {}", ready.reason, ready.message)).unwrap_or_default();
        self.note(&format!("{} {line}", snapshot.meta.key.name), &plan.effects, &plan.independent);
        self.last += plan.effects.len() + plan.independent.len();
        self.guard.see(&self.world, &plan.effects);
        Guard::users(&mut self.site, &plan.effects);
        let plan = self.barred(&snapshot.meta, plan, |never| match never {});
        let done =
            self.world.pass_with(&**snapshot, plan, |_, _| Err(Error::transient(ReconcileReason::Forbidden, "no")));
        self.done(done);
        self.guard.after(&self.world, &mut self.site);
    }

    fn done(&mut self, done: Result<(), Option<Error>>) {
        self.died |= matches!(done, Err(None));
        if let Err(error) = done {
            self.say(&format!("    {}", error.map_or("the manager dies".to_owned(), |error| error.to_string())));
        }
    }

    /// What the API server refuses to make in a namespace that is going, and the operators for an owner of which they have yet
    /// to see that it is.
    fn barred<S, X>(&self, owner: &runtime::plan::Meta, plan: Plan<S, X>, of: impl Fn(X) -> Act) -> Plan<S, Act> {
        let owner_goes = !owner.deleting
            && [SampleDB::KIND, Snapshot::KIND].iter().any(|kind| {
                self.world
                    .get(*kind, &owner.key)
                    .is_some_and(|live| live["metadata"]["uid"] == *owner.uid && is_going(live))
            });
        let owned = |body: &Value| body["metadata"]["ownerReferences"].is_array();
        let refused = |kind, key: &Key, body: &Value| {
            self.world.get(kind, key).is_none() && (self.site.going || owner_goes && owned(body))
        };
        let bar = |effect: Effect<X>| match effect {
            Effect::Apply(apply) if refused(apply.kind, &apply.key, &apply.body) => Effect::Act(Act::Refused),
            Effect::Create(create) if refused(create.kind, &create.key, &create.body) => Effect::Act(Act::Refused),
            Effect::Apply(apply) => Effect::Apply(apply),
            Effect::Create(create) => Effect::Create(create),
            Effect::Delete(delete) => Effect::Delete(delete),
            Effect::Act(act) => Effect::Act(of(act)),
        };
        let Plan { effects, mut independent, events, done, status, next } = plan;
        independent.retain(|apply: &Apply| !refused(apply.kind, &apply.key, &apply.body));
        Plan { effects: effects.into_iter().map(bar).collect(), independent, events, done, status, next }
    }

    /// Writes down what a plan says.
    fn note<X: std::fmt::Debug>(&mut self, said: &str, effects: &[Effect<X>], aside: &[Apply]) {
        let mut line = format!("  {said}");
        for effect in effects {
            let _ = match effect {
                Effect::Apply(apply) => write!(line, "; apply {} {}", apply.kind.kind, apply.key.name),
                Effect::Create(create) => write!(line, "; create {} {}", create.kind.kind, create.key.name),
                Effect::Delete(delete) => write!(line, "; delete {} {}", delete.kind.kind, delete.key.name),
                Effect::Act(act) => write!(line, "; {act:?}"),
            };
        }
        for apply in aside {
            let _ = write!(line, "; beside {} {}", apply.kind.kind, apply.key.name);
        }
        self.say(&line);
    }

    /// Writes down what happened; once, if it happens again and again.
    pub fn say(&mut self, what: &str) {
        let last = self.trace.iter_mut().rev().take(4).find(|line| line.0 == what);
        match last {
            Some((_, times)) => *times += 1,
            None => self.trace.push((what.to_owned(), 1)),
        }
    }

    /// All goes on, the operator included.
    pub fn round(&mut self) {
        self.tick();
        self.world.deliver_all();
        self.pass(Pass::default());
    }
}
