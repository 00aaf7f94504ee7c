//! The users of an etcd cluster.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Whether clients of etcd need a user, and how the operator is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdAuthentication {
    /// Secret in the same namespace with the password of etcd's user `root`, under the key `password`. The operator authenticates
    /// with it, and gives that password to `root` when it turns authentication on.
    #[schemars(length(min = 1, max = 253))]
    pub root_secret: String,
    /// Whether etcd requires a user and a password, from when all members are ready: it then refuses clients without them. `false`
    /// turns authentication off; users and roles stay. Default: true.
    #[serde(default = "on")]
    pub enabled: bool,
}

fn on() -> bool {
    true
}
