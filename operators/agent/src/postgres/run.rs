//! `agent pg-run`: becomes postgres; `agent pg-ready`: asks it whether it takes connections.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::hba::Access;
use super::lock::{self, Without};
use super::ping::{self, Readiness};
use super::tools::{OWNER_PASSWORD, PASSWORD, Tools, superuser};
use super::{files, folder_reader, measured, proven, reserve};
use crate::failure::{Failure, Reason};

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) data: PathBuf,
    pub(crate) lock_timeout: Duration,
    /// How many bytes to hold back on the volume.
    pub(crate) reserve: Option<u64>,
    /// The folder of its settings, for which those that it served with last stand in if it does not start with them.
    pub(crate) configuration: Option<PathBuf>,
    pub(crate) arguments: Vec<OsString>,
}

/// How a server is asked whether it takes connections.
#[derive(Debug)]
pub(crate) struct Ready {
    /// How long it is asked until it does.
    pub(crate) wait: Duration,
    /// The folder of its data, and how many bytes are to be held back beside it.
    pub(crate) reserve: Option<(PathBuf, u64)>,
}

/// Comes back only with a failure: otherwise this process is postgres from then on.
pub(crate) fn run(options: &Run) -> Failure {
    become_postgres(options).unwrap_or_else(|failure| failure)
}

/// Where the server of the same pod is reached.
const SOCKETS: &str = "/var/run/postgresql";
/// How long it may take to answer: the probes have 5 s.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);
/// How soon it is asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// Asks whether the server takes connections, for so long, and once at least. No process is started for that: see [`ping`].
pub(crate) fn ready(options: &Ready) -> Result<(), Failure> {
    let data = options.reserve.as_ref().map(|(data, _)| &**data);
    if let Some((data, bytes)) = &options.reserve {
        reserve::regain(data, *bytes);
        measured::note(data);
        proven::renew(data);
    }
    let host = env::var("PGHOST").ok().filter(|host| !host.is_empty()).unwrap_or_else(|| SOCKETS.into());
    let user = superuser();
    let attempt = data.filter(|data| proven::is_attempt(data));
    let until = Instant::now() + options.wait;
    let last = until.max(Instant::now() + ANSWERS_WITHIN);
    loop {
        let answer = ping::ask(&host, &user, last.saturating_duration_since(Instant::now()));
        if answer == Readiness::Accepting {
            // What it was started with is kept once it serves.
            attempt.into_iter().for_each(proven::served);
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(Failure::new(Reason::NotReady, format!("{host}:{} - {}", ping::PORT, answer.words())));
        }
        thread::sleep(AGAIN);
    }
}

fn become_postgres(options: &Run) -> Result<Failure, Failure> {
    let tools = Tools::find()?;
    let data = &options.data;
    let lock = lock::take(&lock::of(data), options.lock_timeout, Without::GoOn)?;
    if !data.join("PG_VERSION").exists() {
        let sentence = format!("{} holds no data; postgres is not started", data.display());
        return Err(Failure::new(Reason::DataMissing, sentence));
    }
    folder_reader::make_way(data)?;
    match options.reserve {
        Some(bytes) => reserve::keep(data, bytes),
        None => reserve::make_room(data),
    }
    mend_rules(data).map_err(|error| files::failed("made whole", data, &error, Reason::DataUnreadable))?;
    if let Some(configuration) = &options.configuration {
        // It may start all the same.
        if let Err(error) = proven::choose(data, configuration) {
            eprintln!("what {} is to be started with cannot be chosen: {error}", data.display());
        }
    }
    // A second mount of the volume may have opened the folder to its group, and postgres refuses that.
    fs::set_permissions(data, Permissions::from_mode(0o700))
        .map_err(|error| files::failed("closed to others", data, &error, Reason::DataUnreadable))?;
    let mut command = tools.command("postgres");
    command.arg("-D").arg(data).args(&options.arguments).env_remove(PASSWORD).env_remove(OWNER_PASSWORD);
    // The lock is held by whoever has the file open: as the standard input, which postgres does not read, it goes to each
    // of its processes.
    let error = command.stdin(lock).exec();
    Ok(tools.not_started("postgres", &error))
}

/// A container is started again without its pod's init steps, and pg_hba.conf is replaced over a connection while a server
/// runs: one of which only a part was written would not let it start. What it was to be is not known, so it is closed.
fn mend_rules(data: &Path) -> io::Result<()> {
    let rules = data.join("pg_hba.conf");
    let text = fs::read_to_string(&rules).unwrap_or_default();
    let whole = |access: Access| fs::read_to_string(data.join(access.file())).ok().filter(|whole| !whole.is_empty());
    match (whole(Access::Open), whole(Access::Closed)) {
        (Some(open), Some(closed)) if !text.starts_with(&open) && !text.starts_with(&closed) => {
            eprintln!("{} is not whole, and is replaced by {}", rules.display(), Access::Closed.file());
            files::write(&rules, &closed)
        }
        _ => Ok(()),
    }
}
