//! Files and directories, made to last.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

pub(crate) use super::checksum::{FileEntry, hexadecimal, sha256};
use crate::failure::{Failure, Reason};

/// 32 hexadecimal digits that no other process can guess.
pub(crate) fn secret() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| Failure::new(Reason::ToolFailed, format!("/dev/urandom cannot be read: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What an error of the system means; `what` begins the message.
pub(crate) fn failed(what: &str, path: &Path, error: &io::Error, otherwise: Reason) -> Failure {
    let reason = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Reason::NoSpace,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Reason::PermissionDenied,
        _ => otherwise,
    };
    Failure::new(reason, format!("{} cannot be {what}: {error}", path.display()))
}

/// A directory for oneself alone, and those above it.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Writes a file as a whole or not at all, and only if that changes it.
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
    sync_folder(path.parent().unwrap_or(Path::new("/")))
}

/// The file of that suffix beside a data directory, since the directory itself is replaced, and copied.
pub(crate) fn beside(data: &Path, suffix: &str) -> PathBuf {
    let mut name = data.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    data.with_file_name(name)
}

/// Makes the names in a directory last.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// How often a directory is removed into which a program still writes whose parent was killed, and that ends.
const REMOVALS: u32 = 40;

/// Removes a file or a directory with all in it; it need not be there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS {
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

/// Bytes and SHA-256 in hexadecimal; `sync` makes the file last as well.
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

/// All files below a directory, with their sums, in order; they and the directories are made to last.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<FileEntry>> {
    let mut found = Vec::new();
    collect(folder, "", &mut found)?;
    found.sort_by(|one: &FileEntry, other| one.path.cmp(&other.path));
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<FileEntry>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
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
    sync_folder(folder)
}

/// Copies a directory with all in it; nothing is made to last.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    make_private(to)?;
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

/// When something below a directory was changed last.
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

/// A private directory that goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// What was left there before goes too.
    pub(crate) fn new(path: PathBuf) -> Result<Self, Failure> {
        remove(&path).and_then(|()| make_private(&path)).map_err(|e| failed("made", &path, &e, Reason::ToolFailed))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.0) {
            eprintln!("{} cannot be removed: {error}", self.0.display());
        }
    }
}
