//! `agent pg-version`: which PostgreSQL version the image has, and whether a server could start here.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

use agent_protocol::{PgVersion, PgVersionResult};

use crate::failure::{CommandFailure, Reason};
use crate::files::{self, ScratchDirectory};
use crate::postgres::client::tools::Tools;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::server::PrivateServer;

/// Reads the version from the image's own programs.
pub(crate) fn version(options: &PgVersion) -> Result<PgVersionResult, CommandFailure> {
    let own = fs::metadata("/proc/self")
        .map_err(|error| files::failed("read", "/proc/self".as_ref(), &error, Reason::ToolFailed))?;
    check_user(own.uid(), options.user)?;
    let tools = Tools::find()?;
    if let Some(scratch) = &options.scratch {
        start(&tools, scratch, &options.run).map_err(|failure| explain(&failure))?;
    }
    Ok(PgVersionResult { version: Some(tools.version()?) })
}

/// Creates data, and starts a server on it.
fn start(tools: &Tools, scratch: &Path, run: &Path) -> Result<(), CommandFailure> {
    let scratch = ScratchDirectory::new(scratch.join("trial"))?;
    let data = scratch.path().join("data");
    let mut command = tools.command("initdb");
    command.arg("-D").arg(&data).args(["--auth=trust", "--no-sync"]).stdout(Stdio::null());
    tools.run(&mut command, Reason::CannotInitialise)?;
    PrivateServer::start(tools, &data, run, &configuration::scratch_conf(&[]), None)?.stop()
}

/// Explains a failure to start: a process that is killed at its start has exceeded the memory limit of the pod.
fn explain(failure: &CommandFailure) -> CommandFailure {
    let message = failure.message();
    let killed = ["Killed", "signal 9", "exit code 137"].iter().any(|word| message.contains(word));
    let why = if killed { " within resources.limits.memory" } else { "" };
    CommandFailure::new(
        failure.reason(),
        format!("PostgreSQL does not start{why}, not even on new data: {}", message.replace('\n', "; ")),
    )
}

/// Fails if it runs as another user than the owner of the data, as a server would.
/// Source: `checkDataDir` of PostgreSQL's miscinit.c.
fn check_user(runs_as: u32, data_of: Option<u32>) -> Result<(), CommandFailure> {
    match data_of.filter(|user| *user != runs_as) {
        None => Ok(()),
        Some(user) => {
            let message = format!(
                "PostgreSQL would run as user {runs_as}, and starts only as the owner of its data, user {user}; set \
                 podSecurityContext.runAsUser to {user}, or leave it unset"
            );
            Err(CommandFailure::new(Reason::WrongUser, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_only_as_the_owner_of_its_data() {
        assert_eq!(check_user(999, None), Ok(()));
        assert_eq!(check_user(999, Some(999)), Ok(()));
        assert!(check_user(1000, Some(999)).is_err());
    }

    #[test]
    fn a_killed_process_has_exceeded_the_memory_limit() {
        let killed =
            CommandFailure::new(Reason::CannotInitialise, "initdb: Killed\nchild process exited with exit code 137");
        let explained = explain(&killed);
        let wanted =
            "PostgreSQL does not start within resources.limits.memory, not even on new data: initdb: Killed; child";
        assert!(explained.message().starts_with(wanted), "{}", explained.message());
        let full = CommandFailure::new(Reason::NoSpace, "No space left on device");
        assert!(!explain(&full).message().contains("memory"));
    }
}
