//! A bucket of an S3 object store. What the library does asynchronously ends here: the rest of the agent waits for it.
//!
//! | file | contents |
//! |---|---|
//! | `address.rs` | the URL of a bucket; pure |
//! | `credentials.rs` | the files with the credentials, as AWS's tools write them; pure |
//! | `http.rs` | requests, with TLS |
//! | `failures.rs` | what a store's errors mean; pure |

mod address;
mod credentials;
mod failures;
mod http;

use std::fs::{self, File};
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use agent_protocol::BucketArgs;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::{
    Attribute, Attributes, GetOptions, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, RetryConfig,
};
use sha2::{Digest, Sha256};
use tokio::runtime::{Builder, Runtime};

use crate::failure::{CommandFailure, Reason};
use crate::files::{self, hexadecimal};
use credentials::BucketCredentials;
use failures::StoreRequest;

/// How long a request is repeated while the store does not answer, or reports that it is busy.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an operation on a small object may take in total.
const SHORT: Duration = Duration::from_secs(180);
/// The size of a part of an upload, in bytes: the smallest that S3 allows. A store takes 10,000 parts, so 50 GiB, six times what etcd
/// recommends at most.
const PART: usize = 5 * 1024 * 1024;
/// The largest description, in bytes; a larger object is none.
const LARGEST_TEXT: u64 = 64 * 1024;
/// How many descriptions are read at once.
const READS: usize = 8;
/// How often the progress of a transfer is logged.
const PROGRESS: Duration = Duration::from_secs(30);
/// The user metadata of an object that says whose it is.
const OWNER: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("multi-operator-owner"));

/// A bucket, and the key that the command names.
pub(crate) struct Bucket {
    store: AmazonS3,
    runtime: Runtime,
    name: String,
    key: String,
}

impl Bucket {
    /// The bucket of these arguments, if there is one. Sends no request yet.
    pub(crate) fn open(args: &BucketArgs) -> Result<Option<Self>, CommandFailure> {
        let Some((name, key)) = args.bucket.as_deref().and_then(|bucket| bucket.split_once('/')) else {
            return Ok(None);
        };
        let credentials = read_credentials(args.bucket_credentials.as_deref().unwrap_or(Path::new("")))?;
        let endpoint = address::endpoint(args.bucket_endpoint.as_deref(), name, args.bucket_path_style);
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(name)
            .with_access_key_id(&credentials.access_key_id)
            .with_secret_access_key(&credentials.secret_access_key)
            .with_virtual_hosted_style_request(!args.bucket_path_style)
            .with_allow_http(true)
            .with_retry(RetryConfig { retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() })
            .with_http_connector(http::StoreConnector::new(args.bucket_ca.as_deref())?);
        if let Some(token) = &credentials.session_token {
            builder = builder.with_token(token);
        }
        if let Some(region) = &credentials.region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let failed = |error: String| CommandFailure::new(Reason::BadInput, format!("the bucket {name}: {error}"));
        let store = builder.build().map_err(|error| failed(error.to_string()))?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(error.to_string()))?;
        Ok(Some(Self { store, runtime, name: name.to_owned(), key: key.to_owned() }))
    }

    /// The key that the command names.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// An object, as `spec.s3.path` names it: BUCKET/KEY.
    pub(crate) fn path(&self, key: &str) -> String {
        format!("{}/{key}", self.name)
    }

    /// Whose an object is; `None` if there is no object, and an empty text if it says nothing.
    pub(crate) fn owner(&self, key: &str) -> Result<Option<String>, CommandFailure> {
        let at = Key::from(key);
        let head = self.store.get_opts(&at, GetOptions { head: true, ..GetOptions::default() });
        let found = self.wait("read", key, SHORT, head)?;
        Ok(found.map(|object| object.attributes.get(&OWNER).map_or_else(String::new, |owner| owner.to_string())))
    }

    /// A small object; `None` if there is no such object, or it is no text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, CommandFailure> {
        Ok(self.wait("read", key, SHORT, text(&self.store, key))?.flatten())
    }

    /// Small objects, in the same order.
    pub(crate) fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, CommandFailure> {
        let reads = futures::stream::iter(keys.iter().map(|key| async {
            match text(&self.store, key).await {
                // It was removed after it was listed.
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                read => read,
            }
        }));
        let all = reads.buffered(READS).try_collect();
        Ok(self.wait("read", &self.key, SHORT, all)?.unwrap_or_default())
    }

    /// Writes a small object.
    pub(crate) fn write(&self, key: &str, text: String, owner: &str) -> Result<(), CommandFailure> {
        let options = PutOptions { attributes: attributes(owner), ..PutOptions::default() };
        let at = Key::from(key);
        self.must("written", key, SHORT, self.store.put_opts(&at, text.into_bytes().into(), options)).map(drop)
    }

    /// The keys that begin with a prefix, in order.
    pub(crate) fn keys(&self, prefix: &str) -> Result<Vec<String>, CommandFailure> {
        let above = prefix.rsplit_once('/').map(|(above, _)| Key::from(above));
        let listed = self.store.list_with_offset(above.as_ref(), &Key::from(prefix));
        let keys = listed
            .map_ok(|object| object.location.to_string())
            .try_take_while(|key| std::future::ready(Ok(key.starts_with(prefix))))
            .try_collect();
        Ok(self.wait("listed", prefix, SHORT, keys)?.unwrap_or_default())
    }

    /// Removes an object, if it exists.
    pub(crate) fn remove(&self, key: &str) -> Result<(), CommandFailure> {
        self.wait("removed", key, SHORT, self.store.delete(&Key::from(key))).map(drop)
    }

    /// Uploads a file, part by part: one part is in memory.
    pub(crate) fn upload(&self, file: &Path, key: &str, owner: &str, timeout: Duration) -> Result<(), CommandFailure> {
        let unreadable = |error| files::failed("read", file, &error, Reason::ToolFailed);
        let from = File::open(file).map_err(unreadable)?;
        let total = from.metadata().map_err(unreadable)?.len();
        let mut progress = Transfer::new("uploaded", total);
        let deadline = Instant::now() + timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        let options = PutMultipartOptions { attributes: attributes(owner), ..PutMultipartOptions::default() };
        let mut upload = self.must("written", key, left(), self.store.put_multipart_opts(&Key::from(key), options))?;
        let mut sent = || -> Result<(), CommandFailure> {
            loop {
                let mut part = Vec::with_capacity(PART);
                (&from).take(PART as u64).read_to_end(&mut part).map_err(unreadable)?;
                if part.is_empty() {
                    break;
                }
                let bytes = part.len() as u64;
                self.must("written", key, left(), upload.put_part(part.into()))?;
                progress.add(bytes);
            }
            self.must("written", key, left(), upload.complete()).map(drop)
        };
        let sent = sent();
        if sent.is_err() {
            // The parts would be stored, and paid for, without being listed.
            let _ = self.must("removed", key, SHORT, upload.abort());
        }
        sent
    }

    /// Bytes and SHA-256 of an object, as the store has it; `None` if there is none.
    pub(crate) fn digest(&self, key: &str, timeout: Duration) -> Result<Option<(u64, String)>, CommandFailure> {
        self.wait("read", key, timeout, receive(&self.store, key, None)).map(|found| found.and_then(Result::ok))
    }

    /// Downloads an object into a file; `false` if there is none.
    pub(crate) fn download(&self, key: &str, to: &Path, timeout: Duration) -> Result<bool, CommandFailure> {
        let unwritable = |error| files::failed("written", to, &error, Reason::ToolFailed);
        let mut file = File::create(to).map_err(unwritable)?;
        match self.wait("read", key, timeout, receive(&self.store, key, Some(&mut file)))? {
            Some(received) => received.and_then(|_| file.sync_all()).map_err(unwritable).map(|()| true),
            None => Ok(false),
        }
    }

    /// Waits for an operation; `None` if there is no such object.
    fn wait<T>(
        &self,
        what: &'static str,
        key: &str,
        timeout: Duration,
        operation: impl Future<Output = object_store::Result<T>>,
    ) -> Result<Option<T>, CommandFailure> {
        let of = StoreRequest { what, bucket: &self.name, key };
        match self.runtime.block_on(async { tokio::time::timeout(timeout, operation).await }) {
            Ok(Ok(value)) => Ok(Some(value)),
            Ok(Err(error)) if of.is_missing_object(&error) => Ok(None),
            Ok(Err(error)) => Err(of.failure(&error)),
            Err(_) => Err(of.timeout(timeout)),
        }
    }

    /// Waits for an operation that needs no object.
    fn must<T>(
        &self,
        what: &'static str,
        key: &str,
        timeout: Duration,
        operation: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, CommandFailure> {
        let done = self.wait(what, key, timeout, operation)?;
        done.ok_or_else(|| StoreRequest { what, bucket: &self.name, key }.vanished())
    }
}

