//! The settings of a manager for all databases.

use std::sync::Arc;

use runtime::plan::Key;

/// The settings of a manager for all databases.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The image with the agent.
    pub agent_image: Arc<str>,
    /// The ConfigMap with the catalog of releases, in the manager's own namespace.
    pub catalog: Key,
}
