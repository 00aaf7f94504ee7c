//! Types of an EtcdCluster's conditions, beside those of [every kind](crate::condition_type).

/// The cluster answers requests, in the words of the archived operator.
pub const AVAILABLE: &str = "Available";
/// Data outlives pods.
pub const DURABLE: &str = "Durable";
/// A linearizable read has just been answered.
pub const QUORUM_HEALTHY: &str = "QuorumHealthy";
/// A member is not healthy, or quorum is lost.
pub const RECOVERING: &str = "Recovering";
/// The cluster has not as many members as its spec asks for.
pub const SCALING: &str = "Scaling";
/// The object is being deleted; absent otherwise.
pub const TERMINATING: &str = "Terminating";
/// Members do not all run the target version yet.
pub const UPGRADING: &str = "Upgrading";
/// The cluster works, but not as well as a person might think; absent otherwise.
pub const WARNING: &str = "Warning";
