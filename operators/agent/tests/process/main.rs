//! The agent as a process, beside a member that answers `GET /members` and something in the place of etcd or of PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

mod ready;
mod run;
mod support;
mod wait;
