//! What lies in the new volume of a major upgrade: nothing, a finished copy that nobody has served yet, or something else.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{files, snapshot};
use crate::failure::{Failure, Reason};

/// In the data folder until a server is about to serve it; from then on the data is nobody's copy any more.
const NOTE: &str = "multi_operator_upgrade.json";

/// What a finished copy is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Upgraded {
    pub(crate) system_identifier: String,
    pub(crate) from_system_identifier: String,
    pub(crate) version: String,
    /// The old server's.
    pub(crate) from: String,
    pub(crate) databases: usize,
    pub(crate) tables: usize,
    pub(crate) rows: u64,
    /// When writers were shut out, and when the copy was complete: milliseconds since 1970.
    pub(crate) closed_at: u64,
    pub(crate) copied_at: u64,
}

/// Where it is worked: the data goes to its place in one step, note and all.
pub(crate) fn workshop(data: &Path) -> PathBuf {
    snapshot::with_suffix(data, ".upgrade")
}

/// The copy that is there; fails over anything that this verb has not made.
pub(crate) fn look(data: &Path, from: &str) -> Result<Option<Upgraded>, Failure> {
    let unreadable = |error: io::Error| files::failed("read", data, &error, Reason::DataUnreadable);
    let foreign = |what: String| {
        let sentence = format!("{what}: it is not what this upgrade has made, and is not touched");
        Err(Failure::new(Reason::ForeignData, sentence))
    };
    if let Some(stranger) = stranger_beside(data).map_err(unreadable)? {
        return foreign(format!("the new volume holds {stranger}"));
    }
    let mut entries = match fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(unreadable)?,
    };
    let Some(first) = entries.next() else { return Ok(None) };
    let note = match fs::read(data.join(NOTE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let example = first.map_err(unreadable)?.file_name();
            return foreign(format!("the new data folder holds {} and no note of a copy", example.to_string_lossy()));
        }
        note => note.map_err(unreadable)?,
    };
    match serde_json::from_slice::<Upgraded>(&note) {
        Ok(upgraded) if upgraded.from_system_identifier == from => Ok(Some(upgraded)),
        Ok(other) => foreign(format!("the new data folder is a copy of {}", other.from_system_identifier)),
        Err(error) => foreign(format!("the note in the new data folder cannot be read ({error})")),
    }
}

/// Anything but the data's folder, what belongs to it by its name, and what file systems put there.
fn stranger_beside(data: &Path) -> io::Result<Option<String>> {
    let own = data.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = match fs::read_dir(data.parent().unwrap_or(Path::new("/"))) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let belongs = ["", ".lock", ".upgrade", ".initdb"].iter().any(|suffix| name == format!("{own}{suffix}"));
        if !belongs && name != "lost+found" {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Takes away what a run of before left. A finished copy loses its name first: half of it must not lie in its place.
pub(crate) fn clear(data: &Path) -> io::Result<()> {
    let workshop = workshop(data);
    files::remove(&workshop)?;
    match fs::rename(data, &workshop) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        moved => moved?,
    }
    files::remove(&workshop)
}

/// Notes what the data in the workshop is, and moves it to its place. All else in it lasts already.
pub(crate) fn finish(made: &Path, data: &Path, upgraded: &Upgraded) -> io::Result<()> {
    files::write(&made.join(NOTE), &serde_json::to_string_pretty(upgraded)?)?;
    fs::rename(made, data)?;
    files::sync_folder(data.parent().unwrap_or(Path::new("/")))?;
    files::remove(&workshop(data))
}

/// The data is going to be served, and may be written from now on.
pub(crate) fn in_use(data: &Path) -> io::Result<()> {
    let note = data.join(NOTE);
    if !note.exists() {
        return Ok(());
    }
    files::remove(&note)?;
    files::sync_folder(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded() -> Upgraded {
        Upgraded {
            system_identifier: "8".into(),
            from_system_identifier: "7".into(),
            version: "15.18".into(),
            from: "13.23".into(),
            databases: 1,
            tables: 2,
            rows: 3,
            closed_at: 4,
            copied_at: 5,
        }
    }

    #[test]
    fn only_what_this_made_is_taken_away() {
        let volume = std::env::temp_dir().join(format!("agent-upgraded-{}", std::process::id()));
        let (data, made) = (volume.join("data"), volume.join("data.upgrade/data"));
        fs::create_dir_all(&made).unwrap();
        assert_eq!(look(&data, "7"), Ok(None));
        finish(&made, &data, &upgraded()).unwrap();
        assert_eq!(look(&data, "7"), Ok(Some(upgraded())));
        assert_eq!(look(&data, "6").unwrap_err().reason(), Reason::ForeignData);
        fs::write(volume.join("photo.jpg"), "").unwrap();
        assert!(look(&data, "7").unwrap_err().message().contains("photo.jpg"));
        fs::remove_file(volume.join("photo.jpg")).unwrap();
        fs::write(data.join("PG_VERSION"), "15").unwrap();
        in_use(&data).unwrap();
        assert_eq!(look(&data, "7").unwrap_err().reason(), Reason::ForeignData);
        finish(&volume.join("none"), &data, &upgraded()).unwrap_err();
        clear(&data).unwrap();
        assert_eq!(look(&data, "7"), Ok(None));
        clear(&data).unwrap();
        fs::remove_dir_all(&volume).unwrap();
    }
}
