//! Why the manager exits with an error.

/// Any error, with a message for the administrator who starts the manager.
pub type ManagerError = Box<dyn std::error::Error + Send + Sync>;
