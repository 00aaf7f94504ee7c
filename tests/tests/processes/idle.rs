//! Converged objects cost nothing: not while time passes, and not when the manager restarts.

use std::time::{Duration, Instant};

use api::my_app::{MyApp, ROUTE_ACCEPTED, SCALING_ACTIVE};
use e2e::audit::Audit;
use e2e::call::{Call, lines};
use e2e::patience::{Deadline, Moment};
use e2e::process::{Install, Launch};
use futures::future::try_join_all;
use serde_json::json;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, KINDS, Stage, ensure, eventually, none, writes};

const APPS: usize = 100;
const SAMPLES: usize = 20;
/// Groups and versions of our kinds.
const GROUPS: usize = 3;
/// How often a Lease is renewed: after 2 s, and what a request takes at most in normal time.
const RENEWAL: Duration = Duration::from_secs(2);
const REQUEST: Duration = Duration::from_millis(400);

fn without_log() -> Result<(), Failure> {
    Err("requests are counted in the audit log: set MULTI_OPERATOR_AUDIT_LOG, as scripts/cluster env does".into())
}

/// What `restartOn` names.
const SETTINGS: &str = "settings";

/// Creates two MyApps with every optional part of the spec, and waits until everything is reported.
async fn with_all_features(stage: &Stage) -> Result<(), Failure> {
    let settings = json!({ "configMap": { "name": SETTINGS, "optional": true } });
    let mut spec = json!({
        "image": "nginx:1.25", "replicas": 0, "serviceAccountName": "default", "automountToken": true,
        "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }, { "name": "dns", "port": 53, "protocol": "UDP" }],
        "service": { "type": "NodePort", "annotations": { "pool": "blue" } },
        "route": { "host": "web.example.com", "path": "/shop", "ingressClassName": "none", "tlsSecret": "cert" },
        "files": [
            { "mountPath": "/files", "configMap": settings["configMap"] },
            { "mountPath": "/pod", "projected": [settings] },
        ],
        "scratch": [{ "mountPath": "/scratch", "sizeLimit": "1Mi" }],
        "persistentVolumeClaims": [{ "name": "pictures", "mountPath": "/pictures" }],
        "preStop": { "sleep": { "seconds": 1 } }, "rollback": "Automatic", "minReadySeconds": 1,
        "restartOn": [{ "configMapRef": { "name": SETTINGS, "optional": true } }],
        "podOverrides": { "metadata": { "labels": { "team": "shop" } }, "spec": { "nodeSelector": { "disk": "ssd" } } },
    });
    spec["strategy"] = json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    stage.app_of("full", spec).await?;
    stage.app_of("scaled", json!({ "image": "nginx:1.25", "autoscaling": { "max": 2 } })).await?;
    stage.app_ready("full", DEFAULT_TIMEOUT).await?;
    stage.condition::<MyApp>("full", ROUTE_ACCEPTED, DEFAULT_TIMEOUT).await?;
    stage.app_ready("scaled", Duration::from_secs(60)).await?;
    // Its controller reads metrics every 15 s.
    stage.condition::<MyApp>("scaled", SCALING_ACTIVE, Duration::from_secs(60)).await?;
    Ok(())
}

pub async fn converged_objects_cause_no_request_for_a_minute(stage: Stage) -> Result<(), Failure> {
    let other = stage.another("other").await?;
    let install = Install::namespaced(&stage.client, &stage.name, &[&stage.name, &other.name]).await?;
    let Some(audit) = Audit::from_now(&install.user()) else { return without_log() };
    let mut manager = Launch::default().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    for place in [&stage, &other] {
        for number in 0..5 {
            place.app(&format!("app-{number}")).await?;
            place.sample(&format!("sample-{number}"), "kept").await?;
        }
    }
    for place in [&stage, &other] {
        for number in 0..5 {
            place.app_ready(&format!("app-{number}"), DEFAULT_TIMEOUT).await?;
            place.sample_kept(&format!("sample-{number}"), "kept", DEFAULT_TIMEOUT).await?;
        }
    }
    with_all_features(&stage).await?;
    settled(&audit).await?;
    let (quiet, begun) = (audit.mark()?, Moment::now());
    sleep(Duration::from_secs(60)).await;
    let passed = begun.passed();
    let calls = quiet.calls()?;
    let (renewals, others): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(Call::is_lease);
    let (watches, others): (Vec<Call>, Vec<Call>) = others.into_iter().partition(Call::is_watch);
    let is_read = |call: &Call| (&*call.verb, &*call.resource, &*call.name) == ("get", "configmaps", SETTINGS);
    let (reads, others): (Vec<Call>, Vec<Call>) = others.into_iter().partition(is_read);
    println!(
        "idle: {passed}: {} requests for the Lease, {} watches resumed, {} reads of what restarts pods, {} others",
        renewals.len(),
        watches.len(),
        reads.len(),
        others.len()
    );
    let minutes = passed.real.div_duration_f64(Duration::from_secs(60));
    ensure(reads.len() as f64 <= minutes + 1.0, || format!("more than one a minute:\n{}", lines(&reads)))?;
    none(&others, "requests of an idle manager")?;
    // One may be under way when the window begins, and one when it ends.
    let often = |period: Duration| passed.real.div_duration_f64(period);
    let (fewest, most) = (often(RENEWAL + REQUEST.mul_f64(passed.slowness())) - 1.0, often(RENEWAL) + 2.0);
    // A write that an overloaded API server has answered with an error, though it was stored, is read back.
    let failed = renewals.iter().any(|call| call.code.is_none_or(|code| code >= 400));
    let updates = renewals.iter().all(|call| call.verb == "update" || failed && call.verb == "get");
    ensure(updates && (fewest..=most).contains(&(renewals.len() as f64)), || {
        format!("{fewest:.1} to {most:.1} renewals of the Lease were due in {passed}:\n{}", lines(&renewals))
    })?;
    // A watch lasts 45 s, so each is resumed once or twice.
    ensure(watches.len() <= 2 * 2 * KINDS, || format!("watches do not last:\n{}", lines(&watches)))?;
    // At the moment that one is resumed, one is missing.
    eventually("one watch a kind and namespace", Duration::from_secs(5), || async {
        let open = audit.open_watches().map_err(|error| error.to_string())?;
        if open.len() == 2 * KINDS { Ok(()) } else { Err(format!("{} are open:\n{}", open.len(), lines(&open))) }
    })
    .await
}

