//! The kinds EtcdCluster, EtcdBackup and EtcdRestore, as their operators cache them.

use runtime::cache::Projection as _;
use runtime::plan::{Owner, ResourceKind};
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
        api::etcd_cluster::ROTATE_AUTHORITIES,
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

    /// Its cluster, which may begin again from a backup.
    fn belongs_to(spec: &Self::Spec) -> Option<Owner> {
        let name = &spec.cluster_ref.as_ref()?.name;
        Some(Owner { kind: EtcdCluster::KIND.qualified().into(), name: name.as_str().into() })
    }
}

/// The cached part of an EtcdBackup.
pub type EtcdBackup = Custom<EtcdBackupKind>;

/// The kind EtcdRestore.
#[derive(Debug)]
pub enum EtcdRestoreKind {}

impl CustomKind for EtcdRestoreKind {
    const KIND: ResourceKind =
        ResourceKind { group: api::ETCD_GROUP, version: "v1beta2", kind: "EtcdRestore", plural: "etcdrestores" };
    type Spec = api::etcd_restore::EtcdRestoreSpec;
    type Status = api::etcd_restore::EtcdRestoreStatus;

    /// Its cluster, whose reconciles carry it out.
    fn belongs_to(spec: &Self::Spec) -> Option<Owner> {
        Some(Owner { kind: EtcdCluster::KIND.qualified().into(), name: spec.etcd_cluster.name.as_str().into() })
    }
}

/// The cached part of an EtcdRestore.
pub type EtcdRestore = Custom<EtcdRestoreKind>;

/// The name of the controller of EtcdRestore.
pub(crate) const RESTORE_CONTROLLER: &str = "etcd-restore";

/// The name of the controller of EtcdBackup.
pub(crate) const BACKUP_CONTROLLER: &str = "etcd-backup";

/// The name of the controller of EtcdCluster.
pub(crate) const CONTROLLER: &str = "etcd-cluster";
