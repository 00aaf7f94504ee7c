//! `agent pg-upload`: copies a snapshot to an object store.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use agent_protocol::{PgUpload, PgUploadResult, count};

use super::description::{self, PrefixOwner, SnapshotDescription};
use super::open;
use super::transfer::{self, FILE_TIMEOUT};
use crate::bucket::Bucket;
use crate::failure::{CommandFailure, Reason};
use crate::files::{self, FileEntry};
use crate::postgres::backup::manifest::{self, SnapshotManifest};
use crate::postgres::backup::snapshot;
use crate::postgres::timed::seconds;

pub(crate) fn upload(options: &PgUpload) -> Result<PgUploadResult, CommandFailure> {
    let since = Instant::now();
    let (manifest, sha256) = snapshot::read(&options.snapshot, options.sha256.as_deref())?;
    let bucket = open(&options.bucket)?;
    claim_prefix(&bucket, options)?;
    let name = options.snapshot.file_name().unwrap_or_default().to_string_lossy();
    let key = description::key(bucket.key(), &name);
    eprintln!("uploading {} files to {}", manifest.files.len() + 1, bucket.url(&key));
    let files = with_manifest(&options.snapshot, &manifest, &sha256)?;
    let uploaded = upload_files(options, &bucket, &key, &files)?;
    let described = describe(options, &manifest, sha256)?;
    // Another database may have claimed it at the same time.
    claim_prefix(&bucket, options)?;
    bucket.write(&description::of(&key), described.to_text(), &options.owner)?;
    Ok(PgUploadResult {
        path: bucket.path(&key),
        files: count(files.len()),
        bytes: count(files.iter().map(|file| file.bytes).sum::<u64>()),
        uploaded: count(uploaded),
        seconds: seconds(since),
    })
}

/// Marks the prefix as that of this database, and fails if it belongs to another one.
fn claim_prefix(bucket: &Bucket, options: &PgUpload) -> Result<(), CommandFailure> {
    let own = PrefixOwner { uid: options.owner.clone(), name: options.owner_name.clone() };
    let key = description::owner(bucket.key());
    let read = || -> Result<Option<PrefixOwner>, CommandFailure> {
        let Some(text) = bucket.text(&key)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            let url = bucket.url(&key);
            CommandFailure::new(Reason::BadInput, format!("{url} does not say whose the prefix is: {error}"))
        })
    };
    let refuse_foreign = |found: &PrefixOwner| {
        if found.uid == own.uid || options.earlier_owners.contains(&found.uid) {
            return Ok(());
        }
        let message = format!(
            "{} belongs to another database, the SampleDB {} (UID {}): name another prefix, or delete {} if that database \
             is gone for good",
            bucket.url(bucket.key()),
            found.name,
            found.uid,
            bucket.url(&key)
        );
        Err(CommandFailure::new(Reason::BadInput, message))
    };
    let found = read()?;
    if let Some(found) = &found {
        refuse_foreign(found)?;
    }
    if found.as_ref() != Some(&own) {
        let text = serde_json::to_string_pretty(&own).unwrap_or_default();
        bucket.write(&key, text, &own.uid)?;
        read()?.as_ref().map_or(Ok(()), refuse_foreign)?;
    }
    Ok(())
}

/// The files of a snapshot, and its manifest.
fn with_manifest(snapshot: &Path, manifest: &SnapshotManifest, sha256: &str) -> Result<Vec<FileEntry>, CommandFailure> {
    let path = snapshot.join(manifest::FILE);
    let bytes = path.metadata().map_err(|error| files::failed("read", &path, &error, Reason::FileMissing))?.len();
    let manifest_file = FileEntry { path: manifest::FILE.to_owned(), bytes, sha256: sha256.to_owned() };
    Ok(manifest.files.iter().cloned().chain([manifest_file]).collect())
}

fn upload_files(
    options: &PgUpload,
    bucket: &Bucket,
    snapshot: &str,
    files: &[FileEntry],
) -> Result<usize, CommandFailure> {
    let stored: BTreeMap<String, u64> = bucket.sizes(&format!("{snapshot}/"))?;
    transfer::each(&options.bucket, files, |bucket, file| {
        let key = description::file(snapshot, &file.path);
        let is_right = || Ok(bucket.digest(&key, FILE_TIMEOUT)?.is_some_and(|(_, sha256)| sha256 == file.sha256));
        if stored.get(&key) == Some(&file.bytes) && is_right()? {
            return Ok(false);
        }
        let path = options.snapshot.join(&file.path);
        bucket.upload(&path, &key, &options.owner, FILE_TIMEOUT)?;
        if is_right()? {
            return Ok(true);
        }
        // The file may have changed on the volume, or on its way.
        snapshot::check_file(&options.snapshot, file)?;
        let message = format!("{} is not as it was uploaded: its SHA-256 is not {}", bucket.url(&key), file.sha256);
        Err(CommandFailure::new(Reason::ChecksumMismatch, message))
    })
}

fn describe(
    options: &PgUpload,
    manifest: &SnapshotManifest,
    sha256: String,
) -> Result<SnapshotDescription, CommandFailure> {
    let unreadable = |error| files::failed("read", &options.snapshot, &error, Reason::ToolFailed);
    Ok(SnapshotDescription {
        sample_db: options.owner_name.clone(),
        database: options.database.clone(),
        engine_version: manifest.engine_version.clone(),
        completed_at: manifest.completed_at,
        sha256,
        verified: options.verified,
        directories: files::empty_directories(&options.snapshot).map_err(unreadable)?,
        ..SnapshotDescription::default()
    })
}
