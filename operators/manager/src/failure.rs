//! Why the manager ends with an error.

/// Any error, in words for the person who starts the manager.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
