//! The program that runs inside the pods of an operand, next to the engine: a static binary that needs no shell and no access to
//! Kubernetes. An init container copies it into a volume of the pod; the engine's container starts it from there.
//!
//! For a member of an etcd cluster it does what no probe and no controller can do in time: it checks the data directory just
//! before etcd starts. A member that has lost what it acknowledged must not vote, so the agent does not start etcd on an empty
//! directory that held data before (`DataMissing`).
//!
//! For PostgreSQL it does what needs the engine's own programs: see `postgres.rs`.
//!
//! `agent-protocol` defines the commands, with their arguments, results and failures: the operators use the same types.
//!
//! | file | what is in it |
//! |---|---|
//! | `etcd.rs`, `postgres.rs` | the commands for members of etcd clusters, and those for PostgreSQL |
//! | `bucket.rs` | buckets of object stores |
//! | `install.rs` | the command that copies the agent |
//! | `files.rs`, `checksum.rs`, `lock.rs` | durable files and directories; their checksums; locks on directories |
//! | `held_space.rs` | space on a volume, measured and reserved by files |
//! | `cli.rs` | arguments, as far as only the agent can check them; what is wrong with them |
//! | `progress.rs`, `failure.rs`, `termination_message.rs` | what is reported during a wait; how a command fails; how it reports that, or its result |

mod bucket;
mod checksum;
mod cli;
mod etcd;
mod failure;
mod files;
mod held_space;
mod install;
mod lock;
mod postgres;
mod progress;
mod termination_message;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use agent_protocol::Command;
use cli::{CliExit, RecoverOptions, RestoreOptions, RunOptions, WaitOptions};

fn main() -> ExitCode {
    exit_on_termination_signals();
    let parsed = Command::parse(std::env::args_os()).map_err(CliExit::Arguments);
    match parsed.and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => exit.report(),
    }
}

fn perform(command: Command) -> Result<(), CliExit> {
    match command {
        Command::Install(options) => {
            install::install(&options.directory)?;
            options.passwd.as_deref().map_or(Ok(()), postgres::data_dir::prepare::passwd)?;
        }
        Command::EtcdWait(options) => etcd::wait::wait(&WaitOptions::new(options)?)?,
        Command::EtcdRun(options) => etcd::run::run(&RunOptions::new(options)?)?,
        Command::EtcdKeep(options) => etcd::keeper::run(&options),
        Command::EtcdRecover(options) => etcd::recover::recover(&RecoverOptions::new(options)?)?,
        Command::EtcdBackup(options) => termination_message::report(&etcd::backup::back_up(&options)?),
        Command::EtcdRestore(options) => etcd::backup::restore::restore(&RestoreOptions::new(options)?)?,
        Command::EtcdVerify(options) => termination_message::report(&etcd::backup::restore::verify(&options)?),
        Command::PgRun(options) => return Err(postgres::data_dir::run::run(&options).into()),
        // The kubelet asks for nothing but the exit code.
        Command::PgReady(options) => postgres::data_dir::run::ready(&options)?,
        Command::PgPrepare(options) => termination_message::report(&postgres::data_dir::prepare::prepare(&options)?),
        Command::PgDump(options) => termination_message::report(&postgres::backup::dump::dump(&options)?),
        Command::PgBasebackup(options) => {
            termination_message::report(&postgres::backup::base_backup::base_backup(&options)?)
        }
        Command::PgVerify(options) => termination_message::report(&postgres::restore::verify::verify(&options)?),
        Command::PgRestore(options) => termination_message::report(&postgres::restore::command::restore(&options)?),
        Command::PgInit(options) => termination_message::report(&postgres::client::init::init(&options)?),
        Command::PgPrune(options) => termination_message::report(&postgres::store::prune(&options)?),
        Command::PgUpload(options) => termination_message::report(&postgres::store::upload::upload(&options)?),
        Command::PgDownload(options) => termination_message::report(&postgres::store::download::download(&options)?),
        Command::PgUpgrade(options) => termination_message::report(&postgres::upgrade::command::upgrade(&options)?),
        Command::PgSurvey(options) => termination_message::report(&postgres::upgrade::survey::survey(&options)?),
        Command::PgFinish(options) => termination_message::report(&postgres::upgrade::finish::finish(&options)?),
        Command::PgVersion(options) => termination_message::report(&postgres::data_dir::version::version(&options)?),
    }
    Ok(())
}

/// Installs handlers for SIGTERM and SIGINT: in a container this is process 1, for which the kernel drops signals without one.
///
/// The handler ends the process itself, so no wait has to check a flag. `exec` removes it, so etcd is not affected.
fn exit_on_termination_signals() {
    for signal in [SIGTERM, SIGINT] {
        let armed = Arc::new(AtomicBool::new(true));
        if let Err(error) = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, armed) {
            eprintln!("signal {signal} cannot be handled: {error}");
        }
    }
}
