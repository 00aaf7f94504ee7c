//! Pure: the containers of pods by name, and where their programs are.

/// The name of etcd's container, as the old operator had it.
pub(in crate::plan) const ETCD: &str = "etcd";
/// The name of the init step that only tries the agent's image.
pub(in crate::plan) const AGENT: &str = "agent";
/// The name of the init step.
pub(in crate::plan) const WAIT: &str = "wait";
/// Where etcd is in its image.
pub(in crate::plan) const ETCD_PATH: &str = "/usr/local/bin/etcd";
/// Where the agent is in the manager's image.
pub(in crate::plan) const AGENT_PATH: &str = "/agent";
