//! `agent pg-download`: copies a snapshot from an object store to a volume.

use std::fs;
use std::path::Path;
use std::time::Instant;

use agent_protocol::{PgDownload, PgDownloadResult, PgDumpResult};

use super::description::{self, SnapshotDescription};
use super::open;
use super::transfer::{self, FILE_TIMEOUT};
use crate::bucket::Bucket;
use crate::failure::{CommandFailure, Reason};
use crate::files::{self, FileEntry};
use crate::postgres::backup::manifest::{self, SnapshotManifest};
use crate::postgres::backup::snapshot::{self, StagedSnapshot};
use crate::postgres::backup::volume;
use crate::postgres::timed::seconds;

/// How many messages about what a snapshot lacks are reported.
const NOT_COVERED: usize = 3;

pub(crate) fn download(options: &PgDownload) -> Result<PgDownloadResult, CommandFailure> {
    let since = Instant::now();
    let bucket = open(&options.bucket)?;
    let staged = StagedSnapshot::reserve(&options.to)?;
    let present = staged.finished();
    let begun = present.as_ref().and_then(|of| of.sha256.clone()).or_else(|| staged.begun());
    let (key, described) = choose(&bucket, begun.as_deref())?;
    eprintln!("downloading {} of PostgreSQL {}", bucket.url(&key), described.engine_version);
    let present = present.filter(|of| of.sha256.as_deref() == Some(&described.sha256));
    let snapshot = match present {
        Some(present) => present,
        None => fetch(options, &bucket, &staged, &key, &described).map_err(|failure| match failure.reason() {
            // What was downloaded so far would keep the volume full.
            Reason::NoSpace => staged.abort(failure),
            _ => failure,
        })?,
    };
    let not_covered = snapshot.not_covered.iter().take(NOT_COVERED).cloned().collect();
    Ok(PgDownloadResult {
        // A termination message has no room for all of it, and the path.
        snapshot: PgDumpResult { seconds: seconds(since), remarks: Vec::new(), not_covered, ..snapshot },
        from: bucket.path(&key),
        database: described.database,
        verified: described.verified,
    })
}

/// The snapshot at the path; or, of those below it, the one that an earlier run has begun with, or the newest.
fn choose(bucket: &Bucket, begun: Option<&str>) -> Result<(String, SnapshotDescription), CommandFailure> {
    let key = bucket.key();
    if let Some(text) = bucket.text(&description::of(key))? {
        let described = SnapshotDescription::parse(&text).map_err(|why| {
            CommandFailure::new(Reason::Corrupt, format!("{} is no snapshot: {why}", bucket.url(key)))
        })?;
        return Ok((key.to_owned(), described));
    }
    let mut keys = bucket.children(key)?;
    keys.retain(|found| description::described(found).is_some() && *found != description::owner(key));
    let texts = bucket.texts(&keys)?;
    let all = described(bucket, &keys, texts)?;
    let same = all.iter().find(|(_, described)| begun == Some(&described.sha256)).cloned();
    same.or_else(|| description::newest(all)).ok_or_else(|| {
        let message = format!(
            "there is no snapshot at {}, and none below it: name the path of a snapshot, or the prefix of a database",
            bucket.url(key)
        );
        CommandFailure::new(Reason::SnapshotMissing, message)
    })
}

/// The snapshots among these objects. One of a later agent may be the newest, so that none is chosen in its place.
fn described(
    bucket: &Bucket,
    keys: &[String],
    texts: Vec<Option<String>>,
) -> Result<Vec<(String, SnapshotDescription)>, CommandFailure> {
    let mut all = Vec::new();
    for (key, text) in keys.iter().zip(texts) {
        let (Some(snapshot), Some(text)) = (description::described(key), text) else { continue };
        match SnapshotDescription::parse(&text) {
            Ok(described) => all.push((snapshot.to_owned(), described)),
            Err(why) if SnapshotDescription::is_later(&text) => {
                let message = format!("{}: {why}: name the path of another snapshot", bucket.url(snapshot));
                return Err(CommandFailure::new(Reason::Corrupt, message));
            }
            Err(why) => eprintln!("{} is no snapshot: {why}", bucket.url(snapshot)),
        }
    }
    Ok(all)
}

