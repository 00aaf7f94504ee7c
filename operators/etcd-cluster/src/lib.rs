//! The operator of EtcdCluster: see `plan` for its story.

use std::sync::Arc;

use runtime::plan::Kind;
use runtime::views::{Custom, CustomKind};

pub mod etcd;
pub mod plan;

/// The kind EtcdCluster.
#[derive(Debug)]
pub enum EtcdClusterKind {}

impl CustomKind for EtcdClusterKind {
    const KIND: Kind = Kind { group: api::ETCD_GROUP, version: "v1beta2", kind: "EtcdCluster", plural: "etcdclusters" };
    const ANNOTATIONS: &'static [&'static str] = &[api::etcd_cluster::SCOPE];
    type Spec = api::etcd_cluster::EtcdClusterSpec;
    type Status = api::etcd_cluster::EtcdClusterStatus;
}

/// An EtcdCluster as the planner sees it.
pub type EtcdCluster = Custom<EtcdClusterKind>;

/// For the time being.
pub type Shared = Arc<EtcdCluster>;
