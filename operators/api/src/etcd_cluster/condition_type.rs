//! Condition types of an EtcdCluster, in addition to those of [all kinds](crate::condition_type).

/// The cluster answers requests; the name is that of the archived operator.
pub const AVAILABLE: &str = "Available";
/// Data outlives pods.
pub const DURABLE: &str = "Durable";
/// etcd has just answered a linearizable read.
pub const QUORUM_HEALTHY: &str = "QuorumHealthy";
/// A member is not healthy, or quorum is lost.
pub const RECOVERING: &str = "Recovering";
/// The number of members differs from the spec.
pub const SCALING: &str = "Scaling";
/// The object is being deleted; absent otherwise.
pub const TERMINATING: &str = "Terminating";
/// Some members do not run the target version yet.
pub const UPGRADING: &str = "Upgrading";
/// The cluster works, with a caveat; absent otherwise.
pub const WARNING: &str = "Warning";
