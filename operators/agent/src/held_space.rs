//! Space on a volume, measured and reserved by files that take it: the free space that a file system reports is not what a quota
//! or a device leaves. When it is taken, and when it is released, differs between etcd and PostgreSQL (`etcd/reserve.rs`,
//! `postgres/data_dir/reserve.rs`).

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Whether that many bytes can be taken: `probe`, a path on the volume, takes them for a moment.
pub(crate) fn has_space(probe: &Path, needed: u64) -> io::Result<bool> {
    let taken = take(probe, needed);
    discard(probe)?;
    match taken {
        Ok(()) => Ok(true),
        Err(error) if is_full(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates a file of that many bytes.
pub(crate) fn take(path: &Path, bytes: u64) -> io::Result<()> {
    fill(File::create(path)?, bytes)
}

/// Writes that many bytes, so that they are taken. They are not synced: file systems count writes at once, and the content does
/// not matter.
pub(crate) fn fill(mut file: File, bytes: u64) -> io::Result<()> {
    const BLOCK: usize = 1 << 20;
    let block = vec![0xA5; BLOCK];
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&block[..part])?;
        left -= part as u64;
    }
    Ok(())
}

/// Removes a file. Returns whether it was there.
pub(crate) fn discard(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The size of a file, in bytes; 0 if there is none.
pub(crate) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// The free space that the file system reports, in bytes: a quota or a device may leave less.
pub(crate) fn free(volume: &Path) -> io::Result<u64> {
    let stats = rustix::fs::statvfs(volume)?;
    Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Whether a write failed for lack of space.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
