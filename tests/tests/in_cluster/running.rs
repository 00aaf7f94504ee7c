//! Whether a MyApp runs, and by which pods.

use std::collections::BTreeSet;

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use e2e::objects::{runs, serves};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;

/// Waits until the MyApp `web` is ready with so many pods.
pub async fn running(ns: &Namespace, pods: i32) {
    ns.until::<MyApp, ()>("web", "it to run", |app| runs(app?, pods).then_some(())).await;
}

/// The same as of that generation of the MyApp.
pub async fn running_as(ns: &Namespace, generation: i64, pods: i32) {
    ns.until::<MyApp, ()>("web", &format!("generation {generation} to run with {pods} pods"), |app| {
        (app?.metadata.generation == Some(generation) && runs(app?, pods)).then_some(())
    })
    .await;
}

/// The uids of the pods that serve.
pub async fn serving(ns: &Namespace) -> BTreeSet<String> {
    let pods = ns.api::<Pod>().list(&ListParams::default()).await.expect("pods can be listed");
    pods.items.into_iter().filter(serves).filter_map(|pod| pod.metadata.uid).collect()
}
