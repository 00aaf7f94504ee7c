//! Termination messages: how a command reports its failure or its result to the kubelet.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::failure::{CommandFailure, Reason};

/// Where the kubelet reads a container's termination message, unless the pod names another file.
const DEFAULT_TERMINATION_LOG: &str = "/dev/termination-log";

impl CommandFailure {
    /// Reports the failure on stderr and, as the container's termination message, to the kubelet.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.message());
        // A probe must not overwrite the termination message of its container.
        if self.reason() != Reason::NotReady {
            // Without the file, the exit code and stderr still report the failure.
            let _ = write(self);
        }
        ExitCode::from(self.reason().exit() as u8)
    }
}

/// Writes the container's termination message.
pub(crate) fn write(message: &impl Serialize) -> io::Result<()> {
    let named = std::env::var_os("TERMINATION_LOG").filter(|path| !path.is_empty());
    // The kubelet creates its file beforehand; outside of a pod, the agent must not create one in /dev.
    let create = named.is_some();
    let path = named.unwrap_or_else(|| DEFAULT_TERMINATION_LOG.into());
    let mut file = OpenOptions::new().write(true).truncate(true).create(create).open(path)?;
    file.write_all(&serde_json::to_vec(message)?)
}

/// Reports the result of a command, on stdout and to the kubelet.
pub(crate) fn report(result: &impl Serialize) {
    // A JSON value has its fields in the order of their names, as in the results of earlier agents.
    let result = json!(result);
    println!("{result}");
    if let Err(error) = write(&result) {
        // Outside of a pod there is no kubelet to read it.
        eprintln!("the result cannot be written for the kubelet: {error}");
    }
}
