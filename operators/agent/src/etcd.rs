//! What the agent does for a member of an etcd cluster: it checks the data directory just before etcd starts, and limits what
//! etcd takes of its volume; and in the Jobs of backups.
//!
//! | file | contents |
//! |---|---|
//! | `wait.rs`, `run.rs`, `keeper.rs` | `etcd-wait`, the init container; `etcd-run`, which executes etcd; `etcd-keep`, which runs next to it |
//! | `plan.rs` | every decision about a start; pure |
//! | `data.rs`, `identity.rs` | whether there is data, and whether etcd has run in this pod; which member the data belongs to |
//! | `members.rs`, `peers.rs`, `url.rs`, `dns.rs` | the member list and `--initial-cluster`, pure; querying peers; peer URLs; the resolver |
//! | `tls.rs` | the files with certificates |
//! | `backup.rs`, `backup/` | `etcd-backup` takes, verifies and removes backups; `etcd-restore` restores one |
//! | `recover.rs`, `wal.rs`, `wal/` | `etcd-recover`, which makes a member the only one; its log |
//! | `programs.rs`, `output.rs`, `loopback_member.rs` | how etcd's programs are run; what they print, pure; an etcd that only the agent talks to |
//! | `limits.rs`, `reserve.rs`, `volume_port.rs` | what etcd may take of its volume; space held back there; serving how full it is |

pub(crate) mod backup;
pub(crate) mod data;
pub(crate) mod dns;
pub(crate) mod identity;
pub(crate) mod keeper;
pub(crate) mod limits;
mod loopback_member;
pub(crate) mod members;
mod output;
pub(crate) mod peers;
pub(crate) mod plan;
mod programs;
pub(crate) mod recover;
pub(crate) mod reserve;
pub(crate) mod run;
pub(crate) mod tls;
pub(crate) mod url;
pub(crate) mod volume_port;
pub(crate) mod wait;
mod wal;
