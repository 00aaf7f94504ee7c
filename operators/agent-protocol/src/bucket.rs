//! How a command reaches a bucket of an S3 object store.

use std::path::PathBuf;

use clap::Args;

use crate::argv::Argv;

/// An object in a bucket of an S3 object store, and how to reach it.
///
/// The agent reads the credentials from files, as AWS's own tools write them, so that they appear in no argv and no environment.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketArgs {
    /// Object in a bucket of an S3 object store
    #[arg(long, value_name = "BUCKET/KEY", value_parser = bucket_and_key, requires = "bucket_credentials")]
    pub bucket: Option<String>,
    /// URL of the store (AWS, by the region)
    #[arg(long, value_name = "URL", requires = "bucket")]
    pub bucket_endpoint: Option<String>,
    /// Put the bucket into the path of each request, instead of the host
    #[arg(long, requires = "bucket")]
    pub bucket_path_style: bool,
    /// Directory with the files `credentials` and, with the region, `config`
    #[arg(long, value_name = "DIRECTORY")]
    pub bucket_credentials: Option<PathBuf>,
    /// File with the certificates that the store's certificate is verified by (those of public authorities)
    #[arg(long, value_name = "FILE", requires = "bucket")]
    pub bucket_ca: Option<PathBuf>,
}

impl BucketArgs {
    pub(crate) fn render(&self, argv: &mut Argv) {
        argv.values("bucket", &self.bucket);
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
