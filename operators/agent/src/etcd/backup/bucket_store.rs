//! The store that is a bucket of an object store. A snapshot is written to a local directory, uploaded once it is verified, and read back
//! before the object exists that describes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_protocol::{EtcdTakeBackup, StoredBackup};

use super::bucket_keys;
use super::store::{BackupDirectory, BackupStore, Manifest, newest_first};
use crate::bucket::Bucket;
use crate::failure::{CommandFailure, Reason};

/// A bucket with backups, of which one is being taken.
pub(super) struct BucketStore {
    bucket: Bucket,
    /// Where the snapshot is written before it is uploaded.
    local: BackupDirectory,
    owner: String,
    versioned: bool,
    timeout: Duration,
}

impl BucketStore {
    pub(super) fn new(bucket: Bucket, options: &EtcdTakeBackup) -> Result<Self, CommandFailure> {
        let local = BackupDirectory::open(&options.to, &options.owner)?;
        let (owner, versioned) = (options.owner.clone(), options.versioned);
        Ok(Self { bucket, local, owner, versioned, timeout: *options.timeout })
    }

    /// The descriptions of this owner's snapshots whose keys are chosen, with those keys.
    fn described(&self, chosen: impl Fn(&str) -> bool) -> Result<Vec<(String, Manifest)>, CommandFailure> {
        let mut keys = self.bucket.keys(&bucket_keys::versions(self.bucket.key()))?;
        keys.push(bucket_keys::description(self.bucket.key()));
        keys.retain(|key| bucket_keys::described(key).is_some_and(&chosen));
        let texts = self.bucket.texts(&keys)?;
        let manifests = keys.iter().zip(texts).filter_map(|(key, text)| {
            let manifest: Manifest = serde_json::from_str(&text?).ok()?;
            Some((bucket_keys::described(key)?.to_owned(), manifest))
        });
        Ok(manifests.filter(|(_, manifest)| manifest.owner == self.owner).collect())
    }

    /// Fails if an object has that key that this owner has not written.
    fn refuse_foreign(&self, key: &str) -> Result<(), CommandFailure> {
        for key in [key.to_owned(), bucket_keys::description(key)] {
            let owner = self.bucket.owner(&key)?.filter(|owner| *owner != self.owner);
            if let Some(owner) = owner {
                let whose = match owner.is_empty() {
                    true => "no EtcdBackup has written it".to_owned(),
                    false => format!("another EtcdBackup has written it (UID {owner})"),
                };
                let url = self.bucket.url(&key);
                let message = format!("{url} exists, and {whose}: choose another path, or delete that object");
                return Err(CommandFailure::new(Reason::BadInput, message));
            }
        }
        Ok(())
    }

    /// Uploads a snapshot, and checks what the store has then.
    fn upload(&self, snapshot: &Path, key: &str, backup: &StoredBackup) -> Result<(), CommandFailure> {
        eprintln!("uploading the snapshot to {}", self.bucket.url(key));
        self.bucket.upload(snapshot, key, &self.owner, self.timeout)?;
        let found = self.bucket.digest(key, self.timeout)?;
        if found.as_ref().is_some_and(|(_, sha256)| *sha256 == backup.sha256) {
            return Ok(());
        }
        let has = found.map_or("no such object".to_owned(), |(bytes, sha256)| format!("{bytes} bytes with {sha256}"));
        let message = format!(
            "{} is not as it was uploaded: {} bytes with the SHA-256 {}, and the store has {has}",
            self.bucket.url(key),
            backup.bytes,
            backup.sha256
        );
        Err(CommandFailure::new(Reason::ChecksumMismatch, message))
    }
}

impl BackupStore for BucketStore {
    fn name(&self) -> &str {
        self.local.name()
    }

    fn complete(&self) -> Result<Option<StoredBackup>, CommandFailure> {
        let key = self.bucket.key();
        let is_it = |snapshot: &str| match self.versioned {
            true => bucket_keys::is_version(snapshot, key, self.name()),
            false => snapshot == key,
        };
        let found = self.described(is_it)?;
        if !self.versioned {
            self.refuse_foreign(key)?;
        }
        for (snapshot, manifest) in found {
            match self.bucket.digest(&snapshot, self.timeout)? {
                Some((_, sha256)) if sha256 == manifest.backup.sha256 => return Ok(Some(manifest.backup)),
                _ => eprintln!("{} is not as it was uploaded", self.bucket.url(&snapshot)),
            }
        }
        Ok(None)
    }

    fn begin(&self) -> Result<PathBuf, CommandFailure> {
        self.local.begin()
    }

    fn complete_with(&self, mut manifest: Manifest) -> Result<StoredBackup, CommandFailure> {
        let version = self.versioned.then_some((manifest.backup.revision, self.name()));
        let key = bucket_keys::snapshot(self.bucket.key(), version);
        self.refuse_foreign(&key)?;
        let snapshot = self.local.partial();
        self.upload(&snapshot, &key, &manifest.backup)?;
        manifest.backup.path = Some(self.bucket.path(&key));
        self.bucket.write(&bucket_keys::description(&key), manifest.to_text()?, &self.owner)?;
        self.discard();
        Ok(manifest.backup)
    }

    fn discard(&self) {
        self.local.discard();
    }

    fn owned(&self) -> Result<Vec<StoredBackup>, CommandFailure> {
        let described = self.described(|_| true)?;
        let mut all: Vec<StoredBackup> = described.into_iter().map(|(_, manifest)| manifest.backup).collect();
        newest_first(&mut all);
        Ok(all)
    }

    fn remove(&self, backup: &StoredBackup) -> Result<(), CommandFailure> {
        let path = backup.path.as_deref().unwrap_or_default();
        let Some((_, key)) = path.split_once('/') else { return Ok(()) };
        // The description goes last: without it, nothing would say what the object is.
        self.bucket.remove(key)?;
        self.bucket.remove(&bucket_keys::description(key))
    }
}
