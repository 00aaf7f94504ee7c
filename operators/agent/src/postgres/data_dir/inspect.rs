//! Looks into a data directory: what `decision.rs` judges.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::failure::{Failure, Reason};
use crate::postgres::client::tools::Tools;
use crate::postgres::data_dir::controldata::ControlData;
use crate::postgres::data_dir::decision::DataDir;
use crate::postgres::files;

/// In the data directory: for whom it was made.
pub(crate) const OWNER: &str = "multi_operator_owner";

/// What cannot be read is not taken for empty.
pub(crate) fn read(tools: &Tools, data: &Path) -> Result<DataDir, Failure> {
    let unreadable = |error: io::Error| files::failed("read", data, &error, Reason::DataUnreadable);
    let mut entries = match fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(DataDir::Empty),
        entries => entries.map_err(unreadable)?,
    };
    let Some(first) = entries.next() else { return Ok(DataDir::Empty) };
    let example = first.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
    match fs::read_to_string(data.join("PG_VERSION")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(DataDir::Unknown { example }),
        Err(error) => Err(unreadable(error)),
        Ok(version) => {
            let owner = fs::read_to_string(data.join(OWNER)).ok().map(|owner| owner.trim().to_owned());
            Ok(DataDir::Data { version, control: control(tools, data), owner })
        }
    }
}

/// Warnings are looked at too: up to 16 they are printed with the rest, later on the standard error.
fn control(tools: &Tools, data: &Path) -> Result<ControlData, String> {
    let mut command = tools.command("pg_controldata");
    let output =
        command.arg("-D").arg(data).output().map_err(|error| format!("pg_controldata cannot be run: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, stderr) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        return Err(tools.failure("pg_controldata", &stderr, Reason::DataCorrupt).message().to_owned());
    }
    ControlData::parse(&(stderr + &printed))
}

/// Removes a `postmaster.pid` whose server is gone; fails if that server runs here. Our lock is held, so one of another pod is gone, and so
/// is one that the agent started; its number may be another process's by now, for which postgres would not start.
pub(crate) fn remove_stale_pid(data: &Path) -> Result<(), Failure> {
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
    // Its working directory is the data's; that of another user's process cannot be read, and counts as the same.
    let elsewhere =
        fs::read_link(process.join("cwd")).is_ok_and(|folder| fs::canonicalize(data).is_ok_and(|own| own != folder));
    if name.trim() == "postgres" && !elsewhere {
        let message = format!("a server, process {number}, uses {}", data.display());
        return Err(Failure::new(Reason::DataInUse, message));
    }
    eprintln!("{} is stale: process {number} is not a server of this directory; removing the file", path.display());
    files::remove(&path).map_err(|error| files::failed("removed", &path, &error, Reason::DataUnreadable))
}
