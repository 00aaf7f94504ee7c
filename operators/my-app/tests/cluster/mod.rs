//! A cluster in memory that holds one MyApp, and an operator whose stores are fed from it.

use my_app::{MyApp, MyAppOperator};
use runtime::cache::{Cache, Projection};
use runtime::plan::Key;
use runtime::projections::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};
use runtime::testing::World;
use serde_json::Value;

/// The cluster, the operator, its stores, and the key of `app`.
pub fn holding(app: Value) -> (World, MyAppOperator, Cache, Key) {
    let mut cache = Cache::new(&[]);
    let operator = MyAppOperator::new(&mut cache);
    let mut world = World::default();
    world.feed(&cache.store::<MyApp>());
    world.feed(&cache.store::<Deployment>());
    world.feed(&cache.store::<Service>());
    world.feed(&cache.store::<DisruptionBudget>());
    world.feed(&cache.store::<Autoscaler>());
    world.feed(&cache.store::<Ingress>());
    world.feed(&cache.store::<HttpRoute>());
    world.feed(&cache.store::<Pod>());
    let key = Key::new("n", "app");
    world.create(MyApp::KIND, &key, app);
    (world, operator, cache, key)
}
