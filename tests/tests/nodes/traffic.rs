//! Pods of different nodes talk to each other by their own addresses, through a Service and by names; and reach the host.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use e2e::namespace::Namespace;
use e2e::objects::serves;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Config, ResourceExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::pods::{SERVE, address_of, asks, container, in_pod, node_of};
use crate::stage::{second, third};

/// One pod on each node, and a Service of them: pods by the names of their nodes.
async fn web(ns: &Namespace) -> BTreeMap<String, Pod> {
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "terminationGracePeriodSeconds": 1, "containers": [container(SERVE, None)] },
            },
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
    });
    ns.apply(&set.to_string()).await;
    ns.apply(&service.to_string()).await;
    ns.eventually("a pod on each of three nodes", || async {
        let pods = ns.api::<Pod>().list(&ListParams::default()).await.map_err(|error| error.to_string())?.items;
        let pods: BTreeMap<_, _> = pods.into_iter().filter(serves).map(|pod| (node_of(&pod).to_owned(), pod)).collect();
        if pods.len() == 3 { Ok(pods) } else { Err(format!("pods serve on {:?}", pods.keys())) }
    })
    .await
}

#[tokio::test]
async fn pods_of_all_nodes_reach_each_other() {
    let (_second, _third) = (second().await, third().await);
    let ns = Namespace::without_manager("traffic").await;
    let pods = web(&ns).await;
    for client in pods.values() {
        let client = client.name_any();
        for (node, server) in &pods {
            let what = format!("{client} to reach the pod on {node}");
            let answer = ns.eventually(&what, || asks(&ns, &client, address_of(server), 80)).await;
            assert_eq!(&answer, node, "{what}");
        }
    }
    // nginx logs its clients: the pods themselves, with addresses that no node has translated.
    let clients: BTreeSet<String> = pods.values().map(|pod| address_of(pod).to_owned()).collect();
    for server in pods.values() {
        let what = format!("{} to have logged all clients", server.name_any());
        ns.eventually(&what, || async {
            let log = ns.kubectl(&["logs", &server.name_any()]).await.ok();
            let seen: BTreeSet<_> = log.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
            if clients.is_subset(&seen) { Ok(()) } else { Err(format!("{seen:?} of {clients:?}")) }
        })
        .await;
    }
}

#[tokio::test]
async fn a_service_and_its_name_lead_to_pods_of_all_nodes() {
    let (_second, _third) = (second().await, third().await);
    let ns = Namespace::without_manager("service").await;
    let pods = web(&ns).await;
    let name = format!("web.{}.svc.cluster.local", ns.name);
    for client in pods.values() {
        let client = client.name_any();
        let answered = RefCell::new(BTreeSet::new());
        ns.eventually(&format!("{client} to be answered from each node"), || async {
            let node = asks(&ns, &client, &name, 80).await?;
            answered.borrow_mut().insert(node);
            let answered = answered.borrow();
            if answered.iter().eq(pods.keys()) { Ok(()) } else { Err(format!("{answered:?} have answered")) }
        })
        .await;
        let api = in_pod(&ns, &client, "exec 3<>/dev/tcp/kubernetes.default.svc.cluster.local/443 && echo open").await;
        assert_eq!(api.as_deref(), Ok("open"), "the API server from {client}");
    }
}

#[tokio::test]
async fn pods_of_all_nodes_reach_the_host_and_nothing_beyond() {
    let (_second, _third) = (second().await, third().await);
    let ns = Namespace::without_manager("host").await;
    let pods = web(&ns).await;
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let server = tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            // What is closed before it is read is reset.
            drop(connection.read(&mut [0; 1024]).await);
            drop(connection.write_all(b"HTTP/1.0 200 OK\r\n\r\nthe host\n").await);
        }
    });
    // The API server has the cluster's end of the cable, and the host the address before it.
    let api = Config::infer().await.expect("a kubeconfig").cluster_url;
    let api: Vec<u8> = api.host().unwrap_or_default().split('.').map(|byte| byte.parse().expect("a byte")).collect();
    let host = format!("{}.{}.{}.{}", api[0], api[1], api[2], api[3] - 1);
    for client in pods.values() {
        let client = client.name_any();
        let answer = ns.eventually("the host to answer", || asks(&ns, &client, &host, port)).await;
        assert_eq!(answer, "the host", "{client}");
        // An address that is reserved for documentation.
        let beyond = in_pod(&ns, &client, "exec 3<>/dev/tcp/192.0.2.1/80").await.expect_err("nothing leads there");
        assert!(beyond.contains("route to host") || beyond.contains("unreachable"), "{beyond}");
    }
    server.abort();
}
