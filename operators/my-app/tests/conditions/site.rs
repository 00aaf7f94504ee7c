//! A MyApp and its controllers in a cluster in memory, and the operator over stores that are behind.

use std::sync::Arc;

use api::ReconcileReason;
use jiff::ToSpan;
use my_app::{MyApp, MyAppOperator, plan};
use runtime::Error;
use runtime::cache::{CacheEntry, Projection, Store};
use runtime::plan::{Effect, Key, ResourceKind};
use runtime::projections::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

use crate::cluster;
use crate::judge::{Child, Children, QueryResults, RouteVisibility, Sample};
use crate::observe::observe;

mod outside;
mod pods;
mod queries;
mod step;

pub use outside::DEFAULT_CLASS;
use queries::ApiServer;
pub use step::{About, Answer, Scaled, Step, Verdict, spec, step};

pub struct Site {
    cluster: FakeCluster,
    operator: MyAppOperator,
    apps: Arc<Store<MyApp>>,
    routes: Arc<Store<HttpRoute>>,
    /// Whether HTTPRoutes are served; the store may not know yet.
    served: bool,
    /// What the manager knows of HTTPRoutes.
    visibility: RouteVisibility,
    api_server: ApiServer,
    key: Key,
    created: usize,
}

/// Kinds of children.
const KINDS: [ResourceKind; 6] =
    [Deployment::KIND, Service::KIND, DisruptionBudget::KIND, Autoscaler::KIND, Ingress::KIND, HttpRoute::KIND];

impl Site {
    pub fn new(spec: &Value) -> Self {
        let (cluster, operator, mut cache, key) = cluster::holding(json!({ "metadata": {}, "spec": spec }));
        let (apps, routes) = (cache.store(), cache.store());
        let api_server = ApiServer::default();
        api_server.set("settings", Some(0));
        Self {
            cluster,
            operator,
            apps,
            routes,
            served: true,
            visibility: RouteVisibility::Served,
            api_server,
            key,
            created: 0,
        }
    }

    /// Takes the step. Returns a sample if the operator wrote a status.
    pub fn take(&mut self, step: Step) -> Option<Sample> {
        let key = self.key.clone();
        self.cluster.now += 1.seconds();
        match step {
            Step::Edit { spec, only: [] } => self.cluster.edit(MyApp::KIND, &key, |app| app["spec"] = spec),
            Step::Edit { spec, only } => self.cluster.edit(MyApp::KIND, &key, |app| {
                only.iter().for_each(|field| app["spec"][*field] = spec[*field].clone());
            }),
            Step::Reconcile { sees } => {
                self.cluster.deliver_own_writes();
                self.cluster.deliver_events(sees);
                return self.reconcile(false);
            }
            Step::Blind => {
                self.cluster.deliver_own_writes();
                self.cluster.deliver_events(1);
                return self.reconcile(true);
            }
            Step::Calm => self.calm(),
            Step::Sync { rejected } => self.sync(rejected),
            Step::Kubelet(number, state) => self.kubelet(number, state),
            Step::Release(number) => self.release(number),
            Step::TimeOut => self.time_out(),
            Step::HandEdit(kind) => self.hand_edit(kind),
            Step::HandLabel(kind) => self.hand_label(kind),
            Step::HandDelete(kind) if self.is_owned(kind) => self.cluster.remove(kind, &key),
            Step::HandDelete(_) => {}
            Step::Leave(kind) => self.leave(kind),
            Step::ForeignObject(kind) => self.foreign_object(kind),
            Step::Webhook(kind) => self.webhook(kind),
            Step::Scale(scaled, number) => self.scale(scaled, number),
            Step::Gateway { verdict, about } => self.judge_route(verdict, about),
            Step::Address(given) => self.address(given),
            Step::Crd(is_there) => self.crd(is_there),
            Step::Discover { fails } => self.discover(fails),
            Step::Source(name, content) => self.api_server.set(name, content),
            Step::Read(answer) => self.api_server.answer_reads(answer),
            Step::DryRun(answer) => self.api_server.answer_dry_runs(answer),
        }
        None
    }

