//! Measures how full the volume of the snapshots is, for the Jobs that use it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agent_protocol::{Measurement, count};

use crate::postgres::data_dir::volume_usage;

/// The unit of `st_blocks`, whatever the file system's own is: stat(2).
const BLOCK: u64 = 512;

/// Measures the volume of this snapshot. What cannot be measured is left out: no Job fails because of that.
pub(crate) fn measure(snapshot: &Path) -> Measurement {
    let measured = snapshot.parent().map(of).unwrap_or_else(|| Ok(Measurement::default()));
    measured.unwrap_or_else(|error| {
        eprintln!("the volume of {} cannot be measured: {error}", snapshot.display());
        Measurement::default()
    })
}

fn of(directory: &Path) -> io::Result<Measurement> {
    let used_bytes = Some(count(taken(directory)?));
    Ok(Measurement { used_bytes, ..volume_usage::measure(directory)?.into() })
}

/// The bytes that all files below a directory take. A file that another Job removes meanwhile counts as 0.
fn taken(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path).and_then(|entry| {
            let below = if entry.is_dir() { taken(&path)? } else { 0 };
            Ok(entry.blocks() * BLOCK + below)
        });
        bytes += match found {
            // `lost+found` belongs to root.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => 0,
            found => found?,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_on_the_volume_counts() {
        let volume = std::env::temp_dir().join(format!("agent-volume-{}", std::process::id()));
        let snapshot = volume.join("shop-1");
        fs::create_dir_all(snapshot.join("base")).unwrap();
        fs::write(volume.join("of-others"), vec![1; 300_000]).unwrap();
        fs::write(snapshot.join("base/1"), vec![1; 200_000]).unwrap();
        let measured = measure(&snapshot);
        let used = measured.used_bytes.unwrap();
        assert!((500_000..700_000).contains(&used), "{used}");
        assert!(measured.free_bytes.unwrap() > 0, "{measured:?}");
        fs::remove_dir_all(&volume).unwrap();
        assert_eq!(measure(&snapshot), Measurement::default(), "what cannot be measured is left out");
    }
}
