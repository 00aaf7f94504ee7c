//! A major upgrade: the agent copies all databases of the source server, of the old version, to the target server, of the new
//! one, while clients are blocked ([decision 020](../../../../docs/decisions/020-copy-into-a-new-volume.md)).
//!
//! | file | contents |
//! |---|---|
//! | `survey.rs`, `command.rs`, `finish.rs` | `pg-survey`, what an upgrade would reject; `pg-upgrade`; `pg-finish`, which runs while the target serves |
//! | `source.rs`, `target.rs` | the two servers |
//! | `copy.rs`, `pipe.rs` | copying one database: definitions; rows, without storing them in between |

pub(crate) mod command;
pub(crate) mod copy;
pub(crate) mod finish;
pub(crate) mod pipe;
pub(crate) mod source;
pub(crate) mod survey;
pub(crate) mod target;
