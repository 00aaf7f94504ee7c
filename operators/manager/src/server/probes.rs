//! `/healthz` and `/readyz`: what they ask, and a server of them.

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

/// What probes ask about.
pub trait Health: Send + Sync + 'static {
    /// Whether the process works at all; an error gets it restarted.
    ///
    /// # Errors
    /// What is broken, in a sentence.
    fn live(&self) -> Result<(), String>;

    /// Each check of readiness.
    fn ready(&self) -> Vec<Check>;
}

/// One check of readiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Short, such as `watch-deployments`.
    pub name: String,
    /// How it went.
    pub state: State,
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Well.
    Ok,
    /// Not well. A fault that this process cannot help, and that leaves others working, is listed but blocks nothing.
    Failed {
        /// Why, in a sentence.
        why: String,
        /// Whether `/readyz` fails for it.
        blocks_readiness: bool,
    },
}

/// Serves `/healthz` and `/readyz`.
pub struct HealthServer {
    listener: TcpListener,
    health: Arc<dyn Health>,
}

impl HealthServer {
    /// Listens at `address`.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub async fn bind(address: SocketAddr, health: Arc<dyn Health>) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, health })
    }

    /// Answers until `stop` is cancelled, then up to 2 s longer.
    pub async fn run(self, stop: CancellationToken) {
        let health = self.health;
        let answer = move |request: Request<Incoming>| {
            let answer = probe(&request, health.as_ref());
            async move { answer }
        };
        serve(self.listener, None, answer, stop).await;
    }
}

/// The answer to a probe.
pub(super) fn probe<B>(request: &Request<B>, health: &dyn Health) -> Response<String> {
    let verbose = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair.starts_with("verbose")));
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n".to_owned());
    }
    match request.uri().path() {
        "/healthz" => {
            let live = health.live().map_err(|why| State::Failed { why, blocks_readiness: true });
            render("healthz", &[Check { name: "ping".to_owned(), state: live.err().unwrap_or(State::Ok) }], verbose)
        }
        "/readyz" => render("readyz", &health.ready(), verbose),
        _ => respond(StatusCode::NOT_FOUND, "there are /healthz and /readyz\n".to_owned()),
    }
}

/// In controller-runtime's words: `ok`, or one line a check when asked for or when one failed.
fn render(probe: &str, checks: &[Check], verbose: bool) -> Response<String> {
    let failed = checks.iter().any(|check| matches!(check.state, State::Failed { blocks_readiness: true, .. }));
    if !failed && !verbose {
        return respond(StatusCode::OK, "ok".to_owned());
    }
    let mut text = String::new();
    for Check { name, state } in checks {
        // Writing to a String cannot fail.
        let _ = match state {
            State::Ok => writeln!(text, "[+]{name} ok"),
            State::Failed { why, .. } => writeln!(text, "[-]{name} failed: {why}"),
        };
    }
    let (status, end) = if failed { (StatusCode::INTERNAL_SERVER_ERROR, "failed") } else { (StatusCode::OK, "passed") };
    respond(status, format!("{text}{probe} check {end}\n"))
}

#[cfg(test)]
mod tests;
