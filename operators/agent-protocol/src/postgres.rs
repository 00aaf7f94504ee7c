//! The commands for PostgreSQL, and what they report.

mod data_dir;
mod database;
mod results;
mod snapshot;
mod store;
mod upgrade;

pub(crate) use snapshot::snapshot_path;

pub use data_dir::{AccessRules, PgPrepare, PgReady, PgRun, PgVersion};
pub use database::{PgInit, SqlFile, SqlFiles};
pub use results::{
    CreatedByInit, Measurement, PgDumpResult, PgFinishResult, PgInitResult, PgPrepareResult, PgPruneResult,
    PgRestoreResult, PgSurveyResult, PgUpgradeResult, PgVerifyResult, PgVersionResult, count,
};
pub use snapshot::{Offline, PgBasebackup, PgDump, PgPrune, PgRestore, PgVerify, VerificationMode, is_snapshot_name};
pub use store::{PgDownload, PgDownloadResult, PgUpload, PgUploadResult};
pub use upgrade::{PgFinish, PgSurvey, PgUpgrade};
