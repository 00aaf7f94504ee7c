//! What the agent does for PostgreSQL where the manager has no access: in a database's pod before the server starts, and in
//! Jobs. PostgreSQL's own programs do the work. No other process sees a password: programs get it by their environment or by a
//! pipe, and statements contain a SCRAM verifier in its place.
//!
//! | module | contents |
//! |---|---|
//! | `client` | SQL and programs: psql sessions, quoting, passwords, diagnosis of errors; `pg-init` |
//! | `data_dir` | data directories: inspection, configuration, access rules, private servers; `pg-prepare`, `pg-run`, `pg-ready`, `pg-version` |
//! | `backup` | snapshots: contents, manifest, files; `pg-dump`, `pg-basebackup`, `pg-prune` |
//! | `restore` | loading a snapshot into a server; `pg-restore`, `pg-verify` |
//! | `upgrade` | copying all databases from a source server to a target server; `pg-survey`, `pg-upgrade`, `pg-finish` |
//! | `files.rs`, `checksum.rs`, `lock.rs`, `timed.rs` | durable files; their checksums; locks on directories; the duration of a command |
//!
//! A module imports from those above it. The exception is `data_dir/initdb.rs`: it creates a data directory from a base backup
//! too, so it reads snapshots.

use serde::Serialize;
use serde_json::json;

use crate::termination_message;

pub(crate) mod backup;
mod checksum;
pub(crate) mod client;
pub(crate) mod data_dir;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod restore;
pub(crate) mod timed;
pub(crate) mod upgrade;

/// Reports the result of a command, on stdout and to the kubelet.
pub(crate) fn report(result: &impl Serialize) {
    // A JSON value has its fields in the order of their names, as in the results of earlier agents.
    let result = json!(result);
    println!("{result}");
    if let Err(error) = termination_message::write(&result) {
        // Outside of a pod there is no kubelet to read it.
        eprintln!("the result cannot be written for the kubelet: {error}");
    }
}
