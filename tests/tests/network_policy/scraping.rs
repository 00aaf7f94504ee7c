//! Metrics are for namespaces that are labelled for it.

use e2e::cluster::SYSTEM;
use e2e::etcd::Etcd;
use e2e::kubectl::kubectl;
use e2e::namespace::{Namespace, RESTRICTED};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::probe::Probe;
use crate::stage::{guarded, namespace, shared};

const METRICS: &str = "GET /metrics HTTP/1.0\\r\\n\\r\\n";

/// Lets the scraper of a namespace read metrics; revoked when dropped, since it belongs to no namespace.
struct Binding(String);

impl Binding {
    async fn new(ns: &Namespace) -> Self {
        drop(ns.kubectl(&["create", "serviceaccount", "scraper"]).await.ok());
        let account = format!("--serviceaccount={}:scraper", ns.name);
        let role = "--clusterrole=multi-operator-metrics-reader";
        drop(kubectl(&["create", "clusterrolebinding", &ns.name, role, &account]).await.ok());
        Self(ns.name.clone())
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        let delete = ["delete", "clusterrolebinding", &self.0, "--wait=false"];
        std::process::Command::new("kubectl").args(delete).stdout(std::process::Stdio::null()).status().ok();
    }
}

#[tokio::test]
async fn the_managers_metrics_are_read_from_labelled_namespaces_alone() {
    let _turn = shared().await;
    let ns = namespace("np-scraping", &[RESTRICTED]).await;
    let scraper = Probe::new(&ns, "scraper", &json!({})).await;
    let _binding = Binding::new(&ns).await;
    let token = ns.kubectl(&["create", "token", "scraper"]).await.ok();
    let service = format!("multi-operator-metrics.{SYSTEM}.svc");
    let request = format!("GET /metrics HTTP/1.0\r\nHost: metrics\r\nAuthorization: Bearer {}\r\n\r\n", token.trim());
    let scrape = || scraper.asks_by_tls(&service, 8443, &request);

    scraper.is_shut_out(&service, 8443, METRICS).await;
    assert!(scrape().await.is_err());
    drop(kubectl(&["label", "namespace", &ns.name, "metrics=enabled"]).await.ok());
    ns.eventually("metrics", || async {
        let answer = scrape().await?;
        if answer.contains("controller_runtime_reconcile_total") { Ok(()) } else { Err(answer) }
    })
    .await;
    // The label opens that port, and not the one that is for the kubelet.
    let found = ["get", "pods", "--namespace", SYSTEM, "--output=jsonpath={.items[0].status.podIP}"];
    scraper.is_shut_out(kubectl(&found).await.ok().trim(), 8081, "GET /healthz HTTP/1.0\\r\\n\\r\\n").await;
    drop(kubectl(&["label", "namespace", &ns.name, "metrics-"]).await.ok());
    scraper.is_shut_out(&service, 8443, METRICS).await;
}

#[tokio::test]
async fn etcds_metrics_are_read_from_labelled_namespaces_alone() {
    let _turn = shared().await;
    let ns = guarded("np-etcd-metrics").await;
    let etcd = Etcd::apply(&ns, "settings", "{size: 1, version: 3.5.35}").await;
    etcd.runs(1).await;
    let member: Pod = etcd.pods().await.into_values().next().expect("a member");
    let member = member.status.and_then(|status| status.pod_ip).expect("an address");
    let unlabelled = ns.another("np-unlabelled", &[RESTRICTED]).await;
    let labelled = ns.another("np-labelled", &[RESTRICTED, ("metrics", "enabled")]).await;
    Probe::new(&unlabelled, "scraper", &json!({})).await.is_shut_out(&member, 2381, METRICS).await;
    let scraper = Probe::new(&labelled, "scraper", &json!({})).await;
    let metrics = scraper.gets_through(&member, 2381, METRICS).await;
    assert!(metrics.contains("200 OK"), "{metrics}");
    scraper.is_shut_out(&member, 2379, METRICS).await;
}
