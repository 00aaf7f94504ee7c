//! etcd's own programs: where they are, and how the agent runs them.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use agent_protocol::TlsFileNames;

use super::output::{self, Candidate, KeyHash};
use super::tls::TlsFiles;
use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::progress::WaitLogger;

/// Where the official images have them.
const DIRECTORY: &str = "/usr/local/bin";
/// How long a short request may take.
const REQUEST_TIMEOUT: &str = "--command-timeout=5s";
/// The file with the password of root, which is a key of its Secret.
const PASSWORD_FILE: &str = "password";
/// How much of a program's standard error is kept.
const LONGEST_LOG: usize = 64 << 10;

/// The programs of one version of etcd.
#[derive(Debug)]
pub(in crate::etcd) struct EtcdTools {
    directory: PathBuf,
    /// What etcdctl takes to reach members with TLS.
    client: Option<TlsFiles>,
    /// As whom it reaches members that require users: user and password.
    user: Option<String>,
}

/// What a snapshot is restored into: the data directory, which does not exist yet, of the only member of a new cluster.
#[derive(Clone, Copy, Debug)]
pub(in crate::etcd) struct RestoreTarget<'a> {
    pub(in crate::etcd) data_dir: &'a Path,
    pub(in crate::etcd) name: &'a str,
    pub(in crate::etcd) peer_url: &'a str,
    pub(in crate::etcd) token: &'a str,
    pub(in crate::etcd) timeout: Duration,
}

/// A command line that grows.
pub(in crate::etcd) struct CommandLine(Command);

impl CommandLine {
    pub(in crate::etcd) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub(in crate::etcd) fn into_command(self) -> Command {
        self.0
    }
}

impl EtcdTools {
    pub(in crate::etcd) fn find() -> Result<Self, CommandFailure> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut directories = std::env::split_paths(&path).chain([PathBuf::from(DIRECTORY)]);
        let found = directories.find(|directory| ["etcd", "etcdctl"].iter().all(|name| directory.join(name).is_file()));
        let message = format!("etcd and etcdctl are neither in PATH nor in {DIRECTORY}");
        let found = found.ok_or_else(|| CommandFailure::new(Reason::ToolMissing, message))?;
        Ok(Self { directory: found, client: None, user: None })
    }

    /// The same, with the files in a directory for members with TLS, and the directory with the password of root.
    pub(in crate::etcd) fn find_for_clients(tls: Option<&Path>, root: Option<&Path>) -> Result<Self, CommandFailure> {
        let client = tls.map(|directory| TlsFiles::find(directory, &TlsFileNames::CLIENT)).transpose()?;
        Ok(Self { client, user: root.map(root_user).transpose()?, ..Self::find()? })
    }

    /// A program, with no setting from the environment of the agent.
    pub(in crate::etcd) fn program(&self, name: &str) -> CommandLine {
        let mut command = Command::new(self.directory.join(name));
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("ETCD") {
                command.env_remove(variable);
            }
        }
        // Until 3.3, etcdctl speaks the API of etcd 2 by default.
        command.env("ETCDCTL_API", "3").stdin(Stdio::null());
        CommandLine(command)
    }

    pub(in crate::etcd) fn etcdctl(&self, endpoint: &str) -> CommandLine {
        let flags = self.client.iter().filter(|_| endpoint.starts_with("https://")).flat_map(TlsFiles::etcdctl_flags);
        let mut etcdctl = self.program("etcdctl");
        if let Some(user) = &self.user {
            // Not in its arguments, which all processes of the node see.
            etcdctl.0.env("ETCDCTL_USER", user);
        }
        flags.fold(etcdctl.arg(format!("--endpoints={endpoint}")), CommandLine::arg)
    }

    /// Restores a snapshot.
    pub(in crate::etcd) fn restore(&self, snapshot: &Path, target: &RestoreTarget<'_>) -> Result<(), CommandFailure> {
        let RestoreTarget { data_dir, name, peer_url, token, timeout } = *target;
        let restore = self
            .program(self.snapshot_program())
            .arg("snapshot")
            .arg("restore")
            .arg(snapshot)
            .arg(format!("--name={name}"))
            .arg(format!("--data-dir={}", data_dir.display()))
            .arg(format!("--initial-cluster={name}={peer_url}"))
            .arg(format!("--initial-cluster-token={token}"))
            .arg(format!("--initial-advertise-peer-urls={peer_url}"));
        let restored = self.run_for(restore.into_command(), timeout, "the snapshot is restored");
        restored.map(drop).map_err(|failure| match failure.reason() {
            Reason::ToolFailed => CommandFailure::new(Reason::RestoreFailed, failure.message()),
            _ => failure,
        })
    }

    /// What a member says about itself.
    pub(in crate::etcd) fn status(&self, endpoint: &str) -> Result<Candidate, CommandFailure> {
        self.status_and_revision(endpoint).map(|(candidate, _)| candidate)
    }

    /// The same with the revision of its key space.
    pub(in crate::etcd) fn status_and_revision(&self, endpoint: &str) -> Result<(Candidate, i64), CommandFailure> {
        let query = self.etcdctl(endpoint).arg(REQUEST_TIMEOUT).arg("-w=json").arg("endpoint").arg("status");
        let printed = run(query.into_command())?;
        let message = || format!("{endpoint} does not describe itself: {printed:?}");
        output::status(&printed).ok_or_else(|| CommandFailure::new(Reason::ToolFailed, message()))
    }

    /// The revision of the key space that a snapshot holds.
    pub(in crate::etcd) fn snapshot_revision(&self, snapshot: &Path) -> Result<i64, CommandFailure> {
        let query = self.program(self.snapshot_program()).arg("snapshot").arg("status").arg("-w=json").arg(snapshot);
        let printed = run(query.into_command())?;
        let message = || format!("the snapshot is not described: {printed:?}");
        output::snapshot_revision(&printed).ok_or_else(|| CommandFailure::new(Reason::ToolFailed, message()))
    }

    /// The program that reads snapshots: before 3.5 there is no etcdutl.
    fn snapshot_program(&self) -> &'static str {
        if self.directory.join("etcdutl").is_file() { "etcdutl" } else { "etcdctl" }
    }

    /// The hash of a member's keys and values up to a revision (0: the latest).
    pub(in crate::etcd) fn key_hash(&self, endpoint: &str, revision: i64) -> Result<KeyHash, CommandFailure> {
        let query = self.etcdctl(endpoint).arg("--command-timeout=60s").arg("-w=json").arg("endpoint").arg("hashkv");
        let printed = run(query.arg(format!("--rev={revision}")).into_command())?;
        let message = || format!("{endpoint} does not answer with a hash: {printed:?}");
        output::key_hash(&printed).ok_or_else(|| CommandFailure::new(Reason::ToolFailed, message()))
    }

    /// Runs a program that may take long.
    pub(in crate::etcd) fn run_for(
        &self,
        command: Command,
        timeout: Duration,
        goal: &str,
    ) -> Result<String, CommandFailure> {
        run_for(command, timeout, Some(goal))
    }
}

