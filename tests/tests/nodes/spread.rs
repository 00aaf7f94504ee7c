//! Three nodes in three zones, and a Deployment that spreads over them.

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::namespace::Namespace;
use e2e::objects::serves;
use e2e::process::{Install, Launch};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::pods::{SLEEP, container, node_of};
use crate::stage::{NODE_COMES_BACK, first, nodes, scripts_cluster, second, third, until_ready};

#[tokio::test]
async fn three_nodes_are_ready_each_in_a_zone_of_its_own() {
    let (second, third) = (second().await, third().await);
    let names = [first(), second.node.clone(), third.node.clone()];
    for name in &names {
        until_ready(name, "True", NODE_COMES_BACK).await;
    }
    let live = nodes().await.list(&ListParams::default()).await.expect("nodes can be listed").items;
    let found: BTreeMap<String, [Option<String>; 3]> = live
        .iter()
        .map(|node| {
            let label = |name: &str| node.labels().get(name).cloned();
            let labels = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
            (node.name_any(), labels.map(label))
        })
        .collect();
    let expected = names
        .iter()
        .zip(["zone-a", "zone-b", "zone-c"])
        .map(|(name, zone)| (name.clone(), [Some(name.clone()), Some(zone.to_owned()), Some("local".to_owned())]));
    assert_eq!(found, expected.collect());

    let status = scripts_cluster(&["status"]).await.ok();
    for name in &names {
        let line = status.lines().find(|line| line.starts_with(&format!("node {name} ")));
        assert!(line.is_some_and(|line| line.contains("running") && line.ends_with(", Ready")), "{name}: {status}");
    }
}

#[tokio::test]
async fn a_deployment_spreads_over_the_zones() {
    let (_second, _third) = (second().await, third().await);
    let ns = Namespace::without_manager("spread").await;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "spread" },
        "spec": {
            "replicas": 6, "selector": { "matchLabels": { "app": "spread" } },
            "template": {
                "metadata": { "labels": { "app": "spread" } },
                "spec": {
                    "topologySpreadConstraints": [{
                        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": { "matchLabels": { "app": "spread" } },
                    }],
                    "terminationGracePeriodSeconds": 1, "containers": [container(SLEEP, None)],
                },
            },
        },
    });
    ns.apply(&deployment.to_string()).await;
    assert_eq!(six_on_nodes(&ns).await.into_values().collect::<Vec<_>>(), [2, 2, 2]);
}

/// How many of six pods that serve each node has.
async fn six_on_nodes(ns: &Namespace) -> BTreeMap<String, usize> {
    let pods = ns
        .eventually("six pods that serve", || async {
            let pods = ns.api::<Pod>().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
            let serving = pods.iter().filter(|pod| serves(pod)).count();
            if serving == 6 { Ok(pods) } else { Err(format!("{serving} serve")) }
        })
        .await;
    let mut on_nodes = BTreeMap::<String, usize>::new();
    for pod in &pods {
        *on_nodes.entry(node_of(pod).to_owned()).or_default() += 1;
    }
    on_nodes
}

/// By the default constraints of a MyApp's pods, which are preferences. The manager runs outside of the cluster: other tests stop
/// its nodes.
#[tokio::test]
async fn pods_of_a_my_app_spread_over_the_zones() {
    let (_second, _third) = (second().await, third().await);
    let ns = Namespace::without_manager("spread-app").await;
    let crds = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/crd/bases");
    drop(ns.kubectl(&["apply", "--server-side", "--filename", crds]).await.ok());
    drop(ns.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", "--filename", crds]).await.ok());
    let install = Install::namespaced(&ns.client, &ns.name, &[&ns.name]).await.expect("it may be installed");
    let mut manager = Launch::default().start(&install).expect("it is built");
    manager.leads(Duration::from_secs(30)).await.expect("it leads");
    let container = container(SLEEP, None);
    let spec = json!({
        "image": container["image"], "imagePullPolicy": "Never", "command": container["command"], "replicas": 6,
        "terminationGracePeriodSeconds": 1,
    });
    let app = json!({ "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": { "name": "web" }, "spec": spec });
    ns.apply(&app.to_string()).await;
    let on_nodes = six_on_nodes(&ns).await;
    println!("six pods of a MyApp: {on_nodes:?}");
    assert_eq!(on_nodes.len(), 3, "{on_nodes:?}");
}
