//! A server of one's own: reached through a private socket only, and gone when it is dropped.

use std::collections::VecDeque;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Reason};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::hba;
use crate::postgres::files::{self, Scratch};

/// Recovery after a crash reads what was written since the last checkpoint: minutes, on a slow disk.
const STARTED_WITHIN: Duration = Duration::from_secs(1800);

/// How many lines of the log are kept.
const KEPT: usize = 30;

pub(crate) struct Server<'a> {
    tools: &'a Tools,
    data: PathBuf,
    process: Option<Child>,
    /// The socket and the server's files of settings.
    folder: Scratch,
    log: Arc<Mutex<VecDeque<String>>>,
}

impl<'a> Server<'a> {
    /// Starts it on a data directory. `lock` is what it holds while it lives; below `run` there must be room for a socket, and
    /// the path of that is short (107 bytes).
    pub(crate) fn start(
        tools: &'a Tools,
        data: &Path,
        run: &Path,
        settings: &str,
        lock: Option<&File>,
    ) -> Result<Self, Failure> {
        let folder = Scratch::new(run.join(format!("agent-{}", std::process::id())))?;
        let unusable = |error| files::failed("written", folder.path(), &error, Reason::CannotStart);
        let (conf, rules) = (folder.path().join("postgresql.conf"), folder.path().join("pg_hba.conf"));
        files::write(&conf, settings).and_then(|()| files::write(&rules, hba::TRUST)).map_err(unusable)?;
        fs::set_permissions(data, Permissions::from_mode(0o700)).map_err(unusable)?;
        let mut command = tools.command("postgres");
        let setting = |name: &str, path: &Path| format!("--{name}={}", path.display());
        command.arg("-D").arg(data).arg(setting("config_file", &conf)).arg(setting("hba_file", &rules));
        command.arg(setting("unix_socket_directories", folder.path())).args(["--listen_addresses=", "--port=5432"]);
        if let Some(lock) = lock {
            command.stdin(lock.try_clone().map_err(unusable)?);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| tools.not_started("postgres", &error))?;
        let log = Arc::default();
        if let Some(stderr) = process.stderr.take() {
            keep_last_lines(stderr, Arc::clone(&log));
        }
        let mut server = Self { tools, data: data.to_owned(), process: Some(process), folder, log };
        server.wait_until_ready()?;
        Ok(server)
    }

    pub(crate) fn connection(&self, user: &str) -> Connection {
        Connection::local(self.folder.path(), user).of_this_version(self.tools)
    }

    /// A server that cannot go on says why in its log, and its clients say only that it is gone.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        if failure.reason() != Reason::ConnectionFailed {
            return failure;
        }
        let explained = self.tools.failure("postgres", &self.log(), Reason::ConnectionFailed);
        match explained.reason() {
            Reason::NoSpace | Reason::DataCorrupt => explained,
            _ => failure,
        }
    }

    /// The last lines of its log.
    fn log(&self) -> String {
        // The thread that reads it has it all a moment later.
        thread::sleep(Duration::from_millis(100));
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Stops it with all data written.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        self.pg_ctl_stop().map(|_| ())?;
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
        Ok(())
    }

    /// As pg_ctl does: the server says in the eighth line of its lock file when it takes connections.
    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let end = Instant::now() + STARTED_WITHIN;
        let Some(process) = &self.process else { return Ok(()) };
        let number = process.id().to_string();
        loop {
            if let Some(Ok(Some(status))) = self.process.as_mut().map(Child::try_wait) {
                self.process = None;
                let log = self.log();
                let stderr = if log.is_empty() { status.to_string() } else { log };
                return Err(self.tools.failure("postgres", &stderr, Reason::CannotStart));
            }
            let lock = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
            let mut lines = lock.lines();
            if lines.next() == Some(&number) && lines.nth(6).is_some_and(|state| state.trim() == "ready") {
                return Ok(());
            }
            if Instant::now() > end {
                let message = format!("postgres does not take connections within {} s", STARTED_WITHIN.as_secs());
                return Err(Failure::new(Reason::CannotStart, message));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn pg_ctl_stop(&self) -> Result<String, Failure> {
        let mut command = self.tools.command("pg_ctl");
        command.arg("stop").arg("-D").arg(&self.data).args(["-m", "fast", "-w", "-t", "600", "-s"]);
        self.tools.run(&mut command, Reason::ToolFailed)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        if self.pg_ctl_stop().is_err() {
            let _ = process.kill();
        }
        let _ = process.wait();
    }
}

fn keep_last_lines(stderr: impl std::io::Read + Send + 'static, log: Arc<Mutex<VecDeque<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() == KEPT {
                log.pop_front();
            }
            log.push_back(line);
        }
    });
}
