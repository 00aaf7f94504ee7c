//! The agent as a process, beside a member that answers `GET /members` and something in etcd's place.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

mod run;
mod support;
mod wait;
