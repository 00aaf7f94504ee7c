//! Tells which PostgreSQL the image is, and whether a server could start here on data that there are.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

use agent_protocol::{PgVersion, PgVersionResult};

use crate::failure::{Failure, Reason};
use crate::postgres::client::tools::Tools;
use crate::postgres::data_dir::configuration;
use crate::postgres::data_dir::server::Server;
use crate::postgres::files::{self, Scratch};

/// Asks the image's own programs.
pub(crate) fn version(options: &PgVersion) -> Result<PgVersionResult, Failure> {
    let own = fs::metadata("/proc/self")
        .map_err(|error| files::failed("read", "/proc/self".as_ref(), &error, Reason::ToolFailed))?;
    judge(own.uid(), options.user)?;
    let tools = Tools::find()?;
    if let Some(scratch) = &options.scratch {
        start(&tools, scratch, &options.run).map_err(|failure| explain(&failure))?;
    }
    Ok(PgVersionResult { version: Some(tools.version()?) })
}

/// Makes data, and starts a server on them.
fn start(tools: &Tools, scratch: &Path, run: &Path) -> Result<(), Failure> {
    let scratch = Scratch::new(scratch.join("trial"))?;
    let data = scratch.path().join("data");
    let mut command = tools.command("initdb");
    command.arg("-D").arg(&data).args(["--auth=trust", "--no-sync"]).stdout(Stdio::null());
    tools.run(&mut command, Reason::CannotInitialise)?;
    Server::start(tools, &data, run, &configuration::scratch_conf(&[]), None)?.stop()
}

/// What is killed at its start, has met the limit of the pod's memory.
fn explain(failure: &Failure) -> Failure {
    let said = failure.message();
    let killed = ["Killed", "signal 9", "exit code 137"].iter().any(|word| said.contains(word));
    let why = if killed { " within resources.limits.memory" } else { "" };
    Failure::new(
        failure.reason(),
        format!("PostgreSQL does not start{why}, not even on new data: {}", said.replace('\n', "; ")),
    )
}

/// Source: `checkDataDir` of PostgreSQL's miscinit.c, which ends a server on data of another user's.
fn judge(runs_as: u32, data_of: Option<u32>) -> Result<(), Failure> {
    match data_of.filter(|user| *user != runs_as) {
        None => Ok(()),
        Some(user) => {
            let message = format!(
                "it would run as user {runs_as}, and PostgreSQL only starts as user {user}, whom its data belong to: have \
                 podSecurityContext say so, or say nothing of users"
            );
            Err(Failure::new(Reason::WrongUser, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_as_nobody_but_the_owner_of_its_data() {
        assert_eq!(judge(999, None), Ok(()));
        assert_eq!(judge(999, Some(999)), Ok(()));
        assert!(judge(1000, Some(999)).is_err());
    }

    #[test]
    fn what_is_killed_has_met_the_limit_of_memory() {
        let killed = Failure::new(Reason::CannotInitialise, "initdb: Killed\nchild process exited with exit code 137");
        let explained = explain(&killed);
        let wanted =
            "PostgreSQL does not start within resources.limits.memory, not even on new data: initdb: Killed; child";
        assert!(explained.message().starts_with(wanted), "{}", explained.message());
        let full = Failure::new(Reason::NoSpace, "No space left on device");
        assert!(!explain(&full).message().contains("memory"));
    }
}
