//! The kinds EtcdCluster and EtcdBackup, as their operators cache them.

use runtime::plan::ResourceKind;
use runtime::projections::{Custom, CustomKind};

/// The kind EtcdCluster.
#[derive(Debug)]
pub enum EtcdClusterKind {}

impl CustomKind for EtcdClusterKind {
    const KIND: ResourceKind =
        ResourceKind { group: api::ETCD_GROUP, version: "v1beta2", kind: "EtcdCluster", plural: "etcdclusters" };
    const ANNOTATIONS: &'static [&'static str] = &[
        api::etcd_cluster::SCOPE,
        api::etcd_cluster::DEFRAGMENT,
        api::etcd_cluster::MOVE_LEADER,
        api::etcd_cluster::ADOPT,
        api::etcd_cluster::RECOVER_WITHOUT,
    ];
    const FREE: &'static [&'static str] = &[
        "pod.affinity",
        "pod.tolerations",
        "pod.topologySpreadConstraints",
        "pod.securityContext",
        "pod.etcdEnv",
        "pod.persistentVolumeClaimSpec",
    ];
    type Spec = api::etcd_cluster::EtcdClusterSpec;
    type Status = api::etcd_cluster::EtcdClusterStatus;
}

/// The cached part of an EtcdCluster.
pub type EtcdCluster = Custom<EtcdClusterKind>;

/// The kind EtcdBackup.
#[derive(Debug)]
pub enum EtcdBackupKind {}

impl CustomKind for EtcdBackupKind {
    const KIND: ResourceKind =
        ResourceKind { group: api::ETCD_GROUP, version: "v1beta2", kind: "EtcdBackup", plural: "etcdbackups" };
    const ANNOTATIONS: &'static [&'static str] = &[api::etcd_backup::BACKUP_NOW];
    type Spec = api::etcd_backup::EtcdBackupSpec;
    type Status = api::etcd_backup::EtcdBackupStatus;
}

/// The cached part of an EtcdBackup.
pub type EtcdBackup = Custom<EtcdBackupKind>;

/// The name of the controller of EtcdBackup.
pub(crate) const BACKUP_CONTROLLER: &str = "etcd-backup";

/// The name of the controller of EtcdCluster.
pub(crate) const CONTROLLER: &str = "etcd-cluster";
