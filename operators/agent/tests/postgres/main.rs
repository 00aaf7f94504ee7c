//! The agent with real PostgreSQL, of every version that the operator runs. `scripts/test --all servers` unpacks the images
//! of PostgreSQL into file trees and runs all of this. By hand, as root:
//! `PG_TREES=<the directory that it prints> PG_TREE=15 cargo test -p agent --test postgres -- --ignored`
//!
//! `PG_TREE` names the tree for tests of a single server; those of upgrades use the trees 13, 15 and 17.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

mod attacks;
mod attacks_by_names;
mod attacks_by_rows;
mod attacks_by_types;
mod attacks_on_init;
mod attacks_on_markers;
mod attacks_on_triggers;
mod complete;
mod contents;
mod finish;
mod foreign;
mod gaps;
mod init;
mod kinds;
mod languages;
mod left_out;
mod partitions;
mod prepare;
mod proven;
mod random;
mod read_only;
mod ready;
mod reserve;
mod restore;
mod server;
mod snapshot;
mod support;
mod upgrade;
mod upgrade_failures;
mod upgrade_lost;
mod upgrade_speed;
mod upgrade_tables;
mod verify;
mod views;
