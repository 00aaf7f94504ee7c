//! A cluster in memory with one MyApp, and an operator whose stores receive its events.

use my_app::{MyApp, MyAppOperator};
use runtime::cache::{Cache, Projection};
use runtime::plan::Key;
use runtime::projections::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};
use runtime::testing::FakeCluster;
use serde_json::Value;

/// The cluster, the operator, its stores, and the key of `app`.
pub fn holding(app: Value) -> (FakeCluster, MyAppOperator, Cache, Key) {
    let mut cache = Cache::new(&[]);
    let operator = MyAppOperator::new(&mut cache);
    let mut cluster = FakeCluster::default();
    cluster.feed(&cache.store::<MyApp>());
    cluster.feed(&cache.store::<Deployment>());
    cluster.feed(&cache.store::<Service>());
    cluster.feed(&cache.store::<DisruptionBudget>());
    cluster.feed(&cache.store::<Autoscaler>());
    cluster.feed(&cache.store::<Ingress>());
    cluster.feed(&cache.store::<HttpRoute>());
    cluster.feed(&cache.store::<Pod>());
    let key = Key::new("n", "app");
    cluster.create(MyApp::KIND, &key, app);
    (cluster, operator, cache, key)
}
