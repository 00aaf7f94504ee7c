//! `agent pg-run` becomes postgres; `agent pg-ready` checks whether it accepts connections.

use std::env;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use agent_protocol::{PgReady, PgRun};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::lock::{self, LockPolicy};
use crate::postgres::client::ping::{self, Readiness};
use crate::postgres::client::tools::{OWNER_PASSWORD, PASSWORD, Tools, superuser};
use crate::postgres::data_dir::hba::HbaAccess;
use crate::postgres::data_dir::inspect;
use crate::postgres::data_dir::proven;
use crate::postgres::data_dir::reserve;
use crate::postgres::data_dir::volume_usage;

/// Returns only with a failure: otherwise this process has become postgres.
pub(crate) fn run(options: &PgRun) -> CommandFailure {
    become_postgres(options).unwrap_or_else(|failure| failure)
}

/// The directory of the server's socket in the same pod.
const SOCKETS: &str = "/var/run/postgresql";
/// How long the server may take to answer: the probes have 5 s.
const PING_TIMEOUT: Duration = Duration::from_secs(4);
/// How long to wait between pings.
const POLL_SERVER: Duration = Duration::from_millis(50);

/// Checks whether the server accepts connections, for up to `wait`, and at least once. It starts no process for that: see
/// [`ping`].
pub(crate) fn ready(options: &PgReady) -> Result<(), CommandFailure> {
    let (data, bytes) = options.data.as_deref().zip(options.reserve).unzip();
    if let Some((data, bytes)) = data.zip(bytes) {
        reserve::regain(data, bytes);
        volume_usage::record(data);
        proven::renew(data);
    }
    let host = env::var("PGHOST").ok().filter(|host| !host.is_empty()).unwrap_or_else(|| SOCKETS.into());
    let user = superuser();
    let attempt = data.filter(|data| proven::is_attempt(data));
    let until = Instant::now() + *options.wait;
    let last = until.max(Instant::now() + PING_TIMEOUT);
    loop {
        let answer = ping::ping(&host, &user, last.saturating_duration_since(Instant::now()));
        if answer == Readiness::Accepting {
            // Now that it serves, record the settings that it was started with.
            attempt.into_iter().for_each(proven::served);
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(CommandFailure::new(Reason::NotReady, format!("{host}:{} - {}", ping::PORT, answer.text())));
        }
        thread::sleep(POLL_SERVER);
    }
}

fn become_postgres(options: &PgRun) -> Result<CommandFailure, CommandFailure> {
    let tools = Tools::find()?;
    let data = &options.data;
    let lock = lock::take(&lock::path(data), *options.lock_timeout, LockPolicy::BestEffort)?;
    if !data.join("PG_VERSION").exists() {
        let message = format!("{} contains no data; not starting postgres", data.display());
        return Err(CommandFailure::new(Reason::DataMissing, message));
    }
    inspect::remove_stale_pid(data)?;
    match options.reserve {
        Some(bytes) => reserve::keep(data, bytes),
        None => reserve::release(data),
    }
    repair_rules(data).map_err(|error| files::failed("repaired", data, &error, Reason::DataUnreadable))?;
    if let Some(configuration) = &options.configuration {
        // The server may start nevertheless.
        if let Err(error) = proven::choose(data, configuration) {
            eprintln!("cannot choose the settings to start {} with: {error}", data.display());
        }
    }
    // A second mount of the volume may have opened the directory to its group, which postgres rejects.
    fs::set_permissions(data, Permissions::from_mode(0o700))
        .map_err(|error| files::failed("restricted to its owner", data, &error, Reason::DataUnreadable))?;
    let mut command = tools.command("postgres");
    command.arg("-D").arg(data).args(&options.arguments).env_remove(PASSWORD).env_remove(OWNER_PASSWORD);
    // Each process that has the file open holds the lock. As standard input, which postgres does not read, all its processes
    // inherit it.
    let error = command.stdin(lock).exec();
    Ok(tools.not_started("postgres", &error))
}

/// Replaces a pg_hba.conf that was written only in part, with which the server would not start: the operator replaces the file
/// over a connection while a server runs, and a container restarts without its pod's init steps. Its access is unknown, so it is
/// closed.
fn repair_rules(data: &Path) -> io::Result<()> {
    let rules = data.join("pg_hba.conf");
    let text = fs::read_to_string(&rules).unwrap_or_default();
    let complete =
        |access: HbaAccess| fs::read_to_string(data.join(access.file())).ok().filter(|complete| !complete.is_empty());
    match (complete(HbaAccess::Open), complete(HbaAccess::Closed)) {
        (Some(open), Some(closed)) if !text.starts_with(&open) && !text.starts_with(&closed) => {
            eprintln!("{} is incomplete; replacing it with {}", rules.display(), HbaAccess::Closed.file());
            files::write(&rules, &closed)
        }
        _ => Ok(()),
    }
}
