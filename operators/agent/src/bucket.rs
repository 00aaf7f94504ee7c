//! A bucket of an object store. What the library does asynchronously ends here: the rest of the agent waits for it.
//!
//! | file | contents |
//! |---|---|
//! | `open.rs` | the store of a command's arguments, by its API |
//! | `address.rs` | the URL of a bucket; pure |
//! | `credentials.rs` | the files with the credentials of S3, as AWS's tools write them; pure |
//! | `http.rs` | requests, with TLS |
//! | `receive.rs` | receives objects; progress of a transfer, in the log |
//! | `failures.rs` | what a store's errors mean; pure |

mod address;
mod credentials;
mod failures;
mod http;
#[cfg(test)]
mod live;
mod open;
mod receive;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_protocol::{BucketArgs, StoreApi};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path as Key;
use object_store::{Attribute, Attributes, GetOptions, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions};
use tokio::runtime::{Builder, Runtime};

use crate::failure::{CommandFailure, Reason};
use crate::files;
use failures::StoreRequest;
use receive::{Transfer, receive, text};

/// How long an operation on a small object may take in total.
const SHORT: Duration = Duration::from_secs(180);
/// How long the removal of all objects below a prefix may take.
const LONG: Duration = Duration::from_secs(3600);
/// The size of a part of an upload, in bytes: the smallest that S3 and Google Cloud Storage allow.
const PART: u64 = 5 * 1024 * 1024;
/// How many parts an upload may have, a little below S3's limit of 10,000.
const PARTS: u64 = 9_000;
/// How many descriptions are read at once.
const READS: usize = 8;
/// The user metadata of an object that says whose it is; Azure allows identifiers only.
const OWNER: Attribute = Attribute::Metadata(Cow::Borrowed("multi-operator-owner"));
const OWNER_IN_AZURE: Attribute = Attribute::Metadata(Cow::Borrowed("multi_operator_owner"));

