//! Pure: the input and the result of the reconcile of a key.

use std::time::Duration;

use crate::plan::meta::Key;

/// A key for a worker.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The key to reconcile.
    pub key: Key,
    /// The number of failed reconciles in a row before this one.
    pub failures: u32,
}

/// Whether an event enqueues a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Never: nothing changed that the controller reads.
    None,
    /// Unless it is the event of an own write.
    UnlessOwn,
    /// Always: something changed that the controller never writes.
    Always,
}

/// The result of a reconcile.
#[derive(Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing more to do until something changes.
    Done,
    /// Requeue after that time.
    RequeueAfter(Duration),
    /// Failed: retry with backoff.
    Failed,
    /// Failed, and only a change can help; retried after the longest delay anyway.
    Parked,
}
