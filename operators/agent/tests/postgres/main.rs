//! The agent with real PostgreSQL. `PG_BIN` names the folder of its programs:
//! `PG_BIN=/usr/lib/postgresql/15/bin cargo test -p agent --test postgres -- --ignored`
//!
//! PostgreSQL refuses to be root's: as root everything runs as user `PG_USER` (postgres), by setpriv.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

mod contents;
mod finish;
mod init;
mod prepare;
mod restore;
mod snapshot;
mod support;
mod verify;
