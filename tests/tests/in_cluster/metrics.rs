//! Metrics: over HTTPS, for clients that the API server allows.

use std::process::Stdio;
use std::time::Duration;

use api::my_app::MyApp;
use e2e::cluster::{MANAGER_USER, SYSTEM};
use e2e::kubectl::{kubectl, run};
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use e2e::patience::timeout;
use e2e::wait::wait_until;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::manifest::my_app;

/// The Service's port, on a port of this host, until it is dropped.
struct Forward {
    port: u16,
    _kubectl: Child,
}

impl Forward {
    async fn start() -> Self {
        let mut kubectl = Command::new("kubectl")
            .args(["port-forward", "--namespace", SYSTEM, "service/multi-operator-metrics", ":8443"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("kubectl is on PATH");
        let mut said = BufReader::new(kubectl.stdout.take().expect("stdout is piped")).lines();
        // "Forwarding from 127.0.0.1:41234 -> 8443"
        let line = timeout(Duration::from_secs(30), said.next_line()).await;
        let line = line.unwrap_or_else(|late| panic!("kubectl does not forward: {late}"));
        let line = line.expect("kubectl speaks").expect("kubectl forwards");
        let port = line.split([':', ' ']).find_map(|word| word.parse().ok()).expect("a port");
        // It prints a line for every connection, and would end because of a closed pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Self { port, _kubectl: kubectl }
    }

    /// Status and body of GET /metrics, with these headers (which no process list shows).
    async fn scrape(&self, authorization: Option<&str>) -> (String, String) {
        let url = format!("https://127.0.0.1:{}/metrics", self.port);
        let headers = authorization.map(|value| format!("header = \"Authorization: {value}\"\n")).unwrap_or_default();
        let options = ["--insecure", "--silent", "--show-error", "--max-time", "60", "--config", "-"];
        let answer =
            run(&headers, "curl", &[&options[..], &["--write-out", "\n%{http_code}", &url]].concat()).await.ok();
        let (body, code) = answer.rsplit_once('\n').expect("curl writes the code");
        (code.to_owned(), body.to_owned())
    }
}

/// Reads metrics as Prometheus does.
pub(crate) struct Scraper {
    forward: Forward,
    token: String,
    _binding: Binding,
}

impl Scraper {
    /// One with an account in that namespace.
    pub(crate) async fn new(ns: &Namespace) -> Self {
        drop(ns.kubectl(&["create", "serviceaccount", "scraper"]).await.ok());
        let (binding, token) = (Binding::new(ns).await, ns_token((ns, "scraper")).await);
        Self { forward: Forward::start().await, token, _binding: binding }
    }

    /// The lines about an object.
    ///
    /// # Errors
    /// If it is refused: a refusal is remembered for a while.
    pub(crate) async fn of(&self, ns: &Namespace, name: &str) -> Result<Vec<String>, String> {
        let (code, body) = self.forward.scrape(Some(&format!("Bearer {}", self.token))).await;
        let of = format!("{{namespace=\"{}\",name=\"{name}\"", ns.name);
        let lines = body.lines().filter(|line| line.contains(&of)).map(|line| line.replace(&of, "{"));
        if code == "200" { Ok(lines.collect()) } else { Err(format!("{code}: {body}")) }
    }
}

#[tokio::test]
async fn only_whom_the_api_server_allows_reads_metrics() {
    let ns = Namespace::new("metrics").await;
    // Something to count.
    ns.apply(&my_app("web", "{replicas: 0, image: nginx:1.25}")).await;
    ns.until::<MyApp, ()>("web", "it to be ready", |app| app?.is_ready().then_some(())).await;
    // Through the Service and the API server, which does not forward credentials.
    let path = format!("/api/v1/namespaces/{SYSTEM}/services/https:multi-operator-metrics:8443/proxy/metrics");
    let refused = kubectl(&["get", "--raw", &path]).await.refused();
    assert!(refused.contains("provide credentials") || refused.contains("Unauthorized"), "{refused}");

    for account in ["scraper", "unbound"] {
        drop(ns.kubectl(&["create", "serviceaccount", account]).await.ok());
    }
    let token = |account| async move { ns_token(account).await };
    let (scraper, other_client) = (token((&ns, "scraper")).await, token((&ns, "unbound")).await);
    let binding = Binding::new(&ns).await;
    let forward = Forward::start().await;
    assert_eq!(forward.scrape(None).await.0, "401");
    assert_eq!(forward.scrape(Some("Bearer nonsense")).await.0, "401");
    assert_eq!(forward.scrape(Some("Basic dXNlcjpwYXNz")).await.0, "401");
    assert_eq!(forward.scrape(Some(&format!("Bearer {other_client}"))).await.0, "403");
    // The manager caches a rejection for a while, and may have asked before all API servers knew the binding.
    let body = wait_until("the metrics", Duration::from_secs(90), || async {
        let (code, body) = forward.scrape(Some(&format!("Bearer {scraper}"))).await;
        if code == "200" { Ok(body) } else { Err(format!("{code}: {body}")) }
    })
    .await;
    for name in [
        "controller_runtime_reconcile_total{controller=\"my-app\",result=\"success\"}",
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_reconcile_time_seconds_bucket",
        "workqueue_depth",
        "workqueue_adds_total",
        "rest_client_requests_total",
        "leader_election_master_status",
        "process_resident_memory_bytes",
    ] {
        assert!(body.contains(name), "{name} is missing from the metrics of {MANAGER_USER}:\n{body}");
    }
    assert!(
        body.lines().any(|line| line.starts_with("leader_election_master_status") && line.ends_with(" 1")),
        "{body}"
    );
    drop(binding);
}

async fn ns_token((ns, account): (&Namespace, &str)) -> String {
    ns.kubectl(&["create", "token", account]).await.ok().trim().to_owned()
}

/// Lets the scraper read metrics; revoked when dropped, since it belongs to no namespace.
struct Binding(String);

impl Binding {
    async fn new(ns: &Namespace) -> Self {
        let (name, account) = (ns.name.clone(), format!("--serviceaccount={}:scraper", ns.name));
        let role = "--clusterrole=multi-operator-metrics-reader";
        drop(kubectl(&["create", "clusterrolebinding", &name, role, &account]).await.ok());
        Self(name)
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        let delete = ["delete", "clusterrolebinding", &self.0, "--wait=false"];
        std::process::Command::new("kubectl").args(delete).stdout(Stdio::null()).status().ok();
    }
}
