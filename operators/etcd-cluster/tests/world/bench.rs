//! The world with an operator in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use api::ReconcileReason;
use etcd_cluster::EtcdClusterKind;
use etcd_cluster::observe::{SecretFiles, Stores};
use etcd_cluster::plan::{self, EtcdAct, EtcdPlan};
use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::cache::{Cache, CacheEntry, Projection};
use runtime::plan::{Effect, Key, ResourceKind};
use runtime::projections::{CustomKind as _, Pod, Pvc, Service};
use runtime::testing::FakeCluster;
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::{Value, json};

use crate::asked::change_of;
use crate::guard::Guard;
use crate::kubelet::{Kubelet, seen};
use crate::raft::Etcds;

/// How long a tick takes.
const TICK: SignedDuration = SignedDuration::from_secs(2);

/// The stores of an operator, which the world feeds.
fn fed(world: &mut FakeCluster) -> Stores {
    let stores = Stores::new(&mut Cache::new(&[]));
    world.feed(&stores.clusters);
    world.feed(&stores.pods);
    world.feed(&stores.claims);
    world.feed(&stores.services);
    world.feed(&stores.budgets);
    world.feed(&stores.restores);
    stores
}

/// The world with an operator in it.
pub struct Bench {
    pub world: FakeCluster,
    pub stores: Stores,
    pub etcds: Etcds,
    pub kubelet: Kubelet,
    pub key: Key,
    pub now: Timestamp,
    /// Pods that the operator cannot reach.
    pub cut: BTreeSet<String>,
    /// Whether a network policy allows the operator to reach only pods with one label.
    pub policy: bool,
    /// Whether cluster DNS publishes no address.
    pub mute: bool,
    /// Why the API server rejects pods of the current spec.
    pub refuses: Option<String>,
    /// The Secrets of the namespace, by name.
    pub secrets: BTreeMap<String, SecretFiles>,
    /// Whether there is a default StorageClass.
    pub default_class: bool,
    /// Whether the API server answers no query of the operator; its watches continue.
    pub blind: bool,
    /// Whether the namespace assigns the user ids of pods.
    pub assigns_uids: bool,
    /// Whether the namespace is terminating.
    pub terminating: bool,
    /// The cluster id when status was lost.
    pub latched: Option<String>,
    /// The object's uid before its restore from a backup.
    pub earlier: Option<String>,
    pub names: u64,
    pub guard: Guard,
    /// What happened: lines, and how often each was repeated.
    pub trace: Vec<(String, u32)>,
    /// The number of acts so far.
    pub acts: usize,
    /// The number of effects of the last reconcile.
    pub last: usize,
    /// Whether the operator died in the last reconcile.
    pub died: bool,
    /// Reasons of events so far.
    pub events: Vec<String>,
}

impl Bench {
    /// A new cluster with that spec.
    pub fn new(spec: &Value) -> Self {
        let mut world = FakeCluster::default();
        let stores = fed(&mut world);
        world.block_deletion(Pod::KIND);
        world.block_deletion(Pvc::KIND);
        world.block_deletion(EtcdClusterKind::KIND);
        let key = Key::new("n", "c");
        world.create(EtcdClusterKind::KIND, &key, json!({ "metadata": {}, "spec": spec }));
        world.deliver_all_events();
        Self {
            world,
            stores,
            etcds: Etcds::default(),
            kubelet: Kubelet::default(),
            key,
            now: Timestamp::UNIX_EPOCH,
            cut: BTreeSet::new(),
            policy: false,
            mute: false,
            refuses: None,
            secrets: BTreeMap::new(),
            default_class: true,
            blind: false,
            assigns_uids: false,
            terminating: false,
            latched: None,
            earlier: None,
            names: 0,
            guard: Guard::default(),
            trace: Vec::new(),
            acts: 0,
            last: 0,
            died: false,
            events: Vec::new(),
        }
    }

    /// A copy of the world.
    pub fn fork(&self) -> Self {
        let mut world = self.world.copy_without_stores();
        let stores = fed(&mut world);
        world.list_all();
        world.deliver_all_events();
        Self {
            world,
            stores,
            etcds: self.etcds.clone(),
            kubelet: self.kubelet.clone(),
            key: self.key.clone(),
            cut: self.cut.clone(),
            refuses: self.refuses.clone(),
            secrets: self.secrets.clone(),
            latched: self.latched.clone(),
            earlier: self.earlier.clone(),
            guard: self.guard.clone(),
            trace: self.trace.clone(),
            events: self.events.clone(),
            ..*self
        }
    }

    /// The object on the API server.
    pub fn object(&self) -> &Value {
        self.world.get(EtcdClusterKind::KIND, &self.key).expect("it is not deleted")
    }