fn read_credentials(directory: &Path) -> Result<BucketCredentials, CommandFailure> {
    let file = |name: &str| {
        let path = directory.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(files::failed("read", &path, &error, Reason::BadInput)),
        }
    };
    credentials::parse(file("credentials")?.as_deref(), file("config")?.as_deref())
        .map_err(|why| CommandFailure::new(Reason::BadInput, format!("the credentials of the bucket: {why}")))
}

fn attributes(owner: &str) -> Attributes {
    Attributes::from_iter([(OWNER, owner.to_owned())])
}

async fn text(store: &AmazonS3, key: &str) -> object_store::Result<Option<String>> {
    let object = store.get(&Key::from(key)).await?;
    if object.meta.size > LARGEST_TEXT {
        return Ok(None);
    }
    Ok(String::from_utf8(object.bytes().await?.into()).ok())
}

/// Receives an object, into a file if there is one. The inner error is that of the file.
async fn receive(
    store: &AmazonS3,
    key: &str,
    mut file: Option<&mut File>,
) -> object_store::Result<std::io::Result<(u64, String)>> {
    let object = store.get(&Key::from(key)).await?;
    let mut progress = Transfer::new(if file.is_some() { "downloaded" } else { "read back" }, object.meta.size);
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut chunks = object.into_stream();
    while let Some(chunk) = chunks.try_next().await? {
        if let Some(Err(error)) = file.as_mut().map(|file| file.write_all(&chunk)) {
            return Ok(Err(error));
        }
        hash.update(&chunk);
        bytes += chunk.len() as u64;
        progress.add(chunk.len() as u64);
    }
    Ok(Ok((bytes, hexadecimal(&hash.finalize()))))
}

/// The progress of a transfer, in the log.
struct Transfer {
    what: &'static str,
    bytes: u64,
    total: u64,
    logged: Instant,
}

impl Transfer {
    fn new(what: &'static str, total: u64) -> Self {
        Self { what, bytes: 0, total, logged: Instant::now() }
    }

    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.logged.elapsed() >= PROGRESS || self.bytes == self.total {
            eprintln!("{} {} of {} MiB", self.what, self.bytes >> 20, self.total >> 20);
            self.logged = Instant::now();
        }
    }
}
