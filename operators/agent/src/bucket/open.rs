//! The store of a command's arguments, by its API. Sends no request.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs};

use agent_protocol::{BucketArgs, StoreApi};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};
use object_store::{ObjectStore, RetryConfig, StaticCredentialProvider};

use super::http::StoreConnector;
use super::{address, credentials};
use crate::failure::{CommandFailure, Reason};
use crate::files;

/// How long a request is repeated while the store does not answer, or reports that it is busy.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// The store with the bucket of that name.
pub(super) fn store(args: &BucketArgs, bucket: &str) -> Result<Box<dyn ObjectStore>, CommandFailure> {
    match args.bucket_api {
        StoreApi::S3 => s3(args, bucket),
        StoreApi::Abs => azure(args, bucket),
        StoreApi::Gcs => google(args, bucket),
        StoreApi::Oss => oss(args, bucket),
    }
}

fn s3(args: &BucketArgs, bucket: &str) -> Result<Box<dyn ObjectStore>, CommandFailure> {
    let found = credentials::parse(file(args, "credentials")?.as_deref(), file(args, "config")?.as_deref());
    let found = found.map_err(|why| wrong_credentials(&why))?;
    let endpoint = address::endpoint(args.bucket_endpoint.as_deref(), bucket, args.bucket_path_style);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_access_key_id(&found.access_key_id)
        .with_secret_access_key(&found.secret_access_key)
        .with_virtual_hosted_style_request(!args.bucket_path_style)
        .with_allow_http(true)
        .with_retry(retries())
        .with_http_connector(StoreConnector::new(args.bucket_ca.as_deref())?);
    if let Some(token) = &found.session_token {
        builder = builder.with_token(token);
    }
    if let Some(region) = &found.region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    built(bucket, builder.build())
}

fn oss(args: &BucketArgs, bucket: &str) -> Result<Box<dyn ObjectStore>, CommandFailure> {
    let address = address::oss(args.bucket_endpoint.as_deref(), bucket);
    let (endpoint, region) = address.map_err(|why| CommandFailure::new(Reason::BadInput, why))?;
    let builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_access_key_id(required(args, "accessKeyID")?)
        .with_secret_access_key(required(args, "accessKeySecret")?)
        .with_virtual_hosted_style_request(true)
        .with_region(region)
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_retry(retries())
        .with_http_connector(StoreConnector::new(args.bucket_ca.as_deref())?);
    built(bucket, builder.build())
}

fn azure(args: &BucketArgs, container: &str) -> Result<Box<dyn ObjectStore>, CommandFailure> {
    let account = required(args, "storage-account")?;
    let endpoint = match &args.bucket_endpoint {
        Some(endpoint) => endpoint.clone(),
        None => address::azure(&account, value(args, "cloud")?.as_deref()).map_err(|why| wrong_credentials(&why))?,
    };
    let builder = MicrosoftAzureBuilder::new()
        .with_account(account)
        .with_access_key(required(args, "storage-key")?)
        .with_container_name(container)
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_retry(retries())
        .with_http_connector(StoreConnector::new(args.bucket_ca.as_deref())?);
    built(container, builder.build())
}

fn google(args: &BucketArgs, bucket: &str) -> Result<Box<dyn ObjectStore>, CommandFailure> {
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(bucket)
        .with_retry(retries())
        .with_http_connector(StoreConnector::new(args.bucket_ca.as_deref())?);
    if let Some(url) = &args.bucket_endpoint {
        builder = builder.with_base_url(url);
    }
    if args.bucket_credentials.is_some() {
        builder = match (value(args, "credentials.json")?, value(args, "access-token")?) {
            (Some(key), None) => builder.with_service_account_key(key),
            (None, Some(token)) => {
                builder.with_credentials(Arc::new(StaticCredentialProvider::new(GcpCredential { bearer: token })))
            }
            (None, None) => return Err(missing("credentials.json` or `access-token")),
            (Some(_), Some(_)) => {
                return Err(wrong_credentials(
                    "the Secret has both `credentials.json` and `access-token`: keep one of them",
                ));
            }
        };
    }
    built(bucket, builder.build())
}

fn retries() -> RetryConfig {
    RetryConfig { retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() }
}

fn built<S: ObjectStore>(
    bucket: &str,
    store: Result<S, impl fmt::Display>,
) -> Result<Box<dyn ObjectStore>, CommandFailure> {
    match store {
        Ok(store) => Ok(Box::new(store)),
        Err(error) => Err(CommandFailure::new(Reason::BadInput, format!("the bucket {bucket}: {error}"))),
    }
}

/// The text of a file with credentials, if it exists.
fn file(args: &BucketArgs, name: &str) -> Result<Option<String>, CommandFailure> {
    let Some(directory) = &args.bucket_credentials else { return Ok(None) };
    let path = directory.join(name);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(files::failed("read", &path, &error, Reason::BadInput)),
    }
}

/// What a file has, without the white space around it, if it is not empty.
fn value(args: &BucketArgs, name: &str) -> Result<Option<String>, CommandFailure> {
    Ok(file(args, name)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

fn required(args: &BucketArgs, name: &str) -> Result<String, CommandFailure> {
    value(args, name)?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> CommandFailure {
    wrong_credentials(&format!("there is no file `{name}`: the Secret does not exist, or has no such key"))
}

fn wrong_credentials(why: &str) -> CommandFailure {
    CommandFailure::new(Reason::BadInput, format!("the credentials of the bucket: {why}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// What is wrong with a store of that API whose Secret has these files.
    fn refused(api: StoreApi, files: &[(&str, &str)]) -> Option<String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("agent-open-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
        }
        let bucket_credentials: Option<PathBuf> = Some(directory.clone());
        let args = BucketArgs { bucket_api: api, bucket_credentials, ..BucketArgs::default() };
        let refused = store(&args, "bucket").err().map(|failure| failure.message().to_owned());
        fs::remove_dir_all(&directory).unwrap();
        refused
    }

    #[test]
    fn a_secret_without_a_key_is_refused_by_the_name_of_the_key() {
        for (api, files) in [
            (StoreApi::S3, &[("credentials", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n")][..]),
            (StoreApi::Abs, &[("storage-account", "a\n"), ("storage-key", "YQ==\n")]),
            (StoreApi::Gcs, &[("access-token", "t\n")]),
            (StoreApi::Oss, &[("accessKeyID", "a"), ("accessKeySecret", "b")]),
        ] {
            assert_eq!(refused(api, files), None, "{api}");
            let why = refused(api, &files[..files.len() - 1]).expect("a key is missing");
            assert!(
                why.contains(files[files.len() - 1].0) && why.contains("the Secret does not exist"),
                "{api}: {why}"
            );
        }
    }

    #[test]
    fn credentials_that_cannot_be_used_are_named_and_not_shown() {
        let azure = |key: &str, cloud: &str| {
            refused(StoreApi::Abs, &[("storage-account", "a"), ("storage-key", key), ("cloud", cloud)])
        };
        assert!(azure("YQ==", "AzureMoon").is_some_and(|why| why.contains("is an unknown cloud")));
        assert!(azure("not base64!", "AzurePublicCloud").is_some_and(|why| !why.contains("not base64!")));
        let both = refused(StoreApi::Gcs, &[("credentials.json", "{}"), ("access-token", "t")]);
        assert!(both.is_some_and(|why| why.contains("keep one of them")));
        let no_key = refused(StoreApi::Gcs, &[("credentials.json", "{\"private_key\": \"secret\"}")]);
        assert!(no_key.as_ref().is_some_and(|why| !why.contains("secret\"")), "{no_key:?}");
    }
}
