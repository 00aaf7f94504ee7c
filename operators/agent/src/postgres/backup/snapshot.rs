//! A snapshot's directory: created under another name, and renamed when all of it is on the disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent_protocol::{PgDumpResult, count};

use crate::failure::{CommandFailure, Reason, in_short};
use crate::files::{self, FileEntry};
use crate::lock::{self, LockPolicy};
use crate::postgres::backup::manifest::{self, SnapshotManifest};
use crate::postgres::backup::volume;

/// How long an earlier run may take to exit.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// A snapshot in progress, under a lock: no other command creates or removes it meanwhile.
pub(crate) struct StagedSnapshot {
    target: PathBuf,
    partial: PathBuf,
    _lock: File,
}

pub(crate) fn with_suffix(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    target.with_file_name(name)
}

pub(crate) fn lock_of(target: &Path) -> PathBuf {
    target.with_file_name(format!(".{}.lock", target.file_name().unwrap_or_default().to_string_lossy()))
}

impl StagedSnapshot {
    pub(crate) fn reserve(target: &Path) -> Result<Self, CommandFailure> {
        let above = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(|error| files::failed("created", above, &error, Reason::BadInput))?;
        let lock = lock::take(&lock_of(target), LOCK_TIMEOUT, LockPolicy::BestEffort)?;
        Ok(Self { target: target.to_owned(), partial: with_suffix(target, ".partial"), _lock: lock })
    }

    /// The result of an earlier run, if the snapshot exists and is intact.
    pub(crate) fn finished(&self) -> Option<PgDumpResult> {
        let (manifest, sha256) = read(&self.target, None).ok()?;
        match check_files(&self.target, &manifest) {
            Ok(()) => Some(self.result(&manifest, &sha256, true)),
            Err(failure) => {
                eprintln!("{} exists but is damaged; taking it again: {}", self.target.display(), failure.message());
                None
            }
        }
    }

    /// An empty directory to put the snapshot into.
    pub(crate) fn directory(&self) -> Result<&Path, CommandFailure> {
        files::remove(&self.partial)
            .and_then(|()| files::create_private(&self.partial))
            .map_err(|error| files::failed("created", &self.partial, &error, Reason::ToolFailed))?;
        Ok(&self.partial)
    }

