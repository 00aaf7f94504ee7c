//! Data directories, and the commands that run in a database's pod or inspect an image.
//!
//! | file | contents |
//! |---|---|
//! | `inspect.rs`, `controldata.rs`, `decision.rs` | what a directory contains; `pg_controldata`; whether to use it, create data, or refuse; the last two are pure |
//! | `initdb.rs`, `passwords.rs` | creating data, by initdb or from a base backup; the superuser's password in existing data |
//! | `hba.rs`, `configuration.rs`, `configure.rs` | access rules and settings; pure; both written into a data directory |
//! | `closed.rs`, `read_only.rs` | whether a running server admits only superusers, and making their sessions read-only |
//! | `proven.rs` | the settings that a server last served with, in case it fails to start with others |
//! | `server.rs`, `admit.rs` | a private server; restoring a superuser that the data no longer admits |
//! | `reserve.rs`, `free_space.rs`, `volume_usage.rs` | space reserved for a server; free space; that, recorded while the server runs |
//! | `copy_marker.rs` | the marker of a finished copy of a major upgrade |
//! | `prepare.rs`, `run.rs`, `version.rs` | `pg-prepare`; `pg-run` and `pg-ready`; `pg-version` |

pub(crate) mod admit;
pub(crate) mod closed;
pub(crate) mod configuration;
pub(crate) mod configure;
pub(crate) mod controldata;
pub(crate) mod copy_marker;
pub(crate) mod decision;
pub(crate) mod free_space;
pub(crate) mod hba;
pub(crate) mod initdb;
pub(crate) mod inspect;
pub(crate) mod passwords;
pub(crate) mod prepare;
pub(crate) mod proven;
pub(crate) mod read_only;
pub(crate) mod reserve;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod version;
pub(crate) mod volume_usage;
