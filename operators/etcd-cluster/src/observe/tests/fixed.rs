//! Live systems with fixed responses.

use std::cell::RefCell;
use std::future::ready;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::namespaces::Termination;
use runtime::plan::{Apply, Key, ResourceKind};

use super::super::*;

/// An API server and etcd with fixed responses, which record the queries.
pub(super) struct Fixed {
    pub(super) live: BTreeMap<(&'static str, String), Value>,
    pub(super) unanswered: bool,
    pub(super) pods: Option<Vec<ObjectMeta>>,
    pub(super) dry_run: DryRun,
    pub(super) etcd: RefCell<Vec<Etcd>>,
    pub(super) queries: RefCell<Vec<String>>,
}

impl Fixed {
    pub(super) fn new() -> Self {
        Self {
            live: BTreeMap::new(),
            unanswered: false,
            pods: Some(Vec::new()),
            dry_run: DryRun::Accepted,
            etcd: RefCell::default(),
            queries: RefCell::default(),
        }
    }

    pub(super) fn record(&self, query: impl Into<String>) {
        self.queries.borrow_mut().push(query.into());
    }
}

impl Queries for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn random(&self) -> u64 {
        7
    }

    fn cluster_domain(&self) -> &str {
        "cluster.local"
    }

    fn wait(&self, _: Duration) -> impl Future<Output = ()> + Send {
        self.record("wait");
        ready(())
    }

    fn object(&mut self, kind: ResourceKind, name: &str) -> impl Future<Output = ObjectLookup> + Send {
        self.record(format!("{} {name}", kind.kind));
        let live = self.live.get(&(kind.kind, name.to_owned())).cloned();
        let known = live.map_or(ObjectLookup::Absent, |live| ObjectLookup::Found(Arc::new(live)));
        ready(if self.unanswered { ObjectLookup::Unknown } else { known })
    }

    fn pod(&self, name: &str) -> impl Future<Output = Result<Option<Value>, Error>> + Send {
        let pod = self.live.get(&("Pod", name.to_owned())).cloned();
        ready(if self.unanswered { Err(Error::transient(api::ReconcileReason::Conflict, "no")) } else { Ok(pod) })
    }

    fn secret(&self, name: &str, _: Duration) -> impl Future<Output = SecretLookup> + Send {
        self.record(format!("Secret {name}"));
        ready(SecretLookup::Absent)
    }

    fn labeled_pods(&self, _: &EtcdCluster) -> impl Future<Output = Option<Vec<ObjectMeta>>> + Send {
        self.record("labeled pods");
        ready(self.pods.clone())
    }

    fn default_class(&self, _: &Apply) -> impl Future<Output = Result<bool, String>> + Send {
        self.record("default class");
        ready(Ok(true))
    }

    fn dry_run(&self, _: &Create) -> impl Future<Output = DryRun> + Send {
        ready(self.dry_run.clone())
    }

    fn assigns_uids(&self) -> impl Future<Output = Result<bool, Error>> + Send {
        self.record("users");
        ready(Ok(true))
    }

    fn termination(&self) -> impl Future<Output = Option<Termination>> + Send {
        self.record("termination");
        ready(Some(Termination::Namespace))
    }

    fn ready_endpoints(&self, _: &Key) -> impl Future<Output = Vec<Box<str>>> + Send {
        ready(Vec::new())
    }

    fn etcd(&self, members: &[MemberEndpoint], _: Option<u64>) -> impl Future<Output = Etcd> + Send {
        self.record(format!("etcd {}", members.len()));
        let mut answers = self.etcd.borrow_mut();
        ready(if answers.is_empty() { Etcd::default() } else { answers.remove(0) })
    }

    fn cluster_version(&self, _: &str) -> impl Future<Output = Option<String>> + Send {
        ready(None)
    }

    fn snapshot_receivers(&self, _: &str) -> impl Future<Output = BTreeSet<u64>> + Send {
        ready(BTreeSet::new())
    }
}