    /// Completes the manifest, and renames the directory.
    pub(crate) fn commit(&self, mut manifest: SnapshotManifest) -> Result<PgDumpResult, CommandFailure> {
        let failed = |error: io::Error| files::failed("completed", &self.partial, &error, Reason::ToolFailed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        manifest.completed_at = now.map(|since| since.as_secs()).unwrap_or(0);
        manifest.files = files::entries(&self.partial).map_err(failed)?;
        let text = serde_json::to_string_pretty(&manifest).map_err(|error| failed(error.into()))?;
        files::write(&self.partial.join(manifest::FILE), &text).map_err(failed)?;
        self.publish()?;
        Ok(self.result(&manifest, &files::sha256(text.as_bytes()), false))
    }

    /// The directory with what an earlier run has downloaded of the snapshot whose manifest has that SHA-256; else an empty one.
    pub(crate) fn resumed(&self, sha256: &str) -> Result<&Path, CommandFailure> {
        match read(&self.partial, Some(sha256)) {
            Ok(_) => Ok(&self.partial),
            Err(_) => self.directory(),
        }
    }

    /// The SHA-256 of the manifest of the snapshot that an earlier run has begun to download.
    pub(crate) fn begun(&self) -> Option<String> {
        read(&self.partial, None).ok().map(|(_, sha256)| sha256)
    }

    /// Gives the directory its name, in place of a damaged one.
    pub(crate) fn publish(&self) -> Result<(), CommandFailure> {
        let failed = |error: io::Error| files::failed("completed", &self.partial, &error, Reason::ToolFailed);
        let damaged = with_suffix(&self.target, ".removed");
        let moved = files::remove(&damaged)
            .and_then(|()| if self.target.exists() { fs::rename(&self.target, &damaged) } else { Ok(()) })
            .and_then(|()| fs::rename(&self.partial, &self.target))
            .and_then(|()| files::sync_directory(self.target.parent().unwrap_or(Path::new("/"))))
            .and_then(|()| files::remove(&damaged));
        moved.map_err(failed)
    }

    /// Removes the unfinished snapshot: it may take all the space on the volume.
    pub(crate) fn abort(&self, failure: CommandFailure) -> CommandFailure {
        if let Err(error) = files::remove(&self.partial) {
            eprintln!("{} cannot be removed: {error}", self.partial.display());
        }
        failure
    }

    pub(crate) fn result(&self, manifest: &SnapshotManifest, sha256: &str, reused: bool) -> PgDumpResult {
        PgDumpResult {
            name: self.target.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            kind: manifest.kind.word().to_owned(),
            bytes: Some(count(manifest.bytes())),
            files: count(manifest.files.len()),
            sha256: Some(sha256.to_owned()),
            engine_version: Some(manifest.engine_version.clone()),
            system_identifier: Some(manifest.system_identifier.clone()),
            schema_version: manifest.databases.iter().find_map(|database| database.schema_version.clone()),
            databases: count(manifest.databases.len()),
            database_names: Some(manifest.names()),
            not_covered: manifest.not_covered_in_short(),
            remarks: in_short(&manifest.remarks, 3, 150),
            tables: Some(count(manifest.tables())),
            rows: Some(count(manifest.rows())),
            completed_at: Some(count(manifest.completed_at)),
            reused,
            volume: volume::measure(&self.target),
            // The caller sets it.
            seconds: 0.0,
        }
    }
}

/// A snapshot's manifest and the SHA-256 of its file, which must be `expected` if that is given.
pub(crate) fn read(target: &Path, expected: Option<&str>) -> Result<(SnapshotManifest, String), CommandFailure> {
    let path = target.join(manifest::FILE);
    if !target.exists() {
        return Err(CommandFailure::new(
            Reason::SnapshotMissing,
            format!("snapshot {} does not exist", target.display()),
        ));
    }
    let text = fs::read(&path).map_err(|error| files::failed("read", &path, &error, Reason::Corrupt))?;
    let sha256 = files::sha256(&text);
    if expected.is_some_and(|expected| !expected.eq_ignore_ascii_case(&sha256)) {
        return Err(CommandFailure::new(
            Reason::ChecksumMismatch,
            format!("{} differs from what the agent wrote", path.display()),
        ));
    }
    let manifest = SnapshotManifest::parse(&text).map_err(|why| CommandFailure::new(Reason::Corrupt, why))?;
    Ok((manifest, sha256))
}

/// Checks that all files are as they were written.
pub(crate) fn check_files(target: &Path, manifest: &SnapshotManifest) -> Result<(), CommandFailure> {
    manifest.files.iter().try_for_each(|entry| check_file(target, entry))
}

/// Checks that a file is as it was written.
pub(crate) fn check_file(target: &Path, entry: &FileEntry) -> Result<(), CommandFailure> {
    let path = target.join(&entry.path);
    let wrong = |reason, how: String| Err(CommandFailure::new(reason, format!("{} {how}", entry.path)));
    let bytes = match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return wrong(Reason::FileMissing, "is missing".into());
        }
        metadata => metadata.map_err(|error| files::failed("read", &path, &error, Reason::Corrupt))?.len(),
    };
    if bytes < entry.bytes {
        return wrong(Reason::Truncated, format!("has {bytes} bytes instead of {}", entry.bytes));
    }
    let (_, sha256) =
        files::digest(&path, false).map_err(|error| files::failed("read", &path, &error, Reason::Corrupt))?;
    if sha256 != entry.sha256 {
        return wrong(Reason::ChecksumMismatch, format!("has changed: its SHA-256 is not {}", entry.sha256));
    }
    Ok(())
}
