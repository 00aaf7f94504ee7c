//! Inspects a data directory, for `decision.rs`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::failure::{CommandFailure, Reason};
use crate::files;
use crate::postgres::client::tools::Tools;
use crate::postgres::data_dir::controldata::ControlData;
use crate::postgres::data_dir::decision::DataDirState;

/// The file in the data directory that names the database that it was created for.
pub(crate) const OWNER: &str = "multi_operator_owner";

/// Reads a data directory. One that cannot be read does not count as empty.
pub(crate) fn read(tools: &Tools, data: &Path) -> Result<DataDirState, CommandFailure> {
    let unreadable = |error: io::Error| files::failed("read", data, &error, Reason::DataUnreadable);
    let mut entries = match fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(DataDirState::Empty),
        entries => entries.map_err(unreadable)?,
    };
    let Some(first) = entries.next() else { return Ok(DataDirState::Empty) };
    let example = first.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
    match fs::read_to_string(data.join("PG_VERSION")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(DataDirState::Unknown { example }),
        Err(error) => Err(unreadable(error)),
        Ok(version) => {
            let owner = fs::read_to_string(data.join(OWNER)).ok().map(|owner| owner.trim().to_owned());
            Ok(DataDirState::Data { version, control: control(tools, data), owner })
        }
    }
}

/// Runs `pg_controldata`. Warnings count too: versions up to 16 print them with the rest, later ones to the standard error.
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

/// Removes a `postmaster.pid` whose server has exited; fails if that server runs here. The agent holds the lock, so a server of
/// another pod, or one that the agent started, has exited. Its number may be that of another process by now, and then postgres
/// would not start.
pub(crate) fn remove_stale_pid(data: &Path) -> Result<(), CommandFailure> {
    let path = data.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let number = text.lines().next().unwrap_or_default().trim().trim_start_matches('-');
    let process = Path::new("/proc").join(number);
    // postgres itself ignores the number of its own process: in a container it is 1 each time.
    let own = Ok(std::process::id());
    if number.parse::<u32>().is_err() || number.parse() == own || !process.exists() {
        return Ok(());
    }
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    // The working directory of a server is its data directory. That of another user's process cannot be read, and counts as the
    // same.
    let elsewhere = fs::read_link(process.join("cwd"))
        .is_ok_and(|directory| fs::canonicalize(data).is_ok_and(|own| own != directory));
    if name.trim() == "postgres" && !elsewhere {
        let message = format!("a server, process {number}, uses {}", data.display());
        return Err(CommandFailure::new(Reason::DataInUse, message));
    }
    eprintln!("{} is stale: process {number} is not a server of this directory; removing the file", path.display());
    files::remove(&path).map_err(|error| files::failed("removed", &path, &error, Reason::DataUnreadable))
}
