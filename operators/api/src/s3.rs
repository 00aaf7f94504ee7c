//! An object store with S3's API.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Object or objects in an object store with S3's API. The fields are those of the archived coreos/etcd-operator, under their exact
/// keys, and caSecret.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct S3Location {
    /// Bucket and key, such as `backups/team-a/etcd`. The bucket must exist.
    #[schemars(length(min = 5, max = 800))]
    #[x_kube(validation = Rule::new(
        "self.matches('^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9](/[a-zA-Z0-9_:=+@][-a-zA-Z0-9_.:=+@]*)+$')"
    ).message(
        "s3.path must be a bucket and a key, such as backups/team-a/etcd: parts of letters, digits and - _ . : = + @, of which none \
         begins with '-' or '.'"
    ))]
    pub path: String,

    /// Secret in the same namespace with the files `credentials` and, with the region, `config`, as AWS's tools write them: the
    /// operator uses their profile `default`. The region defaults to us-east-1.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("s3.awsSecret must be the name of a Secret in the same namespace"))]
    pub aws_secret: String,

    /// URL of the store, such as `https://s3.example.com`. Default: that of AWS in the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 300))]
    #[x_kube(validation = Rule::new("self.matches('^(https?://)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/?$')").message(
        "s3.endpoint must be the URL of a store without a path, such as https://s3.example.com or http://minio.storage:9000"
    ))]
    pub endpoint: Option<String>,

    /// Whether requests name the bucket in their path, and not in their host. Most stores other than AWS need it. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_path_style: bool,

    /// Secret in the same namespace whose key `ca.crt` has the certificates that the store's certificate is verified by. Default:
    /// public authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("s3.caSecret must be the name of a Secret in the same namespace"))]
    pub ca_secret: Option<String>,
}
