//! Objects in object stores: the four kinds of the archived coreos/etcd-operator, of which [`crate::s3`] is one.

use std::fmt;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::s3::S3Location;

/// Object or objects in Azure Blob Storage. The fields are those of the archived coreos/etcd-operator, under their exact keys, and
/// endpoint.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbsLocation {
    /// Container and key, such as `backups/team-a/etcd`. The container must exist.
    #[schemars(length(min = 5, max = 800))]
    #[x_kube(validation = Rule::new(
        "self.matches('^[a-z0-9][-a-z0-9]{1,61}[a-z0-9](/[a-zA-Z0-9_:=+@][-a-zA-Z0-9_.:=+@]*)+$')"
    ).message(
        "abs.path must be a container and a key, such as backups/team-a/etcd: parts of letters, digits and - _ . : = + @, of which \
         none begins with '-' or '.'"
    ))]
    pub path: String,

    /// Secret in the same namespace with the keys `storage-account`, `storage-key` and, for another cloud than AzurePublicCloud,
    /// `cloud`.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("abs.absSecret must be the name of a Secret in the same namespace"))]
    pub abs_secret: String,

    /// URL of the account's blobs. Default: that of the account in its cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 300))]
    #[x_kube(validation = Rule::new("self.matches('^https?://[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?(/[a-z0-9]*)?$')").message(
        "abs.endpoint must be a URL, such as https://account.blob.core.windows.net or http://azurite:10000/account"
    ))]
    pub endpoint: Option<String>,
}

/// Object or objects in Google Cloud Storage. The fields are those of the archived coreos/etcd-operator, under their exact keys.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GcsLocation {
    /// Bucket and key, such as `backups/team-a/etcd`. The bucket must exist.
    #[schemars(length(min = 5, max = 800))]
    #[x_kube(validation = Rule::new(
        "self.matches('^[a-z0-9][-a-z0-9._]{1,220}[a-z0-9](/[a-zA-Z0-9_:=+@][-a-zA-Z0-9_.:=+@]*)+$')"
    ).message(
        "gcs.path must be a bucket and a key, such as backups/team-a/etcd: parts of letters, digits and - _ . : = + @, of which none \
         begins with '-' or '.'"
    ))]
    pub path: String,

    /// Secret in the same namespace with one of the keys `credentials.json`, the key of a service account, and `access-token`.
    /// Default: the identity that Google's metadata server gives the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("gcs.gcpSecret must be the name of a Secret in the same namespace"))]
    pub gcp_secret: Option<String>,
}

/// Object or objects in Alibaba Cloud OSS, by its S3-compatible API. The fields are those of the archived coreos/etcd-operator, under
/// their exact keys.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OssLocation {
    /// Bucket and key, such as `backups/team-a/etcd`. The bucket must exist.
    #[schemars(length(min = 5, max = 800))]
    #[x_kube(validation = Rule::new(
        "self.matches('^[a-z0-9][-a-z0-9]{1,61}[a-z0-9](/[a-zA-Z0-9_:=+@][-a-zA-Z0-9_.:=+@]*)+$')"
    ).message(
        "oss.path must be a bucket and a key, such as backups/team-a/etcd: parts of letters, digits and - _ . : = + @, of which none \
         begins with '-' or '.'"
    ))]
    pub path: String,

    /// Secret in the same namespace with the keys `accessKeyID` and `accessKeySecret`.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("oss.ossSecret must be the name of a Secret in the same namespace"))]
    pub oss_secret: String,

    /// URL of the store in its region. Default: `https://oss-cn-hangzhou.aliyuncs.com`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 300))]
    #[x_kube(validation = Rule::new("self.matches('^(https?://)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/?$')").message(
        "oss.endpoint must be the URL of a store without a path, such as https://oss-eu-central-1.aliyuncs.com"
    ))]
    pub endpoint: Option<String>,
}

/// Where an object is, in a store of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreLocation<'a> {
    /// With S3's API.
    S3(&'a S3Location),
    /// In Azure Blob Storage.
    Abs(&'a AbsLocation),
    /// In Google Cloud Storage.
    Gcs(&'a GcsLocation),
    /// In Alibaba Cloud OSS.
    Oss(&'a OssLocation),
}

impl<'a> StoreLocation<'a> {
    /// The one that a spec has: its schema refuses more than one.
    #[must_use]
    pub fn of(
        s3: Option<&'a S3Location>,
        abs: Option<&'a AbsLocation>,
        gcs: Option<&'a GcsLocation>,
        oss: Option<&'a OssLocation>,
    ) -> Option<Self> {
        s3.map(Self::S3).or(abs.map(Self::Abs)).or(gcs.map(Self::Gcs)).or(oss.map(Self::Oss))
    }

    /// Bucket and key.
    #[must_use]
    pub fn path(self) -> &'a str {
        match self {
            Self::S3(at) => &at.path,
            Self::Abs(at) => &at.path,
            Self::Gcs(at) => &at.path,
            Self::Oss(at) => &at.path,
        }
    }

    /// Secret with the credentials, unless the pod's identity is used.
    #[must_use]
    pub fn secret(self) -> Option<&'a str> {
        match self {
            Self::S3(at) => Some(&at.aws_secret),
            Self::Abs(at) => Some(&at.abs_secret),
            Self::Gcs(at) => at.gcp_secret.as_deref(),
            Self::Oss(at) => Some(&at.oss_secret),
        }
    }
}

/// As messages name it, such as `gs://bucket/key`.
impl fmt::Display for StoreLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self {
            Self::S3(_) => "s3",
            Self::Abs(_) => "abs",
            Self::Gcs(_) => "gs",
            Self::Oss(_) => "oss",
        };
        write!(f, "{scheme}://{}", self.path())
    }
}
