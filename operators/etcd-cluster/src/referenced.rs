//! Pure: an object of the same namespace that a spec refers to by name.

use std::sync::Arc;

/// What the store has of an object that a spec may refer to.
#[derive(Clone, Debug)]
pub enum Referenced<T> {
    /// The spec refers to none.
    Nothing,
    /// There is no object of that name.
    Missing,
    /// It does not decode, with the error.
    Unreadable(String),
    /// It exists.
    Found(Arc<T>),
}
