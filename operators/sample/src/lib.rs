//! The operator of Sample: keeps a ConfigMap of the Sample's name that holds its `testString`.
//!
//! It is the shortest complete operator of this project, and the template that docs/add-an-operator.md explains.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::permissions::Permission;
use runtime::plan::Plan;
use runtime::projections::ConfigMap;
use runtime::{Error, Operator};

mod kind;
pub mod plan;

pub use kind::{Sample, SampleKind};
use plan::Observed;

/// The permissions of the controller in each watched namespace.
pub const PERMISSIONS: &[Permission] = &[
    Permission { group: api::GROUP, resources: &["samples"], verbs: &["get", "list", "watch"] },
    Permission { group: api::GROUP, resources: &["samples/status"], verbs: &["patch"] },
    // For owner references that block deletion, if the plugin OwnerReferencesPermissionEnforcement is enabled (OpenShift).
    Permission { group: api::GROUP, resources: &["samples/finalizers"], verbs: &["update"] },
    // The same plugin requires `delete` from a client that adopts an orphan, and the operator replaces an immutable ConfigMap.
    Permission { group: "", resources: &["configmaps"], verbs: &["get", "list", "watch", "create", "patch", "delete"] },
];

/// The stores that the operator reads.
pub struct SampleOperator {
    samples: Arc<Store<Sample>>,
    config_maps: Arc<Store<ConfigMap>>,
}

impl SampleOperator {
    /// An operator over these caches.
    pub fn new(cache: &mut Cache) -> Self {
        Self { samples: cache.store(), config_maps: cache.store() }
    }

    /// What the stores have of `sample`, which is all that the operator observes.
    #[must_use]
    pub fn read_stores(&self, sample: &Arc<Sample>) -> Observed {
        let config_map = self.config_maps.child(&sample.meta.key, &sample.meta);
        Observed { sample: sample.clone(), config_map }
    }
}

impl Operator for SampleOperator {
    const NAME: &'static str = "sample";
    type Object = Sample;
    type Observed = Observed;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<Sample>> {
        &self.samples
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.config_maps);
    }

    async fn observe(&self, sample: &Arc<Sample>) -> Result<Observed, Error> {
        Ok(self.read_stores(sample))
    }

    fn plan(observed: &Observed, now: Timestamp) -> Plan<api::sample::SampleStatus> {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<Sample>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}