/// A bucket, and the key that the command names.
pub(crate) struct Bucket {
    store: Box<dyn ObjectStore>,
    api: StoreApi,
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
        let store = open::store(args, name)?;
        let failed = |error: String| CommandFailure::new(Reason::ToolFailed, format!("the bucket {name}: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(error.to_string()))?;
        Ok(Some(Self { store, api: args.bucket_api, runtime, name: name.to_owned(), key: key.to_owned() }))
    }

    /// The key that the command names.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// An object, as `path` in the spec names it: BUCKET/KEY.
    pub(crate) fn path(&self, key: &str) -> String {
        format!("{}/{key}", self.name)
    }

    /// An object, as messages name it.
    pub(crate) fn url(&self, key: &str) -> String {
        self.request("", key).object()
    }

    fn owner_attribute(&self) -> Attribute {
        if self.api == StoreApi::Abs { OWNER_IN_AZURE } else { OWNER }
    }

    fn attributes(&self, owner: &str) -> Attributes {
        Attributes::from_iter([(self.owner_attribute(), owner.to_owned())])
    }

    fn request<'a>(&'a self, what: &'static str, key: &'a str) -> StoreRequest<'a> {
        StoreRequest { api: self.api, what, bucket: &self.name, key }
    }

    /// Whose an object is; `None` if there is no object, and an empty text if it says nothing.
    pub(crate) fn owner(&self, key: &str) -> Result<Option<String>, CommandFailure> {
        let at = Key::from(key);
        let head = self.store.get_opts(&at, GetOptions { head: true, ..GetOptions::default() });
        let found = self.wait("read", key, SHORT, head)?;
        Ok(found.map(|object| {
            object.attributes.get(&self.owner_attribute()).map_or_else(String::new, |owner| owner.to_string())
        }))
    }

    /// A small object; `None` if there is no such object, or it is no text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, CommandFailure> {
        Ok(self.wait("read", key, SHORT, text(&*self.store, key))?.flatten())
    }

    /// Small objects, in the same order.
    pub(crate) fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, CommandFailure> {
        let reads = futures::stream::iter(keys.iter().map(|key| async {
            match text(&*self.store, key).await {
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
        let options = PutOptions { attributes: self.attributes(owner), ..PutOptions::default() };
        let at = Key::from(key);
        self.must("written", key, SHORT, self.store.put_opts(&at, text.into_bytes().into(), options)).map(drop)
    }

    /// The keys that begin with a prefix, in order.
    pub(crate) fn keys(&self, prefix: &str) -> Result<Vec<String>, CommandFailure> {
        let above = prefix.rsplit_once('/').map(|(above, _)| Key::from(above));
        let listed = self.store.list_with_offset(above.as_ref(), &Key::from(prefix));
        let keys = listed
            .map_ok(|object| object.location.to_string())
            // A store that does not know offsets lists all objects.
            .try_skip_while(|key| std::future::ready(Ok(key.as_str() < prefix)))
            .try_take_while(|key| std::future::ready(Ok(key.starts_with(prefix))))
            .try_collect();
        Ok(self.wait("listed", prefix, SHORT, keys)?.unwrap_or_default())
    }

    /// The keys of the objects directly below a prefix, in order.
    pub(crate) fn children(&self, prefix: &str) -> Result<Vec<String>, CommandFailure> {
        let below = Key::from(prefix);
        let listed = self.wait("listed", prefix, SHORT, self.store.list_with_delimiter(Some(&below)))?;
        let mut keys: Vec<String> =
            listed.into_iter().flat_map(|listed| listed.objects).map(|object| object.location.to_string()).collect();
        keys.sort();
        Ok(keys)
    }

    /// The sizes of all objects below a prefix, in bytes, by key.
    pub(crate) fn sizes(&self, prefix: &str) -> Result<BTreeMap<String, u64>, CommandFailure> {
        let below = Key::from(prefix);
        let listed = self.store.list(Some(&below));
        let sizes = listed.map_ok(|object| (object.location.to_string(), object.size)).try_collect();
        Ok(self.wait("listed", prefix, SHORT, sizes)?.unwrap_or_default())
    }

    /// Removes all objects below a prefix.
    pub(crate) fn remove_below(&self, prefix: &str) -> Result<(), CommandFailure> {
        let below = Key::from(prefix);
        let keys = self.store.list(Some(&below)).map_ok(|object| object.location).boxed();
        let removed = self.store.delete_stream(keys).map(ignore_missing).try_collect::<()>();
        self.wait("removed", prefix, LONG, removed).map(drop)
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
        let part_bytes = part_bytes(total);
        if total <= part_bytes {
            let options = PutOptions { attributes: self.attributes(owner), ..PutOptions::default() };
            let bytes = fs::read(file).map_err(unreadable)?;
            let at = Key::from(key);
            return self.must("written", key, timeout, self.store.put_opts(&at, bytes.into(), options)).map(drop);
        }
        let mut progress = Transfer::new("uploaded", total);
        let deadline = Instant::now() + timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        let options = PutMultipartOptions { attributes: self.attributes(owner), ..PutMultipartOptions::default() };
        let mut upload = self.must("written", key, left(), self.store.put_multipart_opts(&Key::from(key), options))?;
        let mut sent = || -> Result<(), CommandFailure> {
            loop {
                let mut part = Vec::new();
                (&from).take(part_bytes).read_to_end(&mut part).map_err(unreadable)?;
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
        self.wait("read", key, timeout, receive(&*self.store, key, None)).map(|found| found.and_then(Result::ok))
    }

    /// Downloads an object into a file; `false` if there is none.
    pub(crate) fn download(&self, key: &str, to: &Path, timeout: Duration) -> Result<bool, CommandFailure> {
        let unwritable = |error| files::failed("written", to, &error, Reason::ToolFailed);
        let mut file = File::create(to).map_err(unwritable)?;
        match self.wait("read", key, timeout, receive(&*self.store, key, Some(&mut file)))? {
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
        let of = self.request(what, key);
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
        done.ok_or_else(|| self.request(what, key).vanished())
    }
}

/// The size of the parts of an object with that many bytes.
fn part_bytes(total: u64) -> u64 {
    PART.max(total.div_ceil(PARTS))
}

fn ignore_missing(removed: object_store::Result<Key>) -> object_store::Result<()> {
    match removed {
        Err(object_store::Error::NotFound { .. }) => Ok(()),
        removed => removed.map(drop),
    }
}
