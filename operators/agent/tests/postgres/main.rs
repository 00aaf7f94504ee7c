//! The agent with real PostgreSQL. `PG_BIN` names the folder of its programs:
//! `PG_BIN=/usr/lib/postgresql/15/bin cargo test -p agent --test postgres -- --ignored`
//!
//! Upgrades need several versions: `PG_TREES` names a folder in which 13, 15 and 17 are file trees of such images (the layer
//! in an archive that `scripts/images` makes, unpacked), and they need root.
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
mod trees;
mod upgrade;
mod upgrade_lost;
mod upgrade_speed;
mod upgrade_trouble;
mod verify;
