//! The agent as a process, with a member that answers `GET /members`, and with other programs instead of etcd and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

mod ready;
mod run;
mod support;
mod volume;
mod wait;
