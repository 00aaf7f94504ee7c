//! How full the volume of the snapshots is, as the Jobs that use it report.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;

use super::measured;

/// The unit of `st_blocks`, whatever the file system's own is: stat(2).
const BLOCK: u64 = 512;

/// Adds to a result how full the volume is on which this snapshot is. What cannot be measured is left out: no Job fails for it.
pub(crate) fn measure(mut result: Value, snapshot: &Path) -> Value {
    match snapshot.parent().map(of) {
        Some(Ok(Value::Object(found))) => {
            for (name, value) in found {
                result[name] = value;
            }
        }
        Some(Err(error)) => eprintln!("the volume of {} cannot be measured: {error}", snapshot.display()),
        _ => {}
    }
    result
}

fn of(folder: &Path) -> io::Result<Value> {
    let mut found = serde_json::to_value(measured::measure(folder)?)?;
    found["usedBytes"] = taken(folder)?.into();
    Ok(found)
}

/// The bytes that all files below a folder take. One that another Job removes meanwhile takes none.
fn taken(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path).and_then(|entry| {
            let below = if entry.is_dir() { taken(&path)? } else { 0 };
            Ok(entry.blocks() * BLOCK + below)
        });
        bytes += match found {
            // As `lost+found`, which is root's.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => 0,
            found => found?,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_is_on_the_volume_counts() {
        let volume = std::env::temp_dir().join(format!("agent-volume-{}", std::process::id()));
        let snapshot = volume.join("shop-1");
        fs::create_dir_all(snapshot.join("base")).unwrap();
        fs::write(volume.join("of-others"), vec![1; 300_000]).unwrap();
        fs::write(snapshot.join("base/1"), vec![1; 200_000]).unwrap();
        let result = measure(json!({ "name": "shop-1" }), &snapshot);
        let used = result["usedBytes"].as_u64().unwrap();
        assert!((500_000..700_000).contains(&used), "{used}");
        assert!(result["name"] == "shop-1" && result["freeBytes"].as_u64().unwrap() > 0, "{result}");
        fs::remove_dir_all(&volume).unwrap();
        assert_eq!(measure(json!({}), &snapshot), json!({}), "what cannot be measured is left out");
    }
}
