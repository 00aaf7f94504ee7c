//! Pure: the names of containers, and the paths of their programs.

/// The name of etcd's container, as in the archived operator.
pub(in crate::plan) const ETCD: &str = "etcd";
/// The name of the init step that only checks the agent's image.
pub(in crate::plan) const AGENT: &str = "agent";
/// The name of the init step.
pub(in crate::plan) const WAIT: &str = "wait";
/// The name of the init step that restores a snapshot.
pub(in crate::plan) const RESTORE: &str = "restore";
/// The name of the init step that makes the member the only one of its cluster.
pub(in crate::plan) const RECOVER: &str = "recover";
/// The path of etcd in its image.
pub(in crate::plan) const ETCD_PATH: &str = "/usr/local/bin/etcd";
/// The path of the agent in the manager's image.
pub(in crate::plan) const AGENT_PATH: &str = "/agent";
