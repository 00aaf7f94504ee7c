//! Where backups are stored; and the store that is a directory: `NAME.db` is a snapshot, `NAME.json` describes it and exists once the
//! backup is complete.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agent_protocol::StoredBackup;
use serde::{Deserialize, Serialize};

use super::retention;
use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::lock::{self, LockPolicy};

/// What a run that was killed leaves is removed after this time: no transfer takes longer.
const ABANDONED: Duration = Duration::from_secs(2 * 86_400);
/// The file by which only one process at a time works on the directory: a Job that was deleted may end after the next one has begun.
const LOCK: &str = ".lock";
/// How long to wait for another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);
/// How unfinished snapshots end.
const PARTIAL: &str = ".partial";

/// What describes a backup.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Whose it is.
    pub(super) owner: String,
    /// The hash of all keys and values, where the version of etcd has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hash: Option<u32>,
    #[serde(flatten)]
    pub(super) backup: StoredBackup,
}

impl Manifest {
    pub(super) fn to_text(&self) -> Result<String, CommandFailure> {
        serde_json::to_string(self).map_err(|error| CommandFailure::new(Reason::ToolFailed, error.to_string()))
    }
}

/// Backups, of which one is being taken.
pub(super) trait BackupStore {
    /// The name of that one.
    fn name(&self) -> &str;
    /// That one, if it is complete and as it was written.
    fn complete(&self) -> Result<Option<StoredBackup>, CommandFailure>;
    /// Where its snapshot is written. Removes what an earlier run left.
    fn begin(&self) -> Result<PathBuf, CommandFailure>;
    /// Completes the backup whose snapshot was written and verified.
    fn complete_with(&self, manifest: Manifest) -> Result<StoredBackup, CommandFailure>;
    /// Removes what was written of the new backup: the space is needed for the next attempt.
    fn discard(&self);
    /// All complete backups of the owner, the newest first.
    fn owned(&self) -> Result<Vec<StoredBackup>, CommandFailure>;
    /// Removes a backup.
    fn remove(&self, backup: &StoredBackup) -> Result<(), CommandFailure>;

    /// Removes expired backups. Returns what is left, the newest first, and how many are gone. A failure to remove one is logged only:
    /// the new backup is complete.
    fn prune(
        &self,
        keep: Option<u32>,
        keep_for: Option<u64>,
        now: i64,
    ) -> Result<(Vec<StoredBackup>, usize), CommandFailure> {
        let all = self.owned()?;
        let expired = retention::expired(&all, keep, keep_for, now);
        let others: Vec<&StoredBackup> = expired.into_iter().filter(|one| one.name != self.name()).collect();
        let mut removed = Vec::new();
        for backup in &others {
            match self.remove(backup) {
                Ok(()) => {
                    eprintln!("removed the backup {}", backup.name);
                    removed.push(backup.name.clone());
                }
                Err(failure) => eprintln!("{}", failure.message()),
            }
        }
        // A removal that failed may have removed a part.
        let left = match removed.len() == others.len() {
            true => all.into_iter().filter(|one| !removed.contains(&one.name)).collect(),
            false => self.owned()?,
        };
        Ok((left, removed.len()))
    }
}

/// A directory with backups, of which one is being taken.
pub(super) struct BackupDirectory {
    directory: PathBuf,
    name: String,
    owner: String,
    /// Held as long as this exists.
    _lock: File,
}

impl BackupDirectory {
    pub(super) fn open(to: &Path, owner: &str) -> Result<Self, CommandFailure> {
        let directory = to.parent().unwrap_or(Path::new("/")).to_owned();
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::create_dir_all(&directory)
            .map_err(|error| files::failed("created", &directory, &error, Reason::ToolFailed))?;
        let lock = lock::take(&directory.join(LOCK), LOCK_TIMEOUT, LockPolicy::BestEffort)?;
        Ok(Self { directory, name, owner: owner.to_owned(), _lock: lock })
    }

    fn path(&self, name: &str, suffix: &str) -> PathBuf {
        self.directory.join(format!("{name}{suffix}"))
    }

    /// The snapshot that is not complete.
    pub(super) fn partial(&self) -> PathBuf {
        self.path(&self.name, PARTIAL)
    }

