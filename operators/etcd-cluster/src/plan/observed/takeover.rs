//! Pure: what is known of a cluster that is taken over. Pure data.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the earlier members of a cluster that is taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedTakeover {
    /// The addresses of those that answer and are listed, by name.
    pub addresses: BTreeMap<Arc<str>, Box<str>>,
    /// Endpoints that do not answer, and why.
    pub unanswered: Vec<(Arc<str>, String)>,
    /// How many clusters the endpoints belong to.
    pub clusters: usize,
    /// Why the client certificate for them cannot be used.
    pub unusable: Option<String>,
    /// Pods of members that another operator manages, and which. Only known before the takeover begins.
    pub managed: Vec<(String, String)>,
}
