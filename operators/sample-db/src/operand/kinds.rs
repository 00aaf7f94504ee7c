//! Pure: the kinds SampleDB and SampleDBSnapshot, as the planners see them.

use runtime::plan::{Owner, ResourceKind};
use runtime::projections::{Custom, CustomKind};

/// The kind SampleDB.
#[derive(Debug)]
pub enum SampleDBKind {}

impl CustomKind for SampleDBKind {
    const KIND: ResourceKind =
        ResourceKind { group: api::GROUP, version: "v1alpha1", kind: "SampleDB", plural: "sampledbs" };
    const ANNOTATIONS: &'static [&'static str] =
        &[api::sample_db::ADOPT, api::sample_db::SKIP_FINAL_SNAPSHOT, api::sample_db::ACCEPT_FINAL_SNAPSHOT];
    const FREE: &'static [&'static str] =
        &["affinity", "tolerations", "topologySpreadConstraints", "podSecurityContext"];
    type Spec = api::sample_db::SampleDBSpec;
    type Status = api::sample_db::SampleDBStatus;
}

/// A SampleDB as the planner sees it.
pub type SampleDB = Custom<SampleDBKind>;

/// The kind SampleDBSnapshot.
#[derive(Debug)]
pub enum SnapshotKind {}

impl CustomKind for SnapshotKind {
    const KIND: ResourceKind =
        ResourceKind { group: api::GROUP, version: "v1alpha1", kind: "SampleDBSnapshot", plural: "sampledbsnapshots" };
    const ANNOTATIONS: &'static [&'static str] =
        &[api::sample_db_snapshot::VERIFY, api::sample_db_snapshot::RELEASE_SNAPSHOT, ONLINE, RECORD];
    type Spec = api::sample_db_snapshot::SampleDBSnapshotSpec;
    type Status = api::sample_db_snapshot::SampleDBSnapshotStatus;

    fn belongs_to(spec: &Self::Spec) -> Option<Owner> {
        Some(Owner { kind: SampleDBKind::KIND.qualified().into(), name: spec.sample_db.as_str().into() })
    }
}

/// A SampleDBSnapshot as the planner sees it.
pub type Snapshot = Custom<SnapshotKind>;

/// Annotation of a final snapshot that is taken from the running server.
pub(crate) const ONLINE: &str = "multi-operator.example.com/online";

/// Annotation of a snapshot with the record.
pub(crate) const RECORD: &str = "multi-operator.example.com/snapshot-record";
