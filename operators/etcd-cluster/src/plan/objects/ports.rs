//! Pure: the ports of members' pods.

/// The port for clients.
pub(in crate::plan) const CLIENT_PORT: i32 = 2379;
/// The port for other members.
pub(in crate::plan) const PEER_PORT: i32 = 2380;
/// The port for health and metrics, without TLS and authentication.
pub(in crate::plan) const METRICS_PORT: i32 = 2381;
/// The port at which the agent reports the usage of a member's volume.
pub(crate) const VOLUME_PORT: u16 = 2382;
