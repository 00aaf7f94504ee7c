//! What runs inside the pods of an operand, beside the engine: a static binary that needs no shell and knows nothing of
//! Kubernetes. An init container copies it into a volume of the pod; the engine's container starts it from there.
//!
//! For a member of an etcd cluster it does what no probe and no controller can do in time: it looks at the data
//! directory just before etcd starts. A member that has forgotten what it acknowledged must not vote, so etcd is not
//! started over an empty directory that held data before (`DataMissing`).
//!
//! For PostgreSQL it does what wants the engine's own programs: see `postgres.rs`.
//!
//! | file | what is in it |
//! |---|---|
//! | `postgres.rs` | all about PostgreSQL; the rest is about etcd, or about both |
//! | `plan.rs` | every decision, pure |
//! | `members.rs` | the member list that etcd serves, and `--initial-cluster` made of it; pure |
//! | `data.rs` | is there data, and has etcd run in this pod before |
//! | `limits.rs`, `reserve.rs` | what etcd may take of its volume; what is held back there |
//! | `keeper.rs` | what runs beside etcd, and takes the reserve back |
//! | `dns.rs`, `peers.rs` | the resolver; `GET /members` |
//! | `etcd_wait.rs`, `etcd_run.rs`, `install.rs` | one verb each |
//! | `cli.rs`, `url.rs`, `progress.rs`, `failure.rs` | arguments; URLs; what is said meanwhile, and in the end |

mod cli;
mod data;
mod dns;
mod etcd_run;
mod etcd_wait;
mod failure;
mod identity;
mod install;
mod keeper;
mod limits;
mod members;
mod peers;
mod plan;
mod postgres;
mod progress;
mod reserve;
mod url;
mod volume_port;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use cli::Command;

fn main() -> ExitCode {
    end_at_once_when_told();
    let outcome = match cli::parse(std::env::args_os()) {
        Ok(Command::Say(text)) => {
            println!("{text}");
            Ok(())
        }
        Ok(Command::Install { directory, passwd }) => {
            install::install(&directory).and_then(|()| passwd.as_deref().map_or(Ok(()), postgres::prepare::passwd))
        }
        Ok(Command::EtcdWait(options)) => etcd_wait::wait(&options),
        Ok(Command::EtcdRun(options)) => etcd_run::run(&options),
        Ok(Command::EtcdKeep(options)) => {
            keeper::run(&options);
            Ok(())
        }
        Ok(Command::Postgres(verb)) => postgres::run(&verb),
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The kernel drops SIGTERM and SIGINT that process 1 has no handler for, and in a container this is process 1.
///
/// The handler ends the process itself: no wait has to look for a flag. `exec` takes it away again, so etcd is not
/// concerned.
fn end_at_once_when_told() {
    for signal in [SIGTERM, SIGINT] {
        let armed = Arc::new(AtomicBool::new(true));
        if let Err(error) = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, armed) {
            eprintln!("signal {signal} cannot be handled: {error}");
        }
    }
}
