//! The manager: parses flags, wires operators to the caches, leads, serves health and metrics, stops gracefully.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use runtime::leader_election::{Fence, Held, LeaderElector, identity};
use runtime::outage::Outages;
use runtime::{client, metrics, telemetry};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

mod agent_image;
mod args;
mod compat;
mod failure;
mod health;
mod own_pod;
mod server;
mod wiring;

use args::Args;
use failure::Failure;
use server::{Health, HealthServer, MetricsOptions, MetricsServer};
use wiring::{Leader, Leading, Manager};

/// How long passes under way may take to end after SIGTERM; with the rest of the exit, less than 10 s.
const DRAIN: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let args = Args::read();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(args.worker_threads).enable_all().build();
    let result = runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(run(args)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("manager: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Failure> {
    let telemetry = telemetry::init(args.log_format, &args.log_level, env!("CARGO_BIN_NAME"))?;
    args.notes.iter().for_each(compat::Note::say);
    let stop = stop_on_signal()?;
    let outages = Outages::default();
    let client = client::connect(&outages).await?;
    let lease = args.lease(client.default_namespace());
    let identity = identity(args.identity.as_deref());
    tracing::info!(version = env!("CARGO_PKG_VERSION"), %lease, identity, "starting");

    let recorder = record_metrics()?;
    let elector = || LeaderElector::new(client.clone(), lease.clone(), identity.clone(), outages.clone());
    let elector = (!args.no_leader_election).then(elector);
    let fence = elector.as_ref().map_or_else(Fence::open, LeaderElector::fence);
    tokio::spawn(outages.clone().probe(client.clone()));
    let leading = Leading { lease: lease.clone(), fence, outages };
    let (health, background) = (Arc::new(health::Watches::default()), CancellationToken::new());
    // Before anything is asked of an API server that may be away: a process whose probes are not answered is killed.
    let servers = serve(&args, health.clone(), &client, recorder, &background).await?;
    let result = match stop.run_until_cancelled(Manager::new(&args, &client, &identity, leading)).await {
        Some(Ok(manager)) => {
            health.set(manager.health());
            lead(elector, manager.start(&client, &background), &stop).await
        }
        Some(Err(error)) => Err(error),
        None => Ok(()),
    };
    background.cancel();
    servers.join_all().await;
    telemetry.shutdown().await;
    result
}

/// Starts counting. Histograms have controller-runtime's buckets.
fn record_metrics() -> Result<PrometheusHandle, Failure> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Prefix("workqueue_".to_owned()), &metrics::QUEUE_BUCKETS)?
        .set_buckets_for_metric(Matcher::Prefix("rest_client_".to_owned()), client::REQUEST_DURATION_BUCKETS)?
        .set_buckets(&metrics::RECONCILE_BUCKETS)?
        .install_recorder()?;
    metrics::describe();
    Ok(handle)
}

/// Serves health and metrics, each where asked for; that may be the same address, if metrics are plain.
async fn serve(
    args: &Args,
    health: Arc<dyn Health>,
    client: &Client,
    recorder: PrometheusHandle,
    stop: &CancellationToken,
) -> Result<JoinSet<()>, Failure> {
    let mut servers = JoinSet::new();
    let together = !args.metrics_secure && args.metrics_bind_address == args.health_probe_bind_address;
    let with_metrics = together.then(|| health.clone());
    if let Some(address) = args.health_probe_bind_address.0.filter(|_| !together) {
        let server = HealthServer::bind(address, health).await.map_err(|error| unbindable(address, &error))?;
        servers.spawn(server.run(stop.clone()));
    }
    if let Some(address) = args.metrics_bind_address.0 {
        let options = MetricsOptions { address, secure: args.metrics_secure, cert_dir: args.metrics_cert_dir.clone() };
        let server = MetricsServer::bind(options, recorder, client.clone(), with_metrics).await;
        servers.spawn(server.map_err(|error| unbindable(address, &error))?.run(stop.clone()));
    }
    Ok(servers)
}

fn unbindable(address: SocketAddr, error: &std::io::Error) -> Failure {
    format!("cannot listen at {address}: {error}; choose another address by flag, or 0 for none").into()
}

/// Waits for leadership, works while it lasts, drains, and gives the Lease back.
async fn lead(elector: Option<LeaderElector>, leader: Leader, stop: &CancellationToken) -> Result<(), Failure> {
    let Some(mut elector) = elector else {
        drained(leader.work(stop.clone()), stop).await;
        return Ok(());
    };
    if !elector.acquire(stop).await? {
        elector.release().await;
        return Ok(());
    }
    let idle = CancellationToken::new();
    let work = drained(leader.work(stop.clone()), stop);
    let held = tokio::select! {
        // Ends before the work only if the lease is lost, and then nothing more may be written.
        lost = elector.hold(&idle) => lost,
        _ = work => Held::Stopped,
    };
    if let Held::Lost(reason) = held {
        return Err(format!("lost the lease: {reason}").into());
    }
    elector.release().await;
    Ok(())
}

/// Lets `work` end within [`DRAIN`] of `stop`.
async fn drained(work: impl Future<Output = ()>, stop: &CancellationToken) {
    let late = async {
        stop.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        () = work => {}
        () = late => tracing::warn!("passes under way did not end within {DRAIN:?}; leaving them"),
    }
}

/// Cancelled by SIGTERM and SIGINT.
fn stop_on_signal() -> Result<CancellationToken, std::io::Error> {
    let stop = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let cancel = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping");
        cancel.cancel();
    });
    Ok(stop)
}
