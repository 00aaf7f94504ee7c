//! Object store with copies of snapshots.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::s3::S3Location;

/// Object store with copies of snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotStore {
    /// Bucket with S3's API, and the prefix of the objects in it.
    pub s3: S3Location,
}
