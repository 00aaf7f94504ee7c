//! Pure: the kind SampleDB: decides what to do about a database, from what was observed of it.

pub(crate) mod backup;
pub mod catalog;
pub(crate) mod claims;
pub(crate) mod deletion;
pub(crate) mod effects;
pub(crate) mod hold;
pub(crate) mod init;
pub(crate) mod interleave;
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
pub(crate) mod server_info;
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

pub(crate) use backup::health::overdue_since;
pub(crate) use backup::next_due;
pub use deletion::{final_claim, final_name, should_query_server};
pub use effects::{DbAct, DbPlan};
pub use login::{Account, LoginCheck, retry_delay};
pub use observed::{Contact, InitSources, Observed, PlacementCheck, SecretState};
pub use placement::{check_placement, prepare_trial};
pub use plan::{plan, replacement_pod};
pub use server_info::{FileSetting, ParameterDiff, ServerInfo, ServerProbe, is_list, parameter_diff, parts};
pub use target::target_server_name;
pub use tuning::effective_parameters;
pub use upgrade::{CopyResultPoll, copy_result_poll, is_step_recent};

#[cfg(test)]
mod tests;
