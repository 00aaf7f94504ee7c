//! Metrics as a Prometheus meets them.

use e2e::process::{Install, Launch};

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

/// What dashboards for controller-runtime query.
const NAMES: [&str; 12] = [
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_reconcile_time_seconds_bucket",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_active_workers",
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_queue_duration_seconds_bucket",
    "rest_client_requests_total",
    "leader_election_master_status",
    "process_resident_memory_bytes",
    "multi_operator_cache_objects",
];

async fn working(stage: &Stage) -> Result<(), Failure> {
    stage.sample("kept", "kept").await?;
    stage.app("web").await?;
    stage.sample_kept("kept", "kept", DEFAULT_TIMEOUT).await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await
}

fn complete(text: &str) -> Result<(), String> {
    let missing: Vec<&str> =
        NAMES.into_iter().filter(|name| !text.lines().any(|line| line.starts_with(name))).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("missing: {missing:?} in:\n{text}")) }
}

pub async fn by_https_only_to_whom_the_cluster_allows_them(stage: Stage) -> Result<(), Failure> {
    let (install, other_client) = (stage.install().await?, stage.another("unbound").await?);
    let reader = stage.another("reader").await?;
    let other_client = Install::namespaced(&stage.client, &other_client.name, &[]).await?;
    let reader = Install::namespaced(&stage.client, &reader.name, &[]).await?;
    reader.bind_cluster_role("metrics_reader_cluster_role.yaml").await?;
    let mut manager = Launch::default().secure_metrics().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    working(&stage).await?;
    for (what, token, expected) in
        [("no token", None, 401), ("junk", Some("junk"), 401), ("another account's", Some(&*other_client.token), 403)]
    {
        let (code, text) = manager.metrics(token).await?;
        ensure(code == expected && !text.contains("controller_runtime"), || format!("{what}: {code}: {text}"))?;
    }
    // Authorizers learn of a new binding by a watch.
    eventually("the reader to be let in", DEFAULT_TIMEOUT, || async {
        let (code, text) = manager.metrics(Some(&reader.token)).await.map_err(|error| error.to_string())?;
        if code == 200 { complete(&text) } else { Err(format!("{code}: {text}")) }
    })
    .await?;
    let log = manager.log();
    ensure(![&install, &other_client, &reader].iter().any(|who| log.contains(&who.token)), || {
        "a token is in the log".to_owned()
    })
}

pub async fn plain_by_flag_with_the_names_of_controller_runtime(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut manager = Launch::default().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    working(&stage).await?;
    let (code, text) = manager.metrics(None).await?;
    ensure(code == 200, || format!("{code}: {text}"))?;
    complete(&text)?;
    // A reconcile is counted once it has ended, which is after its effects are visible.
    let at_least = async |name: &str, labels: &[&str], least: f64| {
        eventually(&format!("{name}{labels:?} to be {least} or more"), DEFAULT_TIMEOUT, || async {
            let value = manager.metric(name, labels).await.map_err(|error| error.to_string())?;
            if value >= least { Ok(()) } else { Err(format!("it is {value}")) }
        })
        .await
    };
    at_least("controller_runtime_reconcile_total", &["controller=\"my-app\"", "result=\"success\""], 1.0).await?;
    at_least("controller_runtime_reconcile_total", &["controller=\"sample\"", "result=\"success\""], 1.0).await?;
    at_least("workqueue_adds_total", &["name=\"my-app\""], 1.0).await?;
    at_least("rest_client_requests_total", &["method=\"PATCH\"", "code=\"20"], 1.0).await?;
    at_least("leader_election_master_status", &["name=\"manager\""], 1.0).await?;
    at_least("multi_operator_cache_objects", &["kind=\"MyApp\""], 1.0).await?;
    at_least("process_resident_memory_bytes", &[], 1e6).await?;
    let panics = manager.metric("controller_runtime_reconcile_panics_total", &[]).await?;
    ensure(panics == 0.0, || format!("{panics} panics"))
}
