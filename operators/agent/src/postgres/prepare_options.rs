//! What `agent pg-prepare` is told.

use std::path::PathBuf;
use std::time::Duration;

use super::hba::Access;

#[derive(Debug)]
pub(crate) struct Prepare {
    pub(crate) data: PathBuf,
    pub(crate) major: u32,
    pub(crate) initialise: bool,
    pub(crate) system_identifier: Option<String>,
    pub(crate) owner: Option<String>,
    /// A physical snapshot that data is made of, instead of by initdb, and what its manifest must be.
    pub(crate) from: Option<PathBuf>,
    pub(crate) sha256: Option<String>,
    pub(crate) run: PathBuf,
    pub(crate) configuration: PathBuf,
    /// `None`: as pg_hba.conf has it by now.
    pub(crate) access: Option<Access>,
    /// The superuser's password becomes that of the environment.
    pub(crate) reset_password: bool,
    pub(crate) passwd: Option<PathBuf>,
    pub(crate) install: Option<PathBuf>,
    pub(crate) lock_timeout: Duration,
}
