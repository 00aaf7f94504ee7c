//! How full the volume of the data is, recorded next to the data for a superuser to read over a connection while the server
//! runs: `SELECT pg_read_file(current_setting('data_directory') || '.room', 0, 1000, true)`.

use std::fs;
use std::io;
use std::path::Path;

use agent_protocol::{Measurement, count};
use serde::{Deserialize, Serialize};

use crate::files::sibling;

/// The usage that the file system reports to the server's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolumeUsage {
    volume_bytes: u64,
    free_bytes: u64,
    /// 0 if the file system has no limit.
    inodes: u64,
    free_inodes: u64,
}

impl From<VolumeUsage> for Measurement {
    fn from(of: VolumeUsage) -> Self {
        Self {
            free_bytes: Some(count(of.free_bytes)),
            volume_bytes: Some(count(of.volume_bytes)),
            inodes: Some(count(of.inodes)),
            free_inodes: Some(count(of.free_inodes)),
            used_bytes: None,
        }
    }
}

/// Measures the usage, and records it if it has changed. A probe must not fail because of that: if the usage cannot be recorded,
/// the earlier record stays.
pub(crate) fn record(data: &Path) {
    let Ok(now) = measure(data) else { return };
    let path = sibling(data, ".room");
    let recorded = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if is_worth_recording(recorded.as_ref(), &now)
        && let Err(error) = write(&path, &sibling(data, ".room.new"), &now)
    {
        eprintln!("{} cannot be written: {error}", path.display());
    }
}

pub(crate) fn measure(directory: &Path) -> io::Result<VolumeUsage> {
    let stats = rustix::fs::statvfs(directory)?;
    Ok(VolumeUsage {
        volume_bytes: stats.f_blocks.saturating_mul(stats.f_frsize),
        free_bytes: stats.f_bavail.saturating_mul(stats.f_frsize),
        inodes: stats.f_files,
        free_inodes: stats.f_favail,
    })
}

/// Whether more than a hundredth has changed, or the volume has grown: a probe comes every few seconds. Pure.
fn is_worth_recording(recorded: Option<&VolumeUsage>, now: &VolumeUsage) -> bool {
    let Some(recorded) = recorded else { return true };
    let much = |then: u64, now: u64, all: u64| then.abs_diff(now) > all / 100;
    (recorded.volume_bytes, recorded.inodes) != (now.volume_bytes, now.inodes)
        || much(recorded.free_bytes, now.free_bytes, now.volume_bytes)
        || much(recorded.free_inodes, now.free_inodes, now.inodes)
}

/// Writes the file completely or not at all: on a full volume, the earlier record stays.
fn write(path: &Path, new: &Path, now: &VolumeUsage) -> io::Result<()> {
    let written = fs::write(new, serde_json::to_vec(now)?).and_then(|()| fs::rename(new, path));
    if written.is_err() {
        let _ = fs::remove_file(new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: VolumeUsage =
        VolumeUsage { volume_bytes: 10_000, free_bytes: 5_000, inodes: 1_000, free_inodes: 900 };

    #[test]
    fn a_change_by_more_than_a_hundredth_is_recorded() {
        let of = |free_bytes, free_inodes| {
            is_worth_recording(Some(&RECORDED), &VolumeUsage { free_bytes, free_inodes, ..RECORDED })
        };
        assert!(is_worth_recording(None, &RECORDED) && !of(5_000, 900) && !of(4_900, 900) && !of(5_000, 890));
        assert!(of(4_899, 900) && of(5_101, 900) && of(5_000, 889));
        assert!(is_worth_recording(Some(&RECORDED), &VolumeUsage { volume_bytes: 10_001, ..RECORDED }));
        // A file system without a limit of inodes.
        let without = VolumeUsage { inodes: 0, free_inodes: 0, ..RECORDED };
        assert!(!is_worth_recording(Some(&without), &without));
    }

    #[test]
    fn a_record_can_be_read_and_stays_if_it_cannot_be_written() {
        let directory = std::env::temp_dir().join(format!("agent-measured-{}", std::process::id()));
        fs::create_dir_all(directory.join("data")).unwrap();
        record(&directory.join("data"));
        let text = fs::read(directory.join("data.room")).unwrap();
        let recorded: VolumeUsage = serde_json::from_slice(&text).unwrap();
        assert!(recorded.volume_bytes >= recorded.free_bytes && recorded.volume_bytes > 0);
        assert!(String::from_utf8(text.clone()).unwrap().starts_with("{\"volumeBytes\":"));
        // A directory in place of the temporary file.
        fs::create_dir(directory.join("data.room.new")).unwrap();
        assert!(write(&directory.join("data.room"), &directory.join("data.room.new"), &RECORDED).is_err());
        assert_eq!(fs::read(directory.join("data.room")).unwrap(), text);
        fs::remove_dir_all(&directory).unwrap();
    }
}
