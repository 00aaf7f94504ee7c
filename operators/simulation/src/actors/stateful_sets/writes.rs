//! Writes of the StatefulSet controller, and what postpones them.

use super::super::client::is_terminating;
use crate::api_server::kinds::KindId;
use crate::api_server::request::ApiError;

/// The kinds that this controller reads and writes.
#[derive(Clone, Copy)]
pub(super) struct KindIds {
    pub(super) sets: KindId,
    pub(super) pods: KindId,
    pub(super) claims: KindId,
    pub(super) revisions: KindId,
}

/// A refusal, or something that does not exist yet, after which a set is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Postponed;

/// Whether a write must be repeated: nothing can be created in a namespace that is being deleted.
pub(super) fn is_done<T>(answer: Result<T, ApiError>) -> Result<(), Postponed> {
    match answer {
        Err(refused) if !is_terminating(&refused) => Err(Postponed),
        _ => Ok(()),
    }
}