/// The user root with the password in a directory, as etcdctl takes them.
fn root_user(directory: &Path) -> Result<String, CommandFailure> {
    let file = directory.join(PASSWORD_FILE);
    let password =
        std::fs::read_to_string(&file).map_err(|error| files::failed("read", &file, &error, Reason::BadInput))?;
    Ok(format!("root:{password}"))
}

/// Runs a program that limits its own time.
fn run(command: Command) -> Result<String, CommandFailure> {
    run_for(command, Duration::from_secs(90), None)
}

fn run_for(mut command: Command, timeout: Duration, goal: Option<&str>) -> Result<String, CommandFailure> {
    let name = name(&command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(&name, &error))?;
    let (stdout, stderr) = (child.stdout.take().map(read), child.stderr.take().map(read));
    let ended = wait(&mut child, timeout, goal);
    let (printed, log) = (text(stdout), text(stderr));
    match ended {
        Ok(Some(status)) if status.success() => Ok(printed),
        Ok(Some(_)) => Err(CommandFailure::new(
            output::classify(&log, Reason::ToolFailed),
            format!("{name}: {}", output::excerpt(&log)),
        )),
        Ok(None) => {
            let seconds = timeout.as_secs();
            let message = format!("{name} did not end within {seconds} s: {}", output::excerpt(&log));
            Err(CommandFailure::new(Reason::ConnectionFailed, message))
        }
        Err(error) => Err(CommandFailure::new(Reason::ToolFailed, format!("{name}: {error}"))),
    }
}

/// Waits for the end of a program; `None` if it had to be killed.
fn wait(child: &mut Child, timeout: Duration, goal: Option<&str>) -> io::Result<Option<std::process::ExitStatus>> {
    let mut progress = goal.map(|goal| WaitLogger::new(goal.to_owned()));
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        if let Some(progress) = &mut progress {
            progress.heartbeat();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Reads all that a program prints, and keeps the end of it.
pub(in crate::etcd) fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..read]);
            let surplus = kept.len().saturating_sub(LONGEST_LOG);
            kept.drain(..surplus);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

fn text(reader: Option<JoinHandle<String>>) -> String {
    reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
}

pub(in crate::etcd) fn not_started(program: &str, error: &io::Error) -> CommandFailure {
    CommandFailure::new(Reason::ToolMissing, format!("{program} cannot be run: {error}"))
}

pub(in crate::etcd) fn name(command: &Command) -> String {
    let path = Path::new(command.get_program());
    path.file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
}
