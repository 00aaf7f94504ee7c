//! Pure: the ports of members' pods.

/// Port of clients.
pub(in crate::plan) const CLIENT_PORT: i32 = 2379;
/// Port of other members.
pub(in crate::plan) const PEER_PORT: i32 = 2380;
/// Port of health and metrics, plain and without authentication.
pub(in crate::plan) const METRICS_PORT: i32 = 2381;
/// Port at which the agent tells how full a member's volume is.
pub(crate) const VOLUME_PORT: u16 = 2382;
