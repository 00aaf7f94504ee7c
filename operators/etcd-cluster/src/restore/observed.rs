//! Pure: what an EtcdRestore is planned from.

use std::sync::Arc;

use runtime::projections::{Job, Pod};

use crate::referenced::Referenced;
use crate::{EtcdBackup, EtcdCluster, EtcdRestore};

/// An EtcdRestore and what belongs to it.
#[derive(Debug)]
pub struct RestoreObserved {
    /// The object itself.
    pub restore: Arc<EtcdRestore>,
    /// The cluster that begins again.
    pub cluster: Referenced<EtcdCluster>,
    /// The EtcdBackup that has the snapshot; nothing if the spec says where that is.
    pub backup: Referenced<EtcdBackup>,
    /// Its Jobs.
    pub jobs: Vec<Arc<Job>>,
    /// Their pods.
    pub pods: Vec<Arc<Pod>>,
    /// Whether the namespace assigns the users that pods run as.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}
