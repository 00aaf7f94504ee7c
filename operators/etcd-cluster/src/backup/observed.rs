//! Pure: what an EtcdBackup is planned from.

use std::sync::Arc;

use jiff::Timestamp;
use runtime::job::JobProgress;
use runtime::job::outcome::AgentOutcome;
use runtime::projections::{Job, Pod, PodDiagnosis};

use crate::referenced::Referenced;
use crate::{EtcdBackup, EtcdCluster};

/// An EtcdBackup and what belongs to it.
#[derive(Debug)]
pub struct BackupObserved {
    /// The object itself.
    pub backup: Arc<EtcdBackup>,
    /// The cluster that it refers to; nothing if the spec has endpoints.
    pub cluster: Referenced<EtcdCluster>,
    /// Its Jobs.
    pub jobs: Vec<Arc<Job>>,
    /// Their pods.
    pub pods: Vec<Arc<Pod>>,
    /// When this manager began to observe.
    pub observing_since: Option<Timestamp>,
    /// Whether the namespace assigns the users that pods run as.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

impl BackupObserved {
    /// The progress of a Job.
    pub(crate) fn progress(&self, name: &str) -> JobProgress<'_> {
        JobProgress::of(&self.jobs, &self.pods, name)
    }

    /// How the last pod of a Job ended.
    pub(crate) fn outcome(&self, name: &str) -> Option<AgentOutcome> {
        runtime::job::last_end(&self.pods, name).map(AgentOutcome::of)
    }

    /// Why a pod of a Job makes no progress.
    pub(crate) fn diagnosis(&self, name: &str) -> Option<&PodDiagnosis> {
        runtime::job::diagnosis(&self.pods, name)
    }
}
