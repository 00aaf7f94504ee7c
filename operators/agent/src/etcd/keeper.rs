//! `agent etcd-keep`: while etcd runs, takes the reserve back that was released so that etcd could start.
//!
//! It also releases the reserve if etcd has started with a database at its quota on a volume without other free space: clients
//! cannot write then, and a defragmentation needs space. It waits until etcd is up, as etcd first creates the next segment of its
//! log.
//!
//! Meanwhile it serves how full the volume is (`volume_port.rs`).
//!
//! It is a child of etcd, and not its parent: etcd stays the first process of its container, so signals, exit code and
//! termination message are etcd's own, and the kernel ends the keeper with it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use agent_protocol::{AgentCommand, EtcdKeep};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::etcd::reserve;
use crate::etcd::volume_port;

/// How often it measures the volume, which takes a `stat` and a `statvfs`.
const POLL_VOLUME: Duration = Duration::from_secs(5);

/// When etcd counts as up: it has opened its log and created the next segment.
const ETCD_STARTUP: Duration = Duration::from_secs(15);

/// Starts a keeper as a child of this process, which then becomes etcd. etcd also runs without a keeper.
pub(crate) fn start(data_dir: &Path, reserve: u64, release: bool, volume_port: Option<u16>) {
    let spawned = std::env::current_exe().and_then(|agent| {
        let parent = std::process::id().cast_signed();
        let keep = EtcdKeep { data_dir: data_dir.to_owned(), reserve, parent, release, volume_port };
        Command::new(agent).args(keep.argv()).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
    });
    if let Err(error) = spawned {
        eprintln!("the keeper cannot start, so the reserve is not restored while etcd runs: {error}");
    }
}

/// Returns when the parent process has exited, unless the kernel has ended this process with it.
pub(crate) fn run(options: &EtcdKeep) {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        eprintln!("the end of etcd will be noticed late: {error}");
    }
    let result = options.volume_port.map(|port| volume_port::serve(port, options.data_dir.clone()));
    if let Some(Err(error)) = result {
        eprintln!("the agent cannot serve how full the volume is: {error}");
    }
    let mut logged = String::new();
    let mut release = options.release.then(Instant::now);
    // The parent may have exited before the signal was requested.
    while getppid().is_some_and(|parent| parent.as_raw_pid() == options.parent) {
        thread::sleep(POLL_VOLUME);
        if let Some(since) = release {
            if since.elapsed() >= ETCD_STARTUP {
                release = None;
                release_reserve(&options.data_dir);
            }
            continue;
        }
        let message = match reserve::regain(&options.data_dir, options.reserve) {
            Ok(false) => String::new(),
            Ok(true) => "there is space again: the reserve is complete".to_owned(),
            Err(error) => format!("the reserve cannot be taken back: {error}"),
        };
        // A repeated failure is logged once.
        if !message.is_empty() && message != logged {
            eprintln!("{message}");
        }
        logged = message;
    }
}

fn release_reserve(data_dir: &Path) {
    match reserve::release(data_dir) {
        Ok(true) => {
            eprintln!("the volume has no other free space: the reserve has been released, for a defragmentation")
        }
        Ok(false) => {}
        Err(error) => eprintln!("the reserve cannot be released: {error}"),
    }
}
