//! The manager: parses flags, connects operators to the caches, leads, serves health and metrics, and stops gracefully.
//!
//! The program is [`run`]. [`manage`] is what it does with a client, whatever that is connected to: a simulation runs it too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use runtime::leader_election::{Fence, LeaderElector, LeadershipEnd, identity};
use runtime::outage::Outages;
use runtime::{client, metrics, telemetry};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

mod agent_image;
mod args;
mod compat;
mod error;
mod health;
mod operands;
mod own_pod;
mod server;
mod wiring;

pub use args::Args;
pub use error::ManagerError;
pub use health::WatchChecks;
pub use operands::{NetworkClients, OperandClients};

use server::{HealthReporter, HealthServer, MetricsOptions, MetricsServer};
use wiring::{ControllerSet, Leadership, Manager};

/// How long running reconciles may take to finish after SIGTERM. The whole exit takes less than 10 s.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the manager until SIGTERM or SIGINT.
///
/// # Errors
/// The manager cannot start, or has lost its Lease.
pub async fn run(args: Args) -> Result<(), ManagerError> {
    let telemetry = telemetry::init(args.log_format, &args.log_level, "manager")?;
    args.notes.iter().for_each(compat::LogNote::log);
    let stop = stop_on_signal()?;
    let outages = Outages::default();
    let client = client::connect(&outages).await?;
    let (health, background) = (Arc::new(WatchChecks::default()), CancellationToken::new());
    // Before the first request to the API server, which may be unavailable: the kubelet kills a process that does not answer probes.
    let servers = serve(&args, health.clone(), &client, record_metrics()?, &background).await?;
    let result = manage(&args, &client, &NetworkClients, outages, &health, &stop).await;
    background.cancel();
    servers.join_all().await;
    telemetry.shutdown().await;
    result
}

/// Contends for leadership and runs the controllers while it lasts, until `stop`. They reach the API server through `client`, and
/// everything else through `operands`. `health` reports the watches.
///
/// # Errors
/// The controllers cannot be created, or the Lease is lost.
pub async fn manage(
    args: &Args,
    client: &Client,
    operands: &impl OperandClients,
    outages: Outages,
    health: &WatchChecks,
    stop: &CancellationToken,
) -> Result<(), ManagerError> {
    let lease = args.lease(client.default_namespace());
    let identity = identity(args.identity.as_deref());
    tracing::info!(version = env!("CARGO_PKG_VERSION"), %lease, identity, "starting");
    let elector = || LeaderElector::new(client.clone(), lease.clone(), identity.clone(), outages.clone());
    let elector = (!args.no_leader_election).then(elector);
    let fence = elector.as_ref().map_or_else(Fence::open, LeaderElector::fence);
    let mut background = JoinSet::new();
    background.spawn(outages.clone().probe(client.clone()));
    let leading = Leadership { lease, fence, outages };
    let watches = CancellationToken::new();
    let result = match stop.run_until_cancelled(Manager::new(args, client, operands, &identity, leading)).await {
        Some(Ok(manager)) => {
            health.set(manager.health());
            lead(elector, manager.start(client, &watches), stop).await
        }
        Some(Err(error)) => Err(error),
        None => Ok(()),
    };
    watches.cancel();
    result
}

/// Installs the metrics recorder. Histograms have controller-runtime's buckets.
fn record_metrics() -> Result<PrometheusHandle, ManagerError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Prefix("workqueue_".to_owned()), &metrics::QUEUE_BUCKETS)?
        .set_buckets_for_metric(Matcher::Prefix("rest_client_".to_owned()), client::REQUEST_DURATION_BUCKETS)?
        .set_buckets(&metrics::RECONCILE_BUCKETS)?
        .install_recorder()?;
    metrics::describe();
    Ok(handle)
}

/// Serves health and metrics, each at the address that its flag sets. Metrics over HTTP may share the address of health.
async fn serve(
    args: &Args,
    health: Arc<dyn HealthReporter>,
    client: &Client,
    recorder: PrometheusHandle,
    stop: &CancellationToken,
) -> Result<JoinSet<()>, ManagerError> {
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

fn unbindable(address: SocketAddr, error: &std::io::Error) -> ManagerError {
    format!("cannot listen at {address}: {error}; choose another address with the flag, or 0 to disable the server")
        .into()
}

/// Waits for leadership, runs the controllers while it lasts, drains them, and releases the Lease.
async fn lead(
    elector: Option<LeaderElector>,
    controllers: ControllerSet,
    stop: &CancellationToken,
) -> Result<(), ManagerError> {
    let Some(mut elector) = elector else {
        drained(controllers.run(stop.clone()), stop).await;
        return Ok(());
    };
    if !elector.acquire(stop).await? {
        elector.release().await;
        return Ok(());
    }
    let idle = CancellationToken::new();
    let work = drained(controllers.run(stop.clone()), stop);
    let end = tokio::select! {
        biased;
        // Ends before the controllers only if the Lease is lost. After that this process may not write.
        lost = elector.keep_leading(&idle) => lost,
        _ = work => LeadershipEnd::Stopped,
    };
    if let LeadershipEnd::Lost(reason) = end {
        return Err(format!("lost the lease: {reason}").into());
    }
    elector.release().await;
    Ok(())
}

/// Runs `work` until it ends, or for at most [`DRAIN_TIMEOUT`] after `stop`.
async fn drained(work: impl Future<Output = ()>, stop: &CancellationToken) {
    let timeout = async {
        stop.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::select! {
        biased;
        () = work => {}
        () = timeout => tracing::warn!("running reconciles did not finish within {DRAIN_TIMEOUT:?}; exiting without them"),
    }
}

/// A token that SIGTERM and SIGINT cancel.
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
