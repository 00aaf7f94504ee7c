//! `agent etcd-keep`: takes the reserve back beside an etcd that runs, where it was given up for etcd to start.
//!
//! And it gives the reserve up where etcd has started with a database at its quota, on a volume with no other room:
//! writers cannot take it then, and a defragmentation needs some. Not before etcd is up, since that makes the next segment
//! of its log from what there is.
//!
//! Meanwhile it serves how full the volume is (`volume_port.rs`).
//!
//! It is a child of etcd, and not its parent: etcd stays the first process of its container, so signals, exit code and termination
//! message are etcd's own, and the kernel ends the keeper with it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use agent_protocol::{Arguments, EtcdKeep};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::etcd::reserve;
use crate::etcd::volume_port;

/// How often it looks. A look is a `stat` and a `statvfs`.
const PERIOD: Duration = Duration::from_secs(5);

/// When etcd counts as up: its first acts are to open its log and to make the next segment.
const UP: Duration = Duration::from_secs(15);

/// Starts one beside this process, and what that becomes. etcd runs without one, too.
pub(crate) fn start(data_dir: &Path, reserve: u64, release: bool, volume_port: Option<u16>) {
    let spawned = std::env::current_exe().and_then(|agent| {
        let beside = std::process::id().cast_signed();
        let keep = EtcdKeep { data_dir: data_dir.to_owned(), reserve, beside, release, volume_port };
        Command::new(agent).args(keep.argv()).stdin(Stdio::null()).stdout(Stdio::null()).spawn()
    });
    if let Err(error) = spawned {
        eprintln!("the keeper cannot start, so the reserve is not restored while etcd runs: {error}");
    }
}

/// Comes back when the process has ended that it runs beside, if it has not been ended with it.
pub(crate) fn run(options: &EtcdKeep) {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        eprintln!("the end of etcd will be noticed late: {error}");
    }
    let result = options.volume_port.map(|port| volume_port::serve(port, options.data_dir.clone()));
    if let Some(Err(error)) = result {
        eprintln!("the agent cannot serve how full the volume is: {error}");
    }
    let mut said = String::new();
    let mut release = options.release.then(Instant::now);
    // That process may have ended before the signal was requested.
    while getppid().is_some_and(|parent| parent.as_raw_pid() == options.beside) {
        thread::sleep(PERIOD);
        if let Some(since) = release {
            if since.elapsed() >= UP {
                release = None;
                give_up(&options.data_dir);
            }
            continue;
        }
        let message = match reserve::regain(&options.data_dir, options.reserve) {
            Ok(false) => String::new(),
            Ok(true) => "there is room again: the reserve is back".to_owned(),
            Err(error) => format!("the reserve cannot be taken back: {error}"),
        };
        // What fails every time is said once.
        if !message.is_empty() && message != said {
            eprintln!("{message}");
        }
        said = message;
    }
}

fn give_up(data_dir: &Path) {
    match reserve::release(data_dir) {
        Ok(true) => eprintln!("the volume has no other room: the reserve has been given up, for a defragmentation"),
        Ok(false) => {}
        Err(error) => eprintln!("the reserve cannot be given up: {error}"),
    }
}
