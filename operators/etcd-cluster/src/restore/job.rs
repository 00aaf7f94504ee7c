//! Pure: the Job that verifies a snapshot.

use agent_protocol::EtcdVerifySnapshot;
use api::etcd_cluster::{DEFAULT_REPOSITORY, DEFAULT_VERSION, EtcdRestoreSource};
use runtime::cache::Projection as _;
use runtime::job::template;
use runtime::plan::Create;
use runtime::pod::bucket;

use super::observed::RestoreObserved;
use crate::agent_pod::{self, AgentPod, SCRATCH_DIR};
use crate::plan::objects;
use crate::{EtcdCluster, EtcdRestore};

/// After how many seconds the Job fails: a download and a restore may take hours.
const DEADLINE_SECONDS: i64 = 8 * 3600;

/// The label of the Job with the generation of the spec that names the snapshot.
pub(super) const GENERATION: &str = "multi-operator.example.com/generation";

/// The name of the Job.
pub(super) fn name(restore: &EtcdRestore) -> String {
    format!("{}-verify", restore.meta.key.name)
}

/// The Job, with the programs of the cluster's version.
pub(super) fn create(observed: &RestoreObserved, cluster: &EtcdCluster, source: &EtcdRestoreSource) -> Create {
    let restore = &*observed.restore;
    let command = EtcdVerifySnapshot {
        snapshot: objects::snapshot_path(source).into(),
        bucket: source.store().map(bucket::arguments).unwrap_or_default(),
        sha256: source.sha256.clone(),
        scratch: SCRATCH_DIR.into(),
    };
    let pod = AgentPod {
        agent_image: &observed.agent_image,
        image: &image(cluster),
        volumes: objects::snapshot_volumes(source),
        mounts: objects::snapshot_mounts(source),
        resources: restore.spec.resources.as_ref(),
        namespace_assigns_uids: observed.namespace_assigns_uids,
    };
    let key = restore.meta.key.sibling(&name(restore));
    let pod = pod.running(&command);
    let mut job = agent_pod::job(&EtcdRestore::KIND, &restore.meta, key, pod, DEADLINE_SECONDS);
    job.labels.insert(GENERATION.to_owned(), restore.meta.generation.to_string());
    template::create(job)
}

/// The image that members of the cluster run.
fn image(cluster: &EtcdCluster) -> String {
    let spec = &cluster.spec;
    // A version that is refused is not the target.
    let version = cluster.status.target_version.as_deref().or(spec.version.as_deref()).unwrap_or(DEFAULT_VERSION);
    let repository = spec.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY);
    format!("{repository}:v{}", version.trim_start_matches('v'))
}
