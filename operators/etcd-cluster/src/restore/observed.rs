//! Pure: what an EtcdRestore is planned from.

use std::sync::Arc;

use runtime::projections::{Job, Pod};

use crate::{EtcdCluster, EtcdRestore};

/// The EtcdCluster that begins again.
#[derive(Clone, Debug)]
pub enum RestoredCluster {
    /// There is no EtcdCluster of that name.
    Missing,
    /// It does not decode, with the error.
    Unreadable(String),
    /// It exists.
    Found(Arc<EtcdCluster>),
}

/// An EtcdRestore and what belongs to it.
#[derive(Debug)]
pub struct RestoreObserved {
    /// The object itself.
    pub restore: Arc<EtcdRestore>,
    /// The cluster that it refers to.
    pub cluster: RestoredCluster,
    /// Its Jobs.
    pub jobs: Vec<Arc<Job>>,
    /// Their pods.
    pub pods: Vec<Arc<Pod>>,
    /// Whether the namespace assigns the users that pods run as.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}
