//! Looks into a data folder: what `folder.rs` judges.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::controldata::ControlData;
use super::files;
use super::folder::Folder;
use super::tools::Tools;
use crate::failure::{Failure, Reason};

/// In the data folder: for whom it was made.
pub(crate) const OWNER: &str = "multi_operator_owner";

/// What cannot be read is not taken for empty.
pub(crate) fn read(tools: &Tools, data: &Path) -> Result<Folder, Failure> {
    let unreadable = |error: io::Error| files::failed("read", data, &error, Reason::DataUnreadable);
    let mut entries = match fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Folder::Empty),
        entries => entries.map_err(unreadable)?,
    };
    let Some(first) = entries.next() else { return Ok(Folder::Empty) };
    let example = first.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
    match fs::read_to_string(data.join("PG_VERSION")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Folder::Unknown { example }),
        Err(error) => Err(unreadable(error)),
        Ok(version) => {
            let owner = fs::read_to_string(data.join(OWNER)).ok().map(|owner| owner.trim().to_owned());
            Ok(Folder::Data { version, control: control(tools, data), owner })
        }
    }
}

/// Warnings are looked at too: up to 16 they are printed with the rest, later on the standard error.
fn control(tools: &Tools, data: &Path) -> Result<ControlData, String> {
    let mut command = tools.command("pg_controldata");
    let output =
        command.arg("-D").arg(data).output().map_err(|error| format!("pg_controldata cannot be run: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, words) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        return Err(tools.failure("pg_controldata", &words, Reason::DataCorrupt).message().to_owned());
    }
    ControlData::parse(&(words + &printed))
}

/// Whether the server that `postmaster.pid` tells of lives here. Our lock is held, so one of another pod is gone, and so
/// is one that the agent started; its number may be another process's by now, for which postgres would not start.
pub(crate) fn make_way(data: &Path) -> Result<(), Failure> {
    let path = data.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let number = text.lines().next().unwrap_or_default().trim().trim_start_matches('-');
    let process = Path::new("/proc").join(number);
    // postgres itself knows that the number of its own process means nothing: in a container it is 1 each time.
    let own = Ok(std::process::id());
    if number.parse::<u32>().is_err() || number.parse() == own || !process.exists() {
        return Ok(());
    }
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    // Its working folder is the data's; that of another user's process cannot be read, and counts as the same.
    let elsewhere =
        fs::read_link(process.join("cwd")).is_ok_and(|folder| fs::canonicalize(data).is_ok_and(|own| own != folder));
    if name.trim() == "postgres" && !elsewhere {
        let sentence = format!("a server, process {number}, works on {}", data.display());
        return Err(Failure::new(Reason::DataInUse, sentence));
    }
    eprintln!("{}: process {number} is not a server on this folder, so the file is a remainder", path.display());
    files::remove(&path).map_err(|error| files::failed("removed", &path, &error, Reason::DataUnreadable))
}
