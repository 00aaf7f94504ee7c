//! What runs inside the pods of an operand, beside the engine: a static binary that needs no shell and knows nothing of
//! Kubernetes. An init container copies it into a volume of the pod; the engine's container starts it from there.
//!
//! For a member of an etcd cluster it does what no probe and no controller can do in time: it looks at the data
//! directory just before etcd starts. A member that has forgotten what it acknowledged must not vote, so etcd is not
//! started over an empty directory that held data before (`DataMissing`).
//!
//! For PostgreSQL it does what takes the engine's own programs: see `postgres.rs`.
//!
//! Which commands there are, with their arguments, results and failures, `agent-protocol` says: the operators use the same types.
//!
//! | file | what is in it |
//! |---|---|
//! | `etcd.rs`, `postgres.rs` | the commands for members of etcd clusters, and those for PostgreSQL |
//! | `install.rs` | the command that copies the agent |
//! | `held_room.rs` | room on a volume, measured and held back by files |
//! | `cli.rs` | arguments, as far as only the agent can check them; what is wrong with them |
//! | `progress.rs`, `failure.rs`, `termination_message.rs` | what is reported during a wait; how a command fails; how it reports that, or its result |

mod cli;
mod etcd;
mod failure;
mod held_room;
mod install;
mod postgres;
mod progress;
mod termination_message;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use agent_protocol::Command;
use cli::{RunOptions, Stop, WaitOptions};

fn main() -> ExitCode {
    end_at_once_when_told();
    let parsed = Command::parse(std::env::args_os()).map_err(Stop::Arguments);
    match parsed.and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.report(),
    }
}

fn perform(command: Command) -> Result<(), Stop> {
    match command {
        Command::Install(options) => {
            install::install(&options.directory)?;
            options.passwd.as_deref().map_or(Ok(()), postgres::data_dir::prepare::passwd)?;
        }
        Command::EtcdWait(options) => etcd::wait::wait(&WaitOptions::new(options)?)?,
        Command::EtcdRun(options) => etcd::run::run(&RunOptions::new(options)?)?,
        Command::EtcdKeep(options) => etcd::keeper::run(&options),
        Command::PgRun(options) => return Err(postgres::data_dir::run::run(&options).into()),
        // The kubelet asks for nothing but the exit code.
        Command::PgReady(options) => postgres::data_dir::run::ready(&options)?,
        Command::PgPrepare(options) => postgres::report(&postgres::data_dir::prepare::prepare(&options)?),
        Command::PgDump(options) => postgres::report(&postgres::backup::dump::dump(&options)?),
        Command::PgBasebackup(options) => postgres::report(&postgres::backup::base_backup::base_backup(&options)?),
        Command::PgVerify(options) => postgres::report(&postgres::restore::verify::verify(&options)?),
        Command::PgRestore(options) => postgres::report(&postgres::restore::command::restore(&options)?),
        Command::PgInit(options) => postgres::report(&postgres::client::init::init(&options)?),
        Command::PgPrune(options) => postgres::report(&postgres::backup::prune::prune(&options)?),
        Command::PgUpgrade(options) => postgres::report(&postgres::upgrade::command::upgrade(&options)?),
        Command::PgSurvey(options) => postgres::report(&postgres::upgrade::survey::survey(&options)?),
        Command::PgFinish(options) => postgres::report(&postgres::upgrade::finish::finish(&options)?),
        Command::PgVersion(options) => postgres::report(&postgres::data_dir::version::version(&options)?),
    }
    Ok(())
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
