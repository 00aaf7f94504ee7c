//! Pure: what goes into a pass over a key, and what comes out of it.

use std::time::Duration;

use crate::plan::meta::Key;

/// What a pass is told of its key.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The key to reconcile.
    pub key: Key,
    /// How many passes have failed in a row before this one.
    pub failures: u32,
}

/// What an event means to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing that it looks at changed.
    None,
    /// Something changed, which is news unless the controller did it.
    UnlessOwn,
    /// Something changed that the controller never writes.
    Always,
}

/// How a pass ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing more to do until something changes.
    Done,
    /// To be looked at again after that time.
    RequeueAfter(Duration),
    /// Failed: again after the key's next delay.
    Failed,
    /// Failed, and only a change can help; looked at again after the longest delay all the same.
    Parked,
}
