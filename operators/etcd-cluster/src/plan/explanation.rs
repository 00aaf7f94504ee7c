//! Pure: the explanation of a condition.

use api::etcd_cluster::EtcdClusterReason;

/// The reason and the message of a condition.
pub type Explanation = (EtcdClusterReason, String);
