//! Durable files and directories.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

pub(crate) use crate::checksum::{FileEntry, hexadecimal, sha256};
use crate::failure::{CommandFailure, Reason};

/// 32 hexadecimal digits that no other process can guess.
pub(crate) fn secret() -> Result<String, CommandFailure> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| CommandFailure::new(Reason::ToolFailed, format!("/dev/urandom cannot be read: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The failure for an error of the operating system; `what` is what cannot be done with the path.
pub(crate) fn failed(what: &str, path: &Path, error: &io::Error, otherwise: Reason) -> CommandFailure {
    let reason = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Reason::NoSpace,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Reason::PermissionDenied,
        _ => otherwise,
    };
    CommandFailure::new(reason, format!("{} cannot be {what}: {error}", path.display()))
}

/// Creates a directory that only its owner can access, and those above it.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    if let Some(above) = directory.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        created => created?,
    }
    fs::set_permissions(directory, Permissions::from_mode(0o700))
}

/// Writes a file completely or not at all, and only if that changes it.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync_directory(path.parent().unwrap_or(Path::new("/")))
}

/// The file next to a data directory with that suffix: the directory itself is replaced, and copied.
pub(crate) fn sibling(data: &Path, suffix: &str) -> PathBuf {
    let mut name = data.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    data.with_file_name(name)
}

/// Syncs the names in a directory to disk.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// How often to try to remove a directory: a program whose parent was killed may still write into it before it exits.
const REMOVE_ATTEMPTS: u32 = 40;

/// Removes a file or a directory with all its contents, if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for _ in 1..REMOVE_ATTEMPTS {
        match remove_once(path) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => thread::sleep(Duration::from_millis(50)),
            other => return other,
        }
    }
    remove_once(path)
}

fn remove_once(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Bytes and SHA-256 in hexadecimal; with `sync`, also syncs the file to disk.
pub(crate) fn digest(path: &Path, sync: bool) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
    if sync {
        file.sync_all()?;
    }
    Ok((bytes, hexadecimal(&hash.finalize())))
}

/// All files below a directory, with their checksums, in order. Syncs them and the directories to disk.
pub(crate) fn entries(directory: &Path) -> io::Result<Vec<FileEntry>> {
    let mut found = Vec::new();
    collect(directory, "", &mut found)?;
    found.sort_by(|one: &FileEntry, other| one.path.cmp(&other.path));
    Ok(found)
}

fn collect(directory: &Path, prefix: &str, found: &mut Vec<FileEntry>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("a file's name is not UTF-8"))?;
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), found)?;
        } else if kind.is_file() {
            let (bytes, sha256) = digest(&entry.path(), true)?;
            found.push(FileEntry { path, bytes, sha256 });
        } else {
            return Err(io::Error::other(format!("{path} is neither a file nor a directory")));
        }
    }
    sync_directory(directory)
}

/// Syncs a directory and those below it to disk. Their files are synced already.
pub(crate) fn sync_directories(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    sync_directory(directory)
}

/// The directories below one that are empty, relative to it.
pub(crate) fn empty_directories(directory: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    collect_empty(directory, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn collect_empty(directory: &Path, path: &str, found: &mut Vec<String>) -> io::Result<()> {
    let mut is_empty = true;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        is_empty = false;
        if entry.file_type()?.is_dir() {
            let above = if path.is_empty() { String::new() } else { format!("{path}/") };
            collect_empty(&entry.path(), &format!("{above}{}", entry.file_name().to_string_lossy()), found)?;
        }
    }
    if is_empty && !path.is_empty() {
        found.push(path.to_owned());
    }
    Ok(())
}

/// Copies a directory with all its contents, without syncing it.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    create_private(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            fs::set_permissions(&target, Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// The time of the last change below a directory.
pub(crate) fn last_change(path: &Path) -> io::Result<SystemTime> {
    let metadata = fs::symlink_metadata(path)?;
    let mut last = metadata.modified()?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            last = last.max(last_change(&entry?.path())?);
        }
    }
    Ok(last)
}

/// A private directory, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// Creates it empty: removes what an earlier run left there.
    pub(crate) fn new(path: PathBuf) -> Result<Self, CommandFailure> {
        remove(&path)
            .and_then(|()| create_private(&path))
            .map_err(|e| failed("created", &path, &e, Reason::ToolFailed))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.0) {
            eprintln!("{} cannot be removed: {error}", self.0.display());
        }
    }
}