    /// Removes unfinished snapshots of runs that were killed.
    fn remove_abandoned(&self) {
        let before = SystemTime::now().checked_sub(ABANDONED);
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_old = || entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|at| Some(at) < before);
            if name.trim_end_matches(".part").ends_with(PARTIAL) && is_old() {
                let _ = files::remove(&entry.path());
            }
        }
    }
}

impl BackupStore for BackupDirectory {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete(&self) -> Result<Option<StoredBackup>, CommandFailure> {
        let (json, db) = (self.path(&self.name, ".json"), self.path(&self.name, ".db"));
        let Some(manifest) = read(&json)? else { return Ok(None) };
        if manifest.owner != self.owner {
            let message = format!(
                "{} describes a backup of another EtcdBackup (UID {}): choose another directory",
                json.display(),
                manifest.owner
            );
            return Err(CommandFailure::new(Reason::BadInput, message));
        }
        match files::digest(&db, false) {
            Ok((_, sha256)) if sha256 == manifest.backup.sha256 => Ok(Some(manifest.backup)),
            Ok(_) => {
                eprintln!("{} is not as it was written: the backup is taken again", db.display());
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(files::failed("read", &db, &error, Reason::ToolFailed)),
        }
    }

    fn begin(&self) -> Result<PathBuf, CommandFailure> {
        self.remove_abandoned();
        let partial = self.partial();
        for path in [self.path(&self.name, ".json"), self.path(&self.name, ".db"), partial.clone(), with_part(&partial)]
        {
            files::remove(&path).map_err(|error| files::failed("removed", &path, &error, Reason::ToolFailed))?;
        }
        Ok(partial)
    }

    fn complete_with(&self, manifest: Manifest) -> Result<StoredBackup, CommandFailure> {
        let (partial, db) = (self.partial(), self.path(&self.name, ".db"));
        let json = self.path(&self.name, ".json");
        let text = manifest.to_text()?;
        fs::rename(&partial, &db)
            .and_then(|()| files::sync_directory(&self.directory))
            .map_err(|error| files::failed("written", &db, &error, Reason::ToolFailed))?;
        files::write(&json, &text).map_err(|error| files::failed("written", &json, &error, Reason::ToolFailed))?;
        Ok(manifest.backup)
    }

    fn discard(&self) {
        let partial = self.partial();
        for path in [with_part(&partial), partial] {
            if let Err(error) = files::remove(&path) {
                eprintln!("{} cannot be removed: {error}", path.display());
            }
        }
    }

    fn owned(&self) -> Result<Vec<StoredBackup>, CommandFailure> {
        let unreadable = |error| files::failed("read", &self.directory, &error, Reason::ToolFailed);
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            // Files of others are none of ours.
            let Ok(Some(manifest)) = read(&path) else { continue };
            let of = manifest.backup;
            if manifest.owner == self.owner
                && path == self.path(&of.name, ".json")
                && self.path(&of.name, ".db").is_file()
            {
                all.push(of);
            }
        }
        newest_first(&mut all);
        Ok(all)
    }

    fn remove(&self, backup: &StoredBackup) -> Result<(), CommandFailure> {
        // The description goes last: without it, nothing would say whose the file is.
        for path in [self.path(&backup.name, ".db"), self.path(&backup.name, ".json")] {
            files::remove(&path).map_err(|error| files::failed("removed", &path, &error, Reason::ToolFailed))?;
        }
        Ok(())
    }
}

/// Sorts backups, the newest first.
pub(super) fn newest_first(all: &mut [StoredBackup]) {
    all.sort_by(|one, other| (other.taken_at, &other.name).cmp(&(one.taken_at, &one.name)));
}

/// The file that etcdctl writes before it renames it.
fn with_part(path: &Path) -> PathBuf {
    files::sibling(path, ".part")
}

/// A description; `None` if there is none that can be read.
pub(super) fn read(path: &Path) -> Result<Option<Manifest>, CommandFailure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(serde_json::from_str(&text).ok()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        Err(error) => Err(files::failed("read", path, &error, Reason::ToolFailed)),
    }
}
