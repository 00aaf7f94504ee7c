//! The takeover of an etcd cluster that runs already.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An etcd cluster that runs already. Members of the EtcdCluster join it, and its earlier members leave once the spec says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdTakeover {
    /// Client URLs of all its members, such as `http://etcd-0.etcd-headless.shop.svc:2379`; not one that reaches several of them.
    #[schemars(length(min = 1, max = 9), extend("items" = { "type": "string", "maxLength": 300 }))]
    #[x_kube(validation = Rule::new("self.all(u, u.matches('^https?://[A-Za-z0-9][-A-Za-z0-9.]*:[0-9]{1,5}$'))").message(
        "takeover.endpoints must be URLs with a port, like http://etcd-0.etcd-headless.shop.svc:2379"
    ))]
    #[x_kube(validation = Rule::new("self.all(u, self.exists_one(v, v == u))")
        .message("takeover.endpoints has a URL twice: each member has one of its own"))]
    pub endpoints: Vec<String>,

    /// Secret with the client certificate for members with https: etcd-client.crt, etcd-client.key and etcd-client-ca.crt, or
    /// tls.crt, tls.key and ca.crt. Default: `TLS.static.operatorSecret`.
    #[serde(default, rename = "clientTLSSecret", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub client_tls_secret: Option<String>,

    /// What happens to the members at `endpoints` once all members of the EtcdCluster vote. Keep: they stay members, so that
    /// clients can change over. Remove: the operator removes them from the cluster, one at a time, the leader last. Default: Keep.
    #[serde(default)]
    pub earlier_members: EarlierMembers,
}

/// What happens to the members of a cluster that is taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EarlierMembers {
    /// They stay members.
    #[default]
    Keep,
    /// They leave, one at a time.
    Remove,
}
