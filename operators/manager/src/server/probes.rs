//! `/healthz` and `/readyz`: the checks behind them, and their server.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connections::serve;
use super::response::respond;

/// The source of the probes' results.
pub trait HealthReporter: Send + Sync + 'static {
    /// Whether the process works at all; on an error the kubelet restarts it.
    ///
    /// # Errors
    /// A message that says what is broken.
    fn live(&self) -> Result<(), String>;

    /// All checks of readiness.
    fn ready(&self) -> Vec<HealthCheck>;
}

/// One check of readiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// Short, such as `watch-deployments`.
    pub name: String,
    /// Its result.
    pub result: CheckResult,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// The check passed.
    Ok,
    /// The check failed. A failure that a restart cannot fix, and that other kinds are independent of, does not block readiness.
    Failed {
        /// The reason, as a message.
        why: String,
        /// Whether `/readyz` fails because of it.
        blocks_readiness: bool,
    },
}

/// Serves `/healthz` and `/readyz`.
pub struct HealthServer {
    listener: TcpListener,
    health: Arc<dyn HealthReporter>,
}

impl HealthServer {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The server cannot listen at the address.
    pub async fn bind(address: SocketAddr, health: Arc<dyn HealthReporter>) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, health })
    }

    /// Serves until `stop` is cancelled, then for up to 2 s longer.
    pub async fn run(self, stop: CancellationToken) {
        let health = self.health;
        let answer = move |request: Request<Incoming>| {
            let answer = probe(&request, health.as_ref());
            async move { answer }
        };
        serve(self.listener, None, answer, stop).await;
    }
}

/// The response to a probe.
pub(super) fn probe<B>(request: &Request<B>, health: &dyn HealthReporter) -> Response<String> {
    let verbose = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair.starts_with("verbose")));
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "method not allowed; use GET\n".to_owned());
    }
    match request.uri().path() {
        "/healthz" => {
            let live = health.live().map_err(|why| CheckResult::Failed { why, blocks_readiness: true });
            render(
                "healthz",
                &[HealthCheck { name: "ping".to_owned(), result: live.err().unwrap_or(CheckResult::Ok) }],
                verbose,
            )
        }
        "/readyz" => render("readyz", &health.ready(), verbose),
        _ => respond(StatusCode::NOT_FOUND, "not found; this server has /healthz and /readyz\n".to_owned()),
    }
}

/// In the format of controller-runtime: `ok`, or one line per check if the request is verbose or a check failed.
fn render(probe: &str, checks: &[HealthCheck], verbose: bool) -> Response<String> {
    let failed = checks.iter().any(|check| matches!(check.result, CheckResult::Failed { blocks_readiness: true, .. }));
    if !failed && !verbose {
        return respond(StatusCode::OK, "ok".to_owned());
    }
    let mut text = String::new();
    for HealthCheck { name, result } in checks {
        // Writing to a String cannot fail.
        let _ = match result {
            CheckResult::Ok => writeln!(text, "[+]{name} ok"),
            CheckResult::Failed { why, .. } => writeln!(text, "[-]{name} failed: {why}"),
        };
    }
    let (status, end) = if failed { (StatusCode::INTERNAL_SERVER_ERROR, "failed") } else { (StatusCode::OK, "passed") };
    respond(status, format!("{text}{probe} check {end}\n"))
}

#[cfg(test)]
mod tests;