    /// Changes the object, as a user would.
    pub fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        self.world.edit(EtcdClusterKind::KIND, &self.key.clone(), change);
    }

    /// Advances everything but the operator.
    pub fn tick(&mut self) {
        self.now += TICK;
        let service = self.key.sibling("c-client");
        self.etcds.pace.writing = !self.etcds.pace.idle && self.world.get(Service::KIND, &service).is_some();
        self.kubelet.tick(&mut self.world, &mut self.etcds, self.now);
        self.etcds.tick();
        self.collect();
        self.kubelet.report(&mut self.world, &self.etcds);
        self.guard.check_state(&self.world, &mut self.etcds);
    }

    /// Deletes the object, as a user does.
    pub fn delete(&mut self) {
        self.world.delete(EtcdClusterKind::KIND, &self.key.clone());
    }

    /// Removes a terminating object without finalizers.
    fn collect(&mut self) {
        let free = |live: &&Value| !live["metadata"]["deletionTimestamp"].is_null() && !is_held(live);
        if self.world.get(EtcdClusterKind::KIND, &self.key).filter(free).is_some() {
            self.world.remove(EtcdClusterKind::KIND, &self.key.clone());
        }
        self.world.collect_garbage();
    }

    /// One reconcile with what the stores hold.
    pub fn pass(&mut self, pass: ReconcileFaults) {
        if !pass.stale_caches {
            self.world.deliver_own_writes();
        }
        let Some(CacheEntry::Object(cluster)) = self.stores.clusters.get(&self.key) else { return };
        let observed = match self.observe(&cluster) {
            Ok(observed) => observed,
            Err(error) => {
                (self.last, self.died) = (0, false);
                return self.log(&format!("  not observed: {error}"));
            }
        };
        let plan = plan::plan(&observed, self.now);
        self.log_plan(&plan);
        let cut = &self.unreached();
        self.guard.before(&self.world, &self.etcds, cut, &observed, &plan);
        self.guard.rolls(&self.etcds, &self.kubelet, &observed, &plan, self.now);
        self.world.remaining_writes = pass.crash_after;
        let (events, count) = (plan.events_after_status.clone(), plan.effects.len());
        let (etcds, guard, acts) = (&mut self.etcds, &mut self.guard, &mut self.acts);
        let done = self.world.reconcile_with(&*cluster, plan, |world, act: EtcdAct| {
            *acts += 1;
            must_hold(world, &act)?;
            guard.act(etcds, &observed, &act, cut, pass.act_answer)
        });
        self.world.remaining_writes = None;
        self.last = count;
        match &done {
            Ok(()) => self.events.extend(events.into_iter().map(|event| event.reason.to_string())),
            Err(error) => {
                let died = "the manager dies".to_owned();
                self.log(&format!("    {}", error.as_ref().map_or(died, ToString::to_string)));
            }
        }
        self.died = matches!(done, Err(None));
        if self.died {
            // The next one starts with a list of everything.
            self.world.deliver_all_events();
        }
        self.guard.after(&self.world, &mut self.etcds);
    }

    /// Pods that the operator cannot reach, though others may.
    pub fn unreached(&self) -> BTreeSet<String> {
        let hidden = seen(&self.world).into_iter().filter(|pod| pod.hidden || self.policy && !pod.allowed);
        hidden.map(|pod| pod.name).chain(self.cut.iter().cloned()).collect()
    }

    /// Logs a plan.
    fn log_plan(&mut self, plan: &EtcdPlan) {
        let ready = plan.status.as_ref().and_then(|status| status.contract.condition("Ready").cloned());
        let ready = ready.map(|ready| format!("{}: {}", ready.reason, ready.message)).unwrap_or_default();
        let mut line = format!("  {ready}");
        for effect in &plan.effects {
            let _ = match effect {
                Effect::Apply(apply) => write!(line, "; apply {} {}", apply.kind.kind, apply.key.name),
                Effect::Create(create) => write!(line, "; create {} {}", create.kind.kind, create.key.name),
                Effect::Delete(delete) => write!(line, "; delete {} {}", delete.kind.kind, delete.key.name),
                Effect::Act(act) => write!(line, "; {act:?}"),
            };
        }
        self.log(&line);
    }

    /// Logs what happened. Repetitions are counted.
    pub fn log(&mut self, what: &str) {
        let last = self.trace.iter_mut().rev().take(2).find(|line| line.0 == what);
        match last {
            Some((_, times)) => *times += 1,
            None => self.trace.push((what.to_owned(), 1)),
        }
    }
}

/// Whether a finalizer holds an object.
pub fn is_held(live: &Value) -> bool {
    live["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// What the operator verifies by live reads.
fn must_hold(world: &FakeCluster, act: &EtcdAct) -> Result<(), Error> {
    let plan::EtcdChange::Remove { absent, staying, .. } = change_of(act).1 else { return Ok(()) };
    let stays = |(kind, key): &(ResourceKind, Key)| {
        let leaves = |object: &&Value| *kind == Pvc::KIND && !object["metadata"]["deletionTimestamp"].is_null();
        world.get(*kind, key).filter(|object| !leaves(object)).is_some()
    };
    let goes = |key: &Key| world.get(Pod::KIND, key).is_none_or(|pod| !pod["metadata"]["deletionTimestamp"].is_null());
    if absent.iter().any(stays) || staying.iter().any(goes) {
        return Err(Error::transient(ReconcileReason::Conflict, "the object still exists, or the pod does not stay"));
    }
    Ok(())
}
