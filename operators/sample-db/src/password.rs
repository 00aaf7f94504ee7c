//! A password.

use std::sync::Arc;

/// A password. It has no `Debug` or `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub(crate) Arc<str>);

impl Password {
    /// The password itself.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}
