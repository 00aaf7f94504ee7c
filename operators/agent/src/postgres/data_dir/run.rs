//! `agent pg-run`: becomes postgres; `agent pg-ready`: asks it whether it takes connections.

use std::env;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use agent_protocol::{PgReady, PgRun};

use crate::failure::{Failure, Reason};
use crate::postgres::client::ping::{self, Readiness};
use crate::postgres::client::tools::{OWNER_PASSWORD, PASSWORD, Tools, superuser};
use crate::postgres::data_dir::hba::Access;
use crate::postgres::data_dir::inspect;
use crate::postgres::data_dir::proven;
use crate::postgres::data_dir::reserve;
use crate::postgres::data_dir::volume_usage;
use crate::postgres::files;
use crate::postgres::lock::{self, LockPolicy};

/// Comes back only with a failure: otherwise this process is postgres from then on.
pub(crate) fn run(options: &PgRun) -> Failure {
    become_postgres(options).unwrap_or_else(|failure| failure)
}

/// Where the server of the same pod is reached.
const SOCKETS: &str = "/var/run/postgresql";
/// How long it may take to answer: the probes have 5 s.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);
/// How soon it is asked again.
const POLL_SERVER: Duration = Duration::from_millis(50);

/// Asks whether the server takes connections, for so long, and once at least. No process is started for that: see [`ping`].
pub(crate) fn ready(options: &PgReady) -> Result<(), Failure> {
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
    let last = until.max(Instant::now() + ANSWERS_WITHIN);
    loop {
        let answer = ping::ask(&host, &user, last.saturating_duration_since(Instant::now()));
        if answer == Readiness::Accepting {
            // What it was started with is kept once it serves.
            attempt.into_iter().for_each(proven::served);
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(Failure::new(Reason::NotReady, format!("{host}:{} - {}", ping::PORT, answer.text())));
        }
        thread::sleep(POLL_SERVER);
    }
}

fn become_postgres(options: &PgRun) -> Result<Failure, Failure> {
    let tools = Tools::find()?;
    let data = &options.data;
    let lock = lock::take(&lock::path(data), *options.lock_timeout, LockPolicy::BestEffort)?;
    if !data.join("PG_VERSION").exists() {
        let message = format!("{} contains no data; not starting postgres", data.display());
        return Err(Failure::new(Reason::DataMissing, message));
    }
    inspect::remove_stale_pid(data)?;
    match options.reserve {
        Some(bytes) => reserve::keep(data, bytes),
        None => reserve::make_room(data),
    }
    repair_rules(data).map_err(|error| files::failed("repaired", data, &error, Reason::DataUnreadable))?;
    if let Some(configuration) = &options.configuration {
        // It may start all the same.
        if let Err(error) = proven::choose(data, configuration) {
            eprintln!("cannot choose the settings to start {} with: {error}", data.display());
        }
    }
    // A second mount of the volume may have opened the directory to its group, and postgres refuses that.
    fs::set_permissions(data, Permissions::from_mode(0o700))
        .map_err(|error| files::failed("restricted to its owner", data, &error, Reason::DataUnreadable))?;
    let mut command = tools.command("postgres");
    command.arg("-D").arg(data).args(&options.arguments).env_remove(PASSWORD).env_remove(OWNER_PASSWORD);
    // Each process that has the file open holds the lock: as the standard input, which postgres does not read, it goes to each
    // of its processes.
    let error = command.stdin(lock).exec();
    Ok(tools.not_started("postgres", &error))
}

/// A container is started again without its pod's init steps, and pg_hba.conf is replaced over a connection while a server
/// runs: one of which only a part was written would not let it start. What it was to be is not known, so it is closed.
fn repair_rules(data: &Path) -> io::Result<()> {
    let rules = data.join("pg_hba.conf");
    let text = fs::read_to_string(&rules).unwrap_or_default();
    let whole = |access: Access| fs::read_to_string(data.join(access.file())).ok().filter(|whole| !whole.is_empty());
    match (whole(Access::Open), whole(Access::Closed)) {
        (Some(open), Some(closed)) if !text.starts_with(&open) && !text.starts_with(&closed) => {
            eprintln!("{} is incomplete; replacing it with {}", rules.display(), Access::Closed.file());
            files::write(&rules, &closed)
        }
        _ => Ok(()),
    }
}
