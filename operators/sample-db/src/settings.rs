//! What a manager sets for all databases.

use std::sync::Arc;

use runtime::plan::Key;

/// What a manager says of all databases.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The image with the agent.
    pub agent_image: Arc<str>,
    /// The ConfigMap with the catalog of releases, in the manager's own namespace.
    pub catalog: Key,
}