    fn version(&self, kind: ResourceKind) -> Value {
        self.cluster.get(kind, &self.key).map_or(Value::Null, |live| live["metadata"]["resourceVersion"].clone())
    }

    /// As the stores held it, and as this reconcile wrote it. A foreign object counts as none.
    fn child(&self, kind: ResourceKind, shown: Option<Value>, wrote: bool, app: &Value) -> Child {
        let owned = |child: &&Value| child["metadata"]["ownerReferences"][0]["uid"] == app["metadata"]["uid"];
        let shown = shown.as_ref().filter(owned);
        let live = if wrote { self.cluster.get(kind, &self.key).filter(owned) } else { shown };
        let mut live = live.cloned();
        if let (true, Some(live)) = (wrote, &mut live) {
            // Its status is that of the store.
            let same = shown.filter(|shown| shown["metadata"]["uid"] == live["metadata"]["uid"]);
            live["status"] = same.map_or(Value::Null, |shown| shown["status"].clone());
        }
        let is_foreign = self.cluster.get(kind, &self.key).is_some_and(|child| !owned(&child));
        let is_terminating =
            self.cluster.get(kind, &self.key).is_some_and(|child| child["metadata"]["deletionTimestamp"].is_string());
        Child {
            shown: shown.cloned(),
            live,
            wrote,
            is_foreign,
            is_terminating,
            is_rejected: self.cluster.refusal(kind).is_some(),
        }
    }

    fn reconcile(&mut self, blind: bool) -> Option<Sample> {
        let Some(CacheEntry::Object(object)) = self.apps.get(&self.key) else { return None };
        let app = self.cluster.cached(MyApp::KIND, &self.key).cloned()?;
        let before = KINDS.map(|kind| (self.version(kind), self.cluster.cached(kind, &self.key).cloned()));
        let status = self.version(MyApp::KIND);
        let pods = self.cluster.all_cached(Pod::KIND).cloned().collect();
        let mut queried = QueryResults { is_blind: blind, ..QueryResults::default() };
        let mut deleted = [false; KINDS.len()];
        if blind {
            let reason = ReconcileReason::WatchFailing.into();
            let blind = Error::Transient { reason, message: "no list".to_owned(), stalled: true };
            drop(self.cluster.fail_observe(&*object, &blind));
        } else {
            let observed = observe(&self.operator, &object, &self.api_server, self.cluster.now);
            queried = self.api_server.take_answers(&app, observed.contents.digest.as_deref());
            let planned = plan::plan(&observed, self.cluster.now);
            let is_deleted = |kind: &ResourceKind| {
                planned.effects.iter().any(|effect| matches!(effect, Effect::Delete(delete) if delete.kind == *kind))
            };
            deleted = KINDS.map(|kind| is_deleted(&kind));
            let ingress =
                self.cluster.get(Ingress::KIND, &self.key).map_or(Value::Null, |live| live["metadata"]["uid"].clone());
            drop(self.cluster.reconcile(&*object, planned));
            self.give_class(&ingress);
        }
        if self.version(MyApp::KIND) == status {
            return None;
        }
        let [deployment, service, budget, autoscaler, ingress, http_route] = std::array::from_fn(|at| {
            let (version, shown) = &before[at];
            // The API server also reports a deleted object as deleted already.
            let wrote = self.version(KINDS[at]) != *version || deleted[at];
            self.child(KINDS[at], shown.clone(), wrote, &app)
        });
        Some(Sample {
            status: self.cluster.get(MyApp::KIND, &self.key)?["status"].clone(),
            replica_set: deployment.live.as_ref().map(pods::replica_set).unwrap_or_default(),
            children: Children { deployment, service, budget, autoscaler, ingress, http_route },
            app,
            visibility: self.visibility,
            pods,
            queried,
        })
    }
}
