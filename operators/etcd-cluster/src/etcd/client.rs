//! How etcd is asked and changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::Error;

use crate::plan::{Etcd, EtcdAct};

/// A member to ask: the pod's name and address.
pub type Place = (Arc<str>, Box<str>);

/// How to ask etcd, and to change it. Nothing takes longer than a few seconds.
pub trait EtcdClient: Send + Sync + 'static {
    /// Asks all members at once how they fare, and one with quorum for the list of members: one of the cluster with the id
    /// `latched`, if that is known already.
    fn look(&self, places: &[Place], latched: Option<u64>) -> impl Future<Output = Etcd> + Send;

    /// Asks one member which version all have agreed upon.
    fn cluster_version(&self, address: &str) -> impl Future<Output = Option<String>> + Send;

    /// Asks one member to which others it is sending a snapshot just now.
    fn receivers(&self, address: &str) -> impl Future<Output = BTreeSet<u64>> + Send;

    /// Makes one change.
    ///
    /// # Errors
    /// Transient, with etcd's own words. That the answer is lost does not tell whether the change was made.
    fn act(&self, act: EtcdAct) -> impl Future<Output = Result<(), Error>> + Send;
}
