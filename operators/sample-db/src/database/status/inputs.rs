//! Pure: the decisions that a status is computed from.

use crate::database::backup::Backups;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::upgrade::transition::Transition;
use crate::operand::kinds::Snapshot;

/// The decisions about a database.
pub(crate) struct StatusInputs<'a> {
    pub(crate) pinned: &'a Pinned,
    pub(crate) source: Option<&'a Snapshot>,
    pub(crate) step: &'a NextStep,
    pub(crate) backups: &'a Backups,
    /// What is recorded before the next step of an upgrade.
    pub(crate) transition: Option<&'a Transition>,
}
