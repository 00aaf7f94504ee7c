//! Receives objects, and logs the progress of transfers.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use futures::{TryStream, TryStreamExt as _};
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _};
use sha2::{Digest as _, Sha256};

use crate::files::hexadecimal;

/// The largest description, in bytes; a larger object is none.
const LARGEST_TEXT: u64 = 64 * 1024;
/// How long an object may stop to arrive.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);
/// How often the progress of a transfer is logged.
const PROGRESS: Duration = Duration::from_secs(30);
/// The smallest object whose transfer is logged, in bytes.
const LOGGED: u64 = 16 << 20;

/// A small object; `None` if it is no text.
pub(super) async fn text(store: &dyn ObjectStore, key: &str) -> object_store::Result<Option<String>> {
    let object = store.get(&Key::from(key)).await?;
    if object.meta.size > LARGEST_TEXT {
        return Ok(None);
    }
    Ok(String::from_utf8(object.bytes().await?.into()).ok())
}

/// Receives an object, into a file if there is one. The inner error is that of the file.
pub(super) async fn receive(
    store: &dyn ObjectStore,
    key: &str,
    mut file: Option<&mut File>,
) -> object_store::Result<std::io::Result<(u64, String)>> {
    let object = store.get(&Key::from(key)).await?;
    let mut progress = Transfer::new(if file.is_some() { "downloaded" } else { "read back" }, object.meta.size);
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut chunks = object.into_stream();
    while let Some(chunk) = next_of(&mut chunks).await? {
        if let Some(Err(error)) = file.as_mut().map(|file| file.write_all(&chunk)) {
            return Ok(Err(error));
        }
        hash.update(&chunk);
        bytes += chunk.len() as u64;
        progress.add(chunk.len() as u64);
    }
    Ok(Ok((bytes, hexadecimal(&hash.finalize()))))
}

/// The next bytes of an object. A connection that was dropped without a word would never deliver any.
async fn next_of<T>(
    chunks: &mut (impl TryStream<Ok = T, Error = object_store::Error> + Unpin),
) -> object_store::Result<Option<T>> {
    let next = tokio::time::timeout(LONGEST_SILENCE, chunks.try_next()).await;
    next.unwrap_or_else(|elapsed| Err(object_store::Error::Generic { store: "store", source: Box::new(elapsed) }))
}

/// The progress of a transfer, in the log.
pub(super) struct Transfer {
    what: &'static str,
    bytes: u64,
    total: u64,
    logged: Instant,
}

impl Transfer {
    pub(super) fn new(what: &'static str, total: u64) -> Self {
        Self { what, bytes: 0, total, logged: Instant::now() }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        let ends = self.bytes == self.total && self.total >= LOGGED;
        if self.logged.elapsed() >= PROGRESS || ends {
            eprintln!("{} {} of {} MiB", self.what, self.bytes >> 20, self.total >> 20);
            self.logged = Instant::now();
        }
    }
}
