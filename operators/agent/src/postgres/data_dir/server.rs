//! A private server: it listens only at a private socket, and stops when it is dropped.

use std::collections::VecDeque;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, Reason};
use crate::files::{self, ScratchDirectory};
use crate::postgres::client::tools::{Connection, Tools};
use crate::postgres::data_dir::hba;

/// How long a start may take: recovery after a crash reads all WAL since the last checkpoint, which takes minutes on a slow disk.
const START_TIMEOUT: Duration = Duration::from_secs(1800);

/// How many lines of the log the agent keeps.
const LOG_LINES: usize = 30;

pub(crate) struct PrivateServer<'a> {
    tools: &'a Tools,
    data: PathBuf,
    process: Option<Child>,
    /// Has the socket and the server's configuration files.
    directory: ScratchDirectory,
    log: Arc<Mutex<VecDeque<String>>>,
}

impl<'a> PrivateServer<'a> {
    /// Starts it on a data directory. It holds `lock` while it runs; below `run` there must be space for a socket, whose path
    /// must be short (107 bytes).
    pub(crate) fn start(
        tools: &'a Tools,
        data: &Path,
        run: &Path,
        settings: &str,
        lock: Option<&File>,
    ) -> Result<Self, CommandFailure> {
        let directory = ScratchDirectory::new(run.join(format!("agent-{}", std::process::id())))?;
        let unusable = |error| files::failed("written", directory.path(), &error, Reason::CannotStart);
        let (conf, rules) = (directory.path().join("postgresql.conf"), directory.path().join("pg_hba.conf"));
        files::write(&conf, settings).and_then(|()| files::write(&rules, hba::TRUST)).map_err(unusable)?;
        fs::set_permissions(data, Permissions::from_mode(0o700)).map_err(unusable)?;
        let mut command = tools.command("postgres");
        let setting = |name: &str, path: &Path| format!("--{name}={}", path.display());
        command.arg("-D").arg(data).arg(setting("config_file", &conf)).arg(setting("hba_file", &rules));
        command.arg(setting("unix_socket_directories", directory.path())).args(["--listen_addresses=", "--port=5432"]);
        if let Some(lock) = lock {
            command.stdin(lock.try_clone().map_err(unusable)?);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| tools.not_started("postgres", &error))?;
        let log = Arc::default();
        if let Some(stderr) = process.stderr.take() {
            keep_last_lines(stderr, Arc::clone(&log));
        }
        let mut server = Self { tools, data: data.to_owned(), process: Some(process), directory, log };
        server.wait_until_ready()?;
        Ok(server)
    }

    pub(crate) fn connection(&self, user: &str) -> Connection {
        Connection::local(self.directory.path(), user).of_this_version(self.tools)
    }

    /// Explains a lost connection by the server's log, which has the reason if the server stopped.
    pub(crate) fn explain(&self, failure: CommandFailure) -> CommandFailure {
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
        // The thread that reads the log may need a moment.
        thread::sleep(Duration::from_millis(100));
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Stops it after a checkpoint.
    pub(crate) fn stop(mut self) -> Result<(), CommandFailure> {
        self.pg_ctl_stop().map(|_| ())?;
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
        Ok(())
    }

    /// As pg_ctl does: the eighth line of the server's lock file says when it accepts connections.
    fn wait_until_ready(&mut self) -> Result<(), CommandFailure> {
        let end = Instant::now() + START_TIMEOUT;
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
                let message = format!("postgres does not accept connections within {} s", START_TIMEOUT.as_secs());
                return Err(CommandFailure::new(Reason::CannotStart, message));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn pg_ctl_stop(&self) -> Result<String, CommandFailure> {
        let mut command = self.tools.command("pg_ctl");
        command.arg("stop").arg("-D").arg(&self.data).args(["-m", "fast", "-w", "-t", "600", "-s"]);
        self.tools.run(&mut command, Reason::ToolFailed)
    }
}

impl Drop for PrivateServer<'_> {
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
            if log.len() == LOG_LINES {
                log.pop_front();
            }
            log.push_back(line);
        }
    });
}
