//! What is done to PostgreSQL where the manager does not reach: in the pod of a database before it starts, and in Jobs.
//! The engine's own programs do the work, and are told nothing that others could read: passwords go by their environment
//! and by pipes.
//!
//! | file | what is in it |
//! |---|---|
//! | `folder.rs`, `controldata.rs` | is this the data folder that it should be; pure |
//! | `hba.rs`, `configuration.rs`, `configure.rs` | who may connect, and settings; pure; both written into a data folder |
//! | `proven.rs` | the settings that a server has served with, for when it does not start with others |
//! | `manifest.rs`, `sums.rs` | what a snapshot holds, and what differs from it; pure |
//! | `globals.rs` | the roles of a snapshot, for another server; pure |
//! | `statements.rs`, `quote.rs`, `scram.rs`, `verifier.rs` | SQL cut into statements; names and texts in it; passwords in it; pure, but for the salt in `verifier.rs` |
//! | `toc.rs`, `who.rs`, `loading.rs`, `rights.rs` | what an archive holds; who executes what of it, and what that takes; pure |
//! | `load.rs`, `later.rs`, `views.rs`, `logins.rs`, `pipe.rs`, `running.rs` | that, done; what comes after the rows; materialized views; owners that log in; rows from server to server; programs side by side |
//! | `standing.rs`, `databases.rs`, `contents.rs`, `pristine.rs`, `gaps.rs`, `locks.rs` | which databases every server has, and which there are; what is in one beyond rows; whether initdb left it so; what is in no snapshot; locks that a dump takes |
//! | `words.rs` | which failure a program's last words tell of; pure |
//! | `notes.rs` | the agent's tables in databases, and whether they are its own |
//! | `tools.rs`, `session.rs` | programs, and conversations by psql |
//! | `server.rs`, `lock.rs`, `folder_reader.rs`, `reserve.rs` | a server of one's own, that nobody else is at its data, and room that is held back for it |
//! | `inventory.rs`, `snapshot.rs`, `files.rs` | what a database holds; a snapshot's folder; files that last |
//! | `room.rs`, `measured.rs` | how much room a volume has; that, noted while the server runs |
//! | `making.rs`, `refill.rs`, `checks.rs`, `init_sql.rs` | a data folder; a snapshot into a server; a user's checks; a user's SQL |
//! | `ping.rs` | whether a server takes connections, asked without a program |
//! | `closed.rs`, `read_only.rs` | whether a server lets in anybody but superusers, and that these do not write by mistake |
//! | `outgoing.rs`, `incoming.rs`, `transfer.rs`, `upgraded.rs` | a major upgrade: the server that is left, and the one that follows; from one into the other; the note of that |
//! | `passwords.rs` | the superuser's password, in data without a server |
//! | `timed.rs` | how long a verb took |
//! | `prepare.rs` (with `prepare_options.rs`), `run.rs`, `dump.rs`, `basebackup.rs`, `verify.rs`, `restore.rs`, `init.rs`, `prune.rs`, `survey.rs`, `upgrade.rs`, `finish.rs` | one verb each |

use crate::failure::{Failure, leave};

mod admit;
pub(crate) mod basebackup;
mod checks;
mod closed;
pub(crate) mod configuration;
mod configure;
mod contents;
mod controldata;
mod databases;
pub(crate) mod dump;
mod evaluated;
mod files;
pub(crate) mod finish;
mod folder;
mod folder_reader;
mod gaps;
mod globals;
pub(crate) mod hba;
mod incoming;
pub(crate) mod init;
pub(crate) mod init_sql;
mod inventory;
mod later;
mod load;
mod loading;
mod lock;
mod locks;
mod logins;
mod making;
mod manifest;
mod measured;
mod notes;
mod outgoing;
mod partitions;
mod passwords;
mod ping;
mod pipe;
pub(crate) mod prepare;
mod prepare_options;
mod pristine;
mod proven;
pub(crate) mod prune;
mod quote;
mod read_only;
mod refill;
mod reserve;
pub(crate) mod restore;
mod rights;
mod room;
pub(crate) mod run;
mod running;
mod scram;
mod server;
mod session;
pub(crate) mod snapshot;
mod standing;
mod statements;
mod sums;
pub(crate) mod survey;
mod timed;
mod toc;
mod tools;
mod transfer;
pub(crate) mod upgrade;
mod upgraded;
mod verifier;
pub(crate) mod verify;
pub(crate) mod version;
mod views;
mod volume;
mod who;
mod words;

/// One verb, with all that it is told.
#[derive(Debug)]
pub(crate) enum Verb {
    Prepare(prepare::Prepare),
    Run(run::Run),
    Dump(dump::Dump),
    BaseBackup(basebackup::BaseBackup),
    Verify(verify::Verify),
    Restore(restore::Restore),
    Init(init::Init),
    Prune(prune::Prune),
    Upgrade(upgrade::Upgrade),
    Finish(finish::Finish),
    Survey(survey::Survey),
    /// What the image's own programs are.
    Version(version::Version),
    /// Whether the server of this pod takes connections.
    Ready(run::Ready),
}

/// Does it, and tells what came of it: on stdout, and to the kubelet.
pub(crate) fn run(verb: &Verb) -> Result<(), Failure> {
    let result = match verb {
        Verb::Prepare(options) => prepare::prepare(options)?,
        Verb::Run(options) => return Err(run::run(options)),
        // The kubelet asks for nothing but the exit code.
        Verb::Ready(options) => return run::ready(options),
        Verb::Dump(options) => dump::dump(options)?,
        Verb::BaseBackup(options) => basebackup::base_backup(options)?,
        Verb::Verify(options) => verify::verify(options)?,
        Verb::Restore(options) => restore::restore(options)?,
        Verb::Init(options) => init::init(options)?,
        Verb::Prune(options) => prune::prune(options)?,
        Verb::Upgrade(options) => upgrade::upgrade(options)?,
        Verb::Finish(options) => finish::finish(options)?,
        Verb::Survey(options) => survey::survey(options)?,
        Verb::Version(options) => version::version(options)?,
    };
    println!("{result}");
    if let Err(error) = leave(&result) {
        // Outside of a pod there is nobody to leave it to.
        eprintln!("the result cannot be left to the kubelet: {error}");
    }
    Ok(())
}
