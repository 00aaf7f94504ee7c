//! How a command reaches a bucket of an object store.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::argv::Argv;

/// The API of an object store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StoreApi {
    /// S3, of AWS and others
    #[default]
    S3,
    /// Azure Blob Storage
    Abs,
    /// Google Cloud Storage
    Gcs,
    /// Alibaba Cloud OSS
    Oss,
}

impl StoreApi {
    /// The scheme of the URLs by which messages name objects.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Abs => "abs",
            Self::Gcs => "gs",
            Self::Oss => "oss",
        }
    }
}

impl fmt::Display for StoreApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S3 => "s3",
            Self::Abs => "abs",
            Self::Gcs => "gcs",
            Self::Oss => "oss",
        })
    }
}

/// An object in a bucket of an object store, and how to reach it.
///
/// The agent reads the credentials from files, so that they appear in no argv and no environment.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketArgs {
    /// Object in a bucket of an object store; a container of Azure Blob Storage is a bucket, too
    #[arg(long, value_name = "BUCKET/KEY", value_parser = bucket_and_key)]
    pub bucket: Option<String>,
    /// API of the store
    #[arg(long, value_name = "API", value_enum, default_value_t, requires = "bucket")]
    pub bucket_api: StoreApi,
    /// URL of the store (AWS, by the region; the account's; Google's; that of cn-hangzhou)
    #[arg(long, value_name = "URL", requires = "bucket")]
    pub bucket_endpoint: Option<String>,
    /// Put the bucket into the path of each request, instead of the host (s3)
    #[arg(long, requires = "bucket")]
    pub bucket_path_style: bool,
    /// Directory with the credentials: the files `credentials` and, with the region, `config` (s3), `storage-account`, `storage-key`
    /// and `cloud` (abs), `credentials.json` or `access-token` (gcs; the identity of the pod), `accessKeyID` and `accessKeySecret` (oss)
    #[arg(long, value_name = "DIRECTORY")]
    pub bucket_credentials: Option<PathBuf>,
    /// File with the certificates that the store's certificate is verified by (those of public authorities)
    #[arg(long, value_name = "FILE", requires = "bucket")]
    pub bucket_ca: Option<PathBuf>,
}

impl BucketArgs {
    pub(crate) fn render(&self, argv: &mut Argv) {
        argv.values("bucket", &self.bucket);
        argv.unless_default("bucket-api", &self.bucket_api);
        argv.values("bucket-endpoint", &self.bucket_endpoint);
        argv.switch("bucket-path-style", self.bucket_path_style);
        argv.values("bucket-credentials", self.bucket_credentials.as_ref().map(|path| path.display()));
        argv.values("bucket-ca", self.bucket_ca.as_ref().map(|path| path.display()));
    }
}

/// Checks that a text names a bucket and an object in it.
fn bucket_and_key(text: &str) -> Result<String, &'static str> {
    match text.split_once('/') {
        Some((bucket, key)) if !bucket.is_empty() && !key.is_empty() => Ok(text.to_owned()),
        _ => Err("it must be BUCKET/KEY"),
    }
}
