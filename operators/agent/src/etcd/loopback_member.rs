//! An etcd that only this process talks to: it listens on the loopback interface alone.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::output;
use super::programs::{self, EtcdTools};
use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::progress::WaitLogger;

/// How long etcd may take to exit. It writes its last records then.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// How it is started.
pub(in crate::etcd) struct MemberStart<'a> {
    pub(in crate::etcd) name: &'a str,
    pub(in crate::etcd) data_dir: &'a Path,
    /// Where it listens for peers. Without data, also its peer URL in the member list.
    pub(in crate::etcd) peer_url: &'a str,
    /// The file that it logs to.
    pub(in crate::etcd) log: PathBuf,
    /// Whether it removes all other members from its data first (`--force-new-cluster`).
    pub(in crate::etcd) alone: bool,
}

/// The process. It is killed when this is dropped.
pub(in crate::etcd) struct LoopbackMember {
    process: Child,
    endpoint: String,
    log: PathBuf,
}

impl LoopbackMember {
    pub(in crate::etcd) fn start(programs: &EtcdTools, start: MemberStart<'_>) -> Result<Self, CommandFailure> {
        let MemberStart { name, data_dir, peer_url, log, alone } = start;
        let endpoint = format!("http://127.0.0.1:{}", free_port()?);
        let mut command = programs
            .program("etcd")
            .arg(format!("--name={name}"))
            .arg(format!("--data-dir={}", data_dir.display()))
            .arg(format!("--listen-client-urls={endpoint}"))
            .arg(format!("--advertise-client-urls={endpoint}"))
            .arg(format!("--listen-peer-urls={peer_url}"))
            .arg(format!("--initial-advertise-peer-urls={peer_url}"))
            .arg(format!("--initial-cluster={name}={peer_url}"));
        if alone {
            command = command.arg("--force-new-cluster");
        }
        let file = File::create(&log).map_err(|error| files::failed("created", &log, &error, Reason::ToolFailed))?;
        let mut command = command.into_command();
        command.stdout(Stdio::null()).stderr(file);
        let process = command.spawn().map_err(|error| programs::not_started("etcd", &error))?;
        Ok(Self { process, endpoint, log })
    }

    /// Where it serves clients.
    pub(in crate::etcd) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits until it serves; `what` is what messages call it. Returns the revision of its key space, unless its data has users and it
    /// tells that to them alone (3.5.35, 3.6 and later).
    pub(in crate::etcd) fn wait_until_serving(
        &mut self,
        programs: &EtcdTools,
        what: &str,
        timeout: Duration,
    ) -> Result<Option<i64>, CommandFailure> {
        let mut progress = WaitLogger::new(format!("{what} serves"));
        let deadline = Instant::now() + timeout;
        loop {
            let failure = match programs.status_and_revision(&self.endpoint) {
                Ok((_, revision)) => {
                    progress.done(&format!("{what} serves"));
                    return Ok(Some(revision));
                }
                Err(failure) if failure.reason() == Reason::AuthenticationFailed => {
                    progress.done(&format!("{what} serves, to users"));
                    return Ok(None);
                }
                Err(failure) => failure,
            };
            let ended = self.process.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() >= deadline {
                return Err(self.explain(what, &failure));
            }
            progress.update(failure.message());
            progress.pause();
        }
    }

    /// Why it does not serve, by its log.
    fn explain(&self, what: &str, failure: &CommandFailure) -> CommandFailure {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let message =
            format!("{what} does not serve: {}; its log ends with: {}", failure.message(), output::excerpt(&log));
        CommandFailure::new(output::classify(&log, Reason::RestoreFailed), message)
    }

    /// Ends it so that it writes what it has to.
    pub(in crate::etcd) fn stop(mut self) -> Result<(), CommandFailure> {
        let failed =
            |error: std::io::Error| CommandFailure::new(Reason::ToolFailed, format!("etcd cannot be ended: {error}"));
        kill_process(Pid::from_child(&self.process), Signal::TERM).map_err(|error| failed(error.into()))?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.process.try_wait().map_err(failed)?.is_none() {
            if Instant::now() >= deadline {
                let seconds = STOP_TIMEOUT.as_secs();
                return Err(CommandFailure::new(Reason::ToolFailed, format!("etcd does not exit within {seconds} s")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for LoopbackMember {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port of the loopback interface that no one uses now.
pub(in crate::etcd) fn free_port() -> Result<u16, CommandFailure> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| {
        CommandFailure::new(Reason::CannotStart, format!("no port of the loopback interface is free: {error}"))
    })
}
