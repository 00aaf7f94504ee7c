//! A change of the stored objects.

use std::sync::{Arc, OnceLock};

use hyper::body::Bytes;
use serde_json::Value;

use crate::api_server::kinds::KindId;

/// The namespace (empty if there is none) and the name of an object.
pub type ObjectKey = (String, String);

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was removed.
    Deleted,
}

/// A change of the stored objects.
#[derive(Clone, Debug)]
pub struct StoredChange {
    /// The version that began with it.
    pub version: u64,
    /// The kind of the object.
    pub kind: KindId,
    /// The object.
    pub key: ObjectKey,
    /// What happened.
    pub event: Event,
    /// The object before.
    pub before: Option<Arc<Value>>,
    /// The object after; if it was removed, its last state with the new version.
    pub after: Arc<Value>,
    /// Whose request it was.
    pub user: String,
    /// The object after, as JSON, once someone has asked for it.
    pub(super) text: OnceLock<Bytes>,
}

impl StoredChange {
    /// The object after, as JSON: the answer to the request and all watches share it.
    #[must_use]
    pub fn text(&self) -> &Bytes {
        self.text.get_or_init(|| Bytes::from(self.after.to_string()))
    }
}
