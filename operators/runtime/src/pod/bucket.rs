//! Pure: how the agent in a pod reaches a bucket: its arguments, and the volumes with the credentials.

use super::{optional_secret_volume, read_only_mount};
use agent_protocol::{BucketArgs, StoreApi};
use api::store::StoreLocation;
use k8s_openapi::api::core::v1::{Volume, VolumeMount};

const CREDENTIALS_VOLUME: &str = "bucket-credentials";
const CREDENTIALS_DIR: &str = "/bucket/credentials";
const CA_VOLUME: &str = "bucket-ca";
const CA_DIR: &str = "/bucket/ca";
/// The key of the Secret with the authority's certificates, as cert-manager names it.
const CA_KEY: &str = "ca.crt";

/// The arguments for that bucket and key.
#[must_use]
pub fn arguments(at: StoreLocation<'_>) -> BucketArgs {
    let (bucket_api, endpoint) = match at {
        StoreLocation::S3(s3) => (StoreApi::S3, s3.endpoint.as_ref()),
        StoreLocation::Abs(abs) => (StoreApi::Abs, abs.endpoint.as_ref()),
        StoreLocation::Gcs(_) => (StoreApi::Gcs, None),
        StoreLocation::Oss(oss) => (StoreApi::Oss, oss.endpoint.as_ref()),
    };
    BucketArgs {
        bucket: Some(at.path().to_owned()),
        bucket_api,
        bucket_endpoint: endpoint.cloned(),
        bucket_path_style: matches!(at, StoreLocation::S3(s3) if s3.force_path_style),
        bucket_credentials: at.secret().map(|_| CREDENTIALS_DIR.into()),
        bucket_ca: ca_secret(at).map(|_| format!("{CA_DIR}/{CA_KEY}").into()),
    }
}

/// The volumes with the credentials, and with the authority's certificates.
#[must_use]
pub fn volumes(at: StoreLocation<'_>) -> Vec<Volume> {
    let credentials =
        at.secret().map(|secret| optional_secret_volume(CREDENTIALS_VOLUME, secret, credentials_keys(at)));
    let ca = ca_secret(at).map(|secret| optional_secret_volume(CA_VOLUME, secret, &[CA_KEY]));
    credentials.into_iter().chain(ca).collect()
}

/// The mounts of these volumes.
#[must_use]
pub fn mounts(at: StoreLocation<'_>) -> Vec<VolumeMount> {
    let credentials = at.secret().map(|_| read_only_mount(CREDENTIALS_VOLUME, CREDENTIALS_DIR));
    let ca = ca_secret(at).map(|_| read_only_mount(CA_VOLUME, CA_DIR));
    credentials.into_iter().chain(ca).collect()
}

/// The keys of the Secret with the credentials.
fn credentials_keys(at: StoreLocation<'_>) -> &'static [&'static str] {
    match at {
        StoreLocation::S3(_) => &["credentials", "config"],
        StoreLocation::Abs(_) => &["storage-account", "storage-key", "cloud"],
        StoreLocation::Gcs(_) => &["credentials.json", "access-token"],
        StoreLocation::Oss(_) => &["accessKeyID", "accessKeySecret"],
    }
}

fn ca_secret(at: StoreLocation<'_>) -> Option<&str> {
    match at {
        StoreLocation::S3(s3) => s3.ca_secret.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use api::store::{AbsLocation, GcsLocation};

    use super::*;

    #[test]
    fn a_pod_gets_the_keys_that_its_store_has_and_none_without_a_secret() {
        let abs = AbsLocation { path: "c/k".into(), abs_secret: "azure".into(), endpoint: None };
        let at = StoreLocation::Abs(&abs);
        let secret = volumes(at).pop().and_then(|volume| volume.secret).unwrap();
        let keys: Vec<String> = secret.items.unwrap().into_iter().map(|item| item.key).collect();
        assert_eq!(keys, ["storage-account", "storage-key", "cloud"]);
        assert_eq!((arguments(at).bucket_api, mounts(at).len()), (StoreApi::Abs, 1));
        let gcs = GcsLocation { path: "b/k".into(), gcp_secret: None };
        let at = StoreLocation::Gcs(&gcs);
        assert_eq!((volumes(at).len(), mounts(at).len(), arguments(at).bucket_credentials), (0, 0, None));
    }
}
