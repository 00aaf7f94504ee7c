//! An answer.

use serde_json::Value;

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The status code of HTTP.
    pub code: u16,
    /// The object, list or status.
    pub body: Value,
}
