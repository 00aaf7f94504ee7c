//! Pure: how the agent in a pod reaches a bucket: its arguments, and the volumes with the credentials.

use agent_protocol::BucketArgs;
use api::s3::S3Location;
use k8s_openapi::api::core::v1::{Volume, VolumeMount};
use runtime::pod::{optional_secret_volume, read_only_mount};

const CREDENTIALS_VOLUME: &str = "bucket-credentials";
const CREDENTIALS_DIR: &str = "/bucket/credentials";
const CA_VOLUME: &str = "bucket-ca";
const CA_DIR: &str = "/bucket/ca";
/// The key of the Secret with the authority's certificates, as cert-manager names it.
const CA_KEY: &str = "ca.crt";
/// The keys of the Secret with the credentials.
const CREDENTIALS_KEYS: [&str; 2] = ["credentials", "config"];

/// The arguments.
pub(crate) fn arguments(s3: &S3Location) -> BucketArgs {
    BucketArgs {
        bucket: Some(s3.path.clone()),
        bucket_endpoint: s3.endpoint.clone(),
        bucket_path_style: s3.force_path_style,
        bucket_credentials: Some(CREDENTIALS_DIR.into()),
        bucket_ca: s3.ca_secret.as_ref().map(|_| format!("{CA_DIR}/{CA_KEY}").into()),
    }
}

/// The volumes.
pub(crate) fn volumes(s3: &S3Location) -> Vec<Volume> {
    let ca = s3.ca_secret.iter().map(|secret| optional_secret_volume(CA_VOLUME, secret, &[CA_KEY]));
    std::iter::once(optional_secret_volume(CREDENTIALS_VOLUME, &s3.aws_secret, &CREDENTIALS_KEYS)).chain(ca).collect()
}

/// The mounts.
pub(crate) fn mounts(s3: &S3Location) -> Vec<VolumeMount> {
    let ca = s3.ca_secret.iter().map(|_| read_only_mount(CA_VOLUME, CA_DIR));
    std::iter::once(read_only_mount(CREDENTIALS_VOLUME, CREDENTIALS_DIR)).chain(ca).collect()
}