/// Waits until the manager's only requests are for its Lease and its watches for a while, in normal time.
async fn settled(audit: &Audit) -> Result<(), Failure> {
    let (deadline, mut seen, mut since) = (Deadline::after(DEFAULT_TIMEOUT), usize::MAX, Moment::now());
    while since.passed().normal < Duration::from_secs(3) {
        let all: Vec<Call> = audit.calls()?.into_iter().filter(|call| !call.is_lease() && !call.is_watch()).collect();
        if seen != all.len() {
            (seen, since) = (all.len(), Moment::now());
        }
        ensure(!deadline.is_over(), || format!("it does not rest: {}:\n{}", deadline.late(), lines(&all)))?;
        sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}

pub async fn a_restart_over_120_objects_writes_nothing(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let Some(audit) = Audit::from_now(&install.user()) else { return without_log() };
    let mut manager = Launch::default().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let (apps, samples): (Vec<String>, Vec<String>) =
        ((0..APPS).map(|n| format!("app-{n}")).collect(), (0..SAMPLES).map(|n| format!("sample-{n}")).collect());
    let spec = json!({ "image": "nginx:1.25", "replicas": 0 });
    try_join_all(apps.iter().map(|name| stage.app_of(name, spec.clone()))).await?;
    try_join_all(samples.iter().map(|name| stage.sample(name, "kept"))).await?;
    // 100 Deployments at once are the cluster's work, and other tests run at the same time.
    for name in &apps {
        stage.app_ready(name, Duration::from_secs(60)).await?;
    }
    for name in &samples {
        stage.sample_kept(name, "kept", DEFAULT_TIMEOUT).await?;
    }
    sleep(Duration::from_secs(2)).await;
    let created = writes(&audit.calls()?);
    manager.signal("TERM").await?;
    manager.ends(Duration::from_secs(10)).await?;
    let since = audit.mark()?;
    let mut manager = Launch::default().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let led = Instant::now();
    let reconciled = |controller: &'static str, count: usize| {
        let manager = &manager;
        eventually("every object to be reconciled", DEFAULT_TIMEOUT, move || async move {
            let label = format!("controller=\"{controller}\"");
            let reconciles = manager.metric("controller_runtime_reconcile_total", &[&label]).await;
            let reconciles = reconciles.map_err(|error| error.to_string())?;
            if reconciles >= count as f64 { Ok(()) } else { Err(format!("{reconciles} of {count}")) }
        })
    };
    reconciled("my-app", APPS).await?;
    reconciled("sample", SAMPLES).await?;
    println!(
        "idle: {} writes for 120 objects; after a restart all reconciled within {:.2?}",
        created.len(),
        led.elapsed()
    );
    sleep(Duration::from_secs(3)).await;
    let calls = since.calls()?;
    none(&writes(&calls), "writes after a restart")?;
    let reads = calls.into_iter().filter(|call| call.verb == "get" && !call.is_lease());
    // The manager reads discovery once, one group and version at a time.
    let (published, reads): (Vec<Call>, Vec<Call>) = reads.partition(|call| call.uri.starts_with("/openapi/v3/apis/"));
    ensure(published.len() == GROUPS, || format!("reads of discovery:\n{}", lines(&published)))?;
    none(&reads, "single reads after a restart")
}
