//! The interface through which the operator queries and changes etcd.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use runtime::Error;

use crate::certificates::TlsIdentity;
use crate::plan::{Etcd, EtcdChange};

/// Where a member is queried.
#[derive(Clone, Debug)]
pub struct MemberEndpoint {
    /// The pod's name.
    pub pod: Arc<str>,
    /// Its address.
    pub address: Box<str>,
    /// How, if the member serves clients with TLS.
    pub tls: Option<MemberTls>,
    /// The password of etcd's user `root`, if the operator has it.
    pub root: Option<RootPassword>,
}

/// How to reach a member with TLS.
#[derive(Clone, Debug)]
pub struct MemberTls {
    /// The client certificate, and the authorities of members.
    pub identity: Arc<TlsIdentity>,
    /// The name for which the member's certificate must be valid.
    pub server_name: String,
}

impl MemberEndpoint {
    /// A member without TLS and users.
    #[must_use]
    pub fn plain(pod: &str, address: &str) -> Self {
        Self { pod: pod.into(), address: address.into(), tls: None, root: None }
    }
}

/// The user and the role that authentication needs, and that may do everything.
pub(super) const ROOT: &str = "root";

/// The password of etcd's user `root`.
#[derive(Clone, PartialEq, Eq)]
pub struct RootPassword(Arc<str>);

impl RootPassword {
    /// That password.
    #[must_use]
    pub fn new(password: &str) -> Self {
        Self(password.into())
    }

    /// What only etcd may see.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

/// Without what is secret.
impl fmt::Debug for RootPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootPassword")
    }
}

/// Queries and changes etcd. Nothing takes longer than a few seconds.
pub trait EtcdClient: Send + Sync + 'static {
    /// Queries the status of all members at once, and the list of members through one with quorum. What follows at the same address
    /// uses the same TLS and password. Once the cluster id is `latched`, only members of that cluster count.
    fn query(&self, endpoints: &[MemberEndpoint], latched: Option<u64>) -> impl Future<Output = Etcd> + Send;

    /// The cluster version, which all members have agreed on, as one member reports it.
    fn cluster_version(&self, address: &str) -> impl Future<Output = Option<String>> + Send;

    /// The ids of the members to which one member is sending a snapshot.
    fn snapshot_receivers(&self, address: &str) -> impl Future<Output = BTreeSet<u64>> + Send;

    /// Makes one change, through any of the members at these addresses; a defragmentation only begins, and
    /// [`Etcd::defragmentations`] has what comes of it.
    ///
    /// # Errors
    /// Transient, with etcd's own message. If the answer is lost, the change may have been made.
    fn act(&self, endpoints: &[Box<str>], change: &EtcdChange) -> impl Future<Output = Result<(), Error>> + Send;
}
