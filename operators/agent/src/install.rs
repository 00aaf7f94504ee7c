//! `agent install`: puts the agent where the pod's other containers find it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::failure::{CommandFailure, Reason};

/// Copies this very executable to `directory/agent`.
pub(crate) fn install(directory: &Path) -> Result<(), CommandFailure> {
    copy(directory).map_err(|error| {
        let sentence = format!("the agent cannot be copied into {}: {error}", directory.display());
        CommandFailure::new(Reason::CannotInstall, sentence)
    })
}

fn copy(directory: &Path) -> io::Result<()> {
    let new = directory.join(".agent.new");
    fs::copy(std::env::current_exe()?, &new)?;
    // The containers that run it may have another user than the one that installs it.
    fs::set_permissions(&new, Permissions::from_mode(0o755))?;
    // By a rename, since a running executable cannot be written to, and no process must see half of one.
    fs::rename(new, directory.join("agent"))
}
