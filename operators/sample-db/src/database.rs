//! Pure: the kind SampleDB: what to do about a database, from what was observed of it.

pub(crate) mod answer;
pub(crate) mod backup;
pub(crate) mod beside;
pub mod catalog;
pub(crate) mod claims;
pub(crate) mod deletion;
pub(crate) mod effects;
pub(crate) mod hold;
pub(crate) mod init;
pub(crate) mod login;
pub mod objects;
pub(crate) mod observed;
pub(crate) mod ownership;
pub mod pinned;
pub(crate) mod placement;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod recovered;
pub(crate) mod restore;
pub mod schedule;
pub(crate) mod server_state;
pub(crate) mod status;
pub(crate) mod step;
pub mod steps;
pub(crate) mod storage;
pub mod target;
pub(crate) mod tuning;
pub mod unlabeled;
pub mod unwatched;
pub(crate) mod upgrade;

pub use answer::{Answer, Asked, Attempt, FileSetting, Parameters, Room, is_list, parameters, parts};
pub(crate) use backup::health::overdue_since;
pub(crate) use backup::next_due;
pub use deletion::{final_claim, final_name, is_to_be_asked};
pub use effects::{DbAct, DbPlan};
pub use login::{Account, Login, pause};
pub use observed::{Contact, InitSources, Observed, Placement, SecretSeen};
pub use placement::{beside, placement};
pub use plan::{plan, trial};
pub use target::successor;
pub use tuning::wanted;
pub use upgrade::{Note, is_young, note_of};

#[cfg(test)]
mod tests;
