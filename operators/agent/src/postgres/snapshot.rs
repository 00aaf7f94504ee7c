//! A snapshot's folder: made beside its place, and moved there when all of it is on the disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::files::{self, FileEntry};
use super::lock::{self, Without};
use super::manifest::{self, Manifest};
use super::volume;
use crate::failure::{Failure, Reason, in_short};

/// A run of before may be ending.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where a snapshot is going to be. Nobody else makes or removes it meanwhile.
pub(crate) struct Slot {
    target: PathBuf,
    partial: PathBuf,
    _lock: File,
}

/// A name that is one folder, and none of the agent's own.
pub(crate) fn plain_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let own = [".partial", ".removed"].iter().any(|suffix| name.ends_with(suffix));
    !name.is_empty() && !name.starts_with('.') && name.chars().all(allowed) && !own
}

pub(crate) fn with_suffix(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    target.with_file_name(name)
}

pub(crate) fn lock_of(target: &Path) -> PathBuf {
    target.with_file_name(format!(".{}.lock", target.file_name().unwrap_or_default().to_string_lossy()))
}

impl Slot {
    pub(crate) fn take(target: &Path) -> Result<Self, Failure> {
        let above = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(|error| files::failed("made", above, &error, Reason::BadInput))?;
        let lock = lock::take(&lock_of(target), PATIENCE, Without::GoOn)?;
        Ok(Self { target: target.to_owned(), partial: with_suffix(target, ".partial"), _lock: lock })
    }

    /// The result of a run of before, if the snapshot is there and nothing of it has changed.
    pub(crate) fn finished(&self) -> Option<Value> {
        let (manifest, sha256) = read(&self.target, None).ok()?;
        match check_files(&self.target, &manifest) {
            Ok(()) => Some(self.result(&manifest, &sha256, true)),
            Err(failure) => {
                eprintln!("{} is there and damaged, so it is made again: {}", self.target.display(), failure.message());
                None
            }
        }
    }

    /// An empty folder to put the snapshot into.
    pub(crate) fn folder(&self) -> Result<&Path, Failure> {
        files::remove(&self.partial)
            .and_then(|()| files::make_private(&self.partial))
            .map_err(|error| files::failed("made", &self.partial, &error, Reason::ToolFailed))?;
        Ok(&self.partial)
    }

    /// Completes the manifest, and moves the folder to its place.
    pub(crate) fn finish(&self, mut manifest: Manifest) -> Result<Value, Failure> {
        let failed = |error: io::Error| files::failed("completed", &self.partial, &error, Reason::ToolFailed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        manifest.completed_at = now.map(|since| since.as_secs()).unwrap_or(0);
        manifest.files = files::entries(&self.partial).map_err(failed)?;
        let text = serde_json::to_string_pretty(&manifest).map_err(|error| failed(error.into()))?;
        files::write(&self.partial.join(manifest::FILE), &text).map_err(failed)?;
        let damaged = with_suffix(&self.target, ".removed");
        let moved = files::remove(&damaged)
            .and_then(|()| if self.target.exists() { fs::rename(&self.target, &damaged) } else { Ok(()) })
            .and_then(|()| fs::rename(&self.partial, &self.target))
            .and_then(|()| files::sync_folder(self.target.parent().unwrap_or(Path::new("/"))))
            .and_then(|()| files::remove(&damaged));
        moved.map_err(failed)?;
        Ok(self.result(&manifest, &files::sha256(text.as_bytes()), false))
    }

    /// The room that an unfinished one takes may be all there is.
    pub(crate) fn give_up(&self, failure: Failure) -> Failure {
        if let Err(error) = files::remove(&self.partial) {
            eprintln!("{} cannot be removed: {error}", self.partial.display());
        }
        failure
    }

    fn result(&self, manifest: &Manifest, sha256: &str, reused: bool) -> Value {
        let result = json!({
            "name": self.target.file_name().unwrap_or_default().to_string_lossy(),
            "kind": manifest.kind,
            "bytes": manifest.bytes(),
            "files": manifest.files.len(),
            "sha256": sha256,
            "engineVersion": manifest.engine_version,
            "systemIdentifier": manifest.system_identifier,
            "schemaVersion": manifest.databases.iter().find_map(|database| database.schema_version.as_ref()),
            "databases": manifest.databases.len(),
            "databaseNames": manifest.names(),
            "notCovered": manifest.not_covered_in_short(),
            "remarks": in_short(&manifest.remarks, 3, 150),
            "tables": manifest.tables(),
            "rows": manifest.rows(),
            "completedAt": manifest.completed_at,
            "reused": reused,
        });
        volume::measure(result, &self.target)
    }
}

/// A snapshot's manifest and that file's own sum, which must be `expected` if that is known.
pub(crate) fn read(target: &Path, expected: Option<&str>) -> Result<(Manifest, String), Failure> {
    let path = target.join(manifest::FILE);
    if !target.exists() {
        return Err(Failure::new(Reason::SnapshotMissing, format!("there is no snapshot {}", target.display())));
    }
    let text = fs::read(&path).map_err(|error| files::failed("read", &path, &error, Reason::Corrupt))?;
    let sha256 = files::sha256(&text);
    if expected.is_some_and(|expected| !expected.eq_ignore_ascii_case(&sha256)) {
        return Err(Failure::new(Reason::ChecksumMismatch, format!("{} is not what was written", path.display())));
    }
    let manifest = Manifest::parse(&text).map_err(|why| Failure::new(Reason::Corrupt, why))?;
    Ok((manifest, sha256))
}

/// All files must be as they were written.
pub(crate) fn check_files(target: &Path, manifest: &Manifest) -> Result<(), Failure> {
    manifest.files.iter().try_for_each(|entry| check_file(target, entry))
}

fn check_file(target: &Path, entry: &FileEntry) -> Result<(), Failure> {
    let path = target.join(&entry.path);
    let wrong = |reason, how: String| Err(Failure::new(reason, format!("{} {how}", entry.path)));
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