fn fetch(
    options: &PgDownload,
    bucket: &Bucket,
    staged: &StagedSnapshot,
    key: &str,
    described: &SnapshotDescription,
) -> Result<PgDumpResult, CommandFailure> {
    let directory = staged.resumed(&described.sha256)?;
    let manifest = fetch_manifest(bucket, directory, key, described)?;
    refuse_to_fill(options, directory, &manifest)?;
    for path in &described.directories {
        create(&directory.join(path))?;
    }
    transfer::each(&options.bucket, &manifest.files, |bucket, file| fetch_file(bucket, directory, key, file))?;
    files::sync_directories(directory)
        .map_err(|error| files::failed("synced", directory, &error, Reason::ToolFailed))?;
    staged.publish()?;
    Ok(staged.result(&manifest, &described.sha256, false))
}

/// Fails if the volume has no room for what is missing: an attempt would fill it, and others write to it.
fn refuse_to_fill(options: &PgDownload, directory: &Path, manifest: &SnapshotManifest) -> Result<(), CommandFailure> {
    let present = |file: &FileEntry| fs::metadata(directory.join(&file.path)).map_or(0, |found| found.len());
    let missing: u64 = manifest.files.iter().map(|file| file.bytes.saturating_sub(present(file))).sum();
    match volume::measure(&options.to).free_bytes.and_then(|free| u64::try_from(free).ok()) {
        Some(free) if free < missing => {
            let message = format!(
                "No space left on device: {} MiB of the snapshot are missing, and the volume has {} MiB",
                missing.div_ceil(1 << 20),
                free >> 20
            );
            Err(CommandFailure::new(Reason::NoSpace, message))
        }
        _ => Ok(()),
    }
}

/// The manifest decides about all other files: it must be the one that the description names.
fn fetch_manifest(
    bucket: &Bucket,
    directory: &Path,
    key: &str,
    described: &SnapshotDescription,
) -> Result<SnapshotManifest, CommandFailure> {
    let object = description::file(key, manifest::FILE);
    let path = directory.join(manifest::FILE);
    let present = snapshot::read(directory, Some(&described.sha256)).is_ok();
    if !present && !bucket.download(&object, &path, FILE_TIMEOUT)? {
        return Err(missing(bucket, &object));
    }
    let (manifest, _) = snapshot::read(directory, Some(&described.sha256))?;
    match manifest.files.iter().find(|file| !description::is_below(&file.path)) {
        Some(file) => {
            let message = format!("the manifest names {}, which is outside of the snapshot", file.path);
            Err(CommandFailure::new(Reason::Corrupt, message))
        }
        None => Ok(manifest),
    }
}

fn fetch_file(bucket: &Bucket, directory: &Path, key: &str, file: &FileEntry) -> Result<bool, CommandFailure> {
    if snapshot::check_file(directory, file).is_ok() {
        return Ok(false);
    }
    let path = directory.join(&file.path);
    create(path.parent().unwrap_or(directory))?;
    let object = description::file(key, &file.path);
    if !bucket.download(&object, &path, FILE_TIMEOUT)? {
        return Err(missing(bucket, &object));
    }
    snapshot::check_file(directory, file).map(|()| true)
}

fn create(directory: &Path) -> Result<(), CommandFailure> {
    fs::create_dir_all(directory).map_err(|error| files::failed("created", directory, &error, Reason::ToolFailed))
}

fn missing(bucket: &Bucket, key: &str) -> CommandFailure {
    CommandFailure::new(Reason::FileMissing, format!("{} is missing in the store", bucket.url(key)))
}
