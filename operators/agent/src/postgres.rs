//! What the agent does for PostgreSQL where the manager has no access: in a database's pod before the server starts, and in
//! Jobs. PostgreSQL's own programs do the work. No other process sees a password: programs get it by their environment or by a
//! pipe, and statements contain a SCRAM verifier in its place.
//!
//! | module | contents |
//! |---|---|
//! | `client` | SQL and programs: psql sessions, quoting, passwords, diagnosis of errors; `pg-init` |
//! | `data_dir` | data directories: inspection, configuration, access rules, private servers; `pg-prepare`, `pg-run`, `pg-ready`, `pg-version` |
//! | `backup` | snapshots: contents, manifest, files; `pg-dump`, `pg-basebackup` |
//! | `store` | copies of snapshots in an object store; `pg-upload`, `pg-download`, `pg-prune` |
//! | `restore` | loading a snapshot into a server; `pg-restore`, `pg-verify` |
//! | `upgrade` | copying all databases from a source server to a target server; `pg-survey`, `pg-upgrade`, `pg-finish` |
//! | `timed.rs` | the duration of a command |
//!
//! A module imports from those above it. The exception is `data_dir/initdb.rs`: it creates a data directory from a base backup
//! too, so it reads snapshots.

pub(crate) mod backup;
pub(crate) mod client;
pub(crate) mod data_dir;
pub(crate) mod restore;
pub(crate) mod store;
pub(crate) mod timed;
pub(crate) mod upgrade;
